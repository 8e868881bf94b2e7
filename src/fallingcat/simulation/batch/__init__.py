"""Batches of robots in compiled steps, on CPU or GPU."""
