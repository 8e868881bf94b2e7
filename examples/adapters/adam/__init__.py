"""adam's names on top of fallingcat: ``adam.numpy``, ``adam.casadi`` and ``adam.jax``."""

from .kindyn import Representations

__all__ = ["Representations"]
