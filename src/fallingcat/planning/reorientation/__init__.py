"""Reorientation without momentum: closed gaits and least-time motions."""
