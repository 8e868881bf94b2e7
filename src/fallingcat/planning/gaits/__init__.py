"""Gaits: closed curves of shapes and the displacement that they cause."""
