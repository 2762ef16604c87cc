"""Write the outcomes of a run's audits to results.json, and make all reports from that file."""
