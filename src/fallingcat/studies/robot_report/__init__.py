"""Report on one robot: numbers, certificates, gaits, as a record and as a page."""
