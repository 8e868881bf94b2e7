"""Joints of an arm in orbit that tumbles, as a kind of study: [Mishra] V-A."""

from .kind import OrbitalControl

__all__ = ["OrbitalControl"]
