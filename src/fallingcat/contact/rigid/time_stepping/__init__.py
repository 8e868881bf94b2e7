"""Rigid contact in time steps of fixed size."""
