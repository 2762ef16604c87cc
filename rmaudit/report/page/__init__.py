"""The HTML report: the contents of the page, and its token explorer."""
