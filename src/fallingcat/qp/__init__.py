"""Hierarchical quadratic programs: strict priorities under equations and limits."""
