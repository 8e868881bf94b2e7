"""Derivations as text: for a terminal, LaTeX, and functions in Python, JAX, C, Julia and MATLAB."""

from .writing import FORMATS, written

__all__ = ["FORMATS", "written"]
