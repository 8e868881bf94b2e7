"""Report on one robot: checks, figures and the page."""
