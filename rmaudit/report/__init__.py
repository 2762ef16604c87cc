"""Turn findings into results.json, and results.json into all reports."""
