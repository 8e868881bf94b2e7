"""A gantry: translations without rotation."""

from __future__ import annotations

from dataclasses import dataclass

from ...caching import cached_property
from ...lie import R3, Group
from .kind import JointKind


@dataclass(frozen=True)
class Translational(JointKind):
    """Translations R^3; coordinates and rates ``[x, y, z]``.

    Example:
        >>> Translational().transform([1.0, 2.0, 3.0])[:3, 3]
        array([1., 2., 3.])
    """

    name = "translational"

    @cached_property
    def group(self) -> Group:
        """Group R^3 of configurations."""
        return R3()
