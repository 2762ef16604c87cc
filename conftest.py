"""The audits' plugin, also where rmaudit is not installed but only checked out."""

pytest_plugins = ["rmaudit.plugin"]
