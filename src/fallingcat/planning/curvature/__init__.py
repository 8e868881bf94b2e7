"""Curvature of the mechanical connection over shapes, in several frames."""
