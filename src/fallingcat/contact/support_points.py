"""Points of compliant contacts in a step: when they land, and what they feel."""

from __future__ import annotations

from typing import Any, NamedTuple


class Support(NamedTuple):
    """Contact force of a point in a step, along normal and tangents: linear in its velocity at the end."""

    force: Any
    """``3`` (N): at rest"""
    gain: Any
    """``3`` (N s/m), not negative; or ``3 x 3``"""

    def at(self, velocity: Any) -> Any:
        """``3`` (N): at a velocity (3) at the end of the step."""
        return self.force - (self.gain @ velocity if self.gain.ndim == 2 else self.gain * velocity)


class Landing(NamedTuple):
    """A point in a step, and the part of it in which the ground acts: all of it, or from where it lands on."""

    position: Any
    """``3``: height over the ground, and where along it, or how far it has slipped, in the middle of this part"""
    anchor: Any
    """memory, such as where along the ground it is held"""
    lands: Any
    """True if it comes through the ground in this step"""
    lasts: Any
    """share of the step in contact"""


class Pressed(NamedTuple):
    """A point in the ground."""

    axes: Any
    """``3 x 3``: normal and tangents (world) as rows"""
    J: Any
    """``3 x nv``: its velocity along them"""
    force: Any
    """``3`` (N): out of the ground, and along it"""
    memory_rate: Any
