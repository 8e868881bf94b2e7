"""Derivations as text: for a terminal, LaTeX, and functions in Python, JAX, C, Julia and MATLAB."""

from .writing import FORMATS, write_quantities

__all__ = ["FORMATS", "write_quantities"]
