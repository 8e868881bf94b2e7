"""Limits on velocities, as rows ``G v <= h``."""
