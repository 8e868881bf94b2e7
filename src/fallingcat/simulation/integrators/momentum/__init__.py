"""Momentum-exact methods for free flight."""
