"""Runs of one robot or many, from their starts to their results."""
