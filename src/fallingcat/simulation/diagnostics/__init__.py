"""Diagnostics of runs: warnings, error estimates, energy ledger."""
