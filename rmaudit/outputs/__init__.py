"""Files that rmaudit makes of results.json; `report.writers` finds them by name."""
