"""A weld."""

from __future__ import annotations

from dataclasses import dataclass

from ...caching import cached_property
from ...lie import Group, Trivial
from .kind import JointKind


@dataclass(frozen=True)
class Fixed(JointKind):
    """Weld: no motion, no coordinates.

    Example:
        >>> Fixed().nv
        0
    """

    name = "fixed"

    @cached_property
    def group(self) -> Group:
        """Trivial group."""
        return Trivial()
