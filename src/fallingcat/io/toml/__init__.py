"""Robots in TOML: reading and writing."""
