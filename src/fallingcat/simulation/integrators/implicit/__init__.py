"""Linearly implicit midpoint rule for compliant contact."""
