"""A weld."""

from __future__ import annotations

from dataclasses import dataclass

from ...lie import Trivial, Group
from .kind import JointKind


@dataclass(frozen=True)
class Fixed(JointKind):
    """No motion, no coordinates."""

    name = "fixed"

    @property
    def group(self) -> Group:
        return Trivial()
