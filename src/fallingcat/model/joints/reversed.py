"""A joint seen from its other side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...lie import SE3, Group
from .kind import JointKind

_SE3 = SE3()


@dataclass(frozen=True)
class Reversed(JointKind):
    """``kind`` with inner and outer side exchanged; coordinates and rates keep their meaning.

    The twist of the inner side relative to the outer one is ``-Ad(g) S rates`` in the inner frame.
    """

    kind: JointKind

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"reversed {self.kind.name}"

    @property
    def group(self) -> Group:
        return self.kind.group

    def transform(self, q: Any) -> Any:
        return _SE3.inverse(self.kind.transform(q))

    def motion_subspace(self, q: Any) -> Any:
        return -(_SE3.Ad(self.kind.transform(q)) @ self.kind.motion_subspace(q))

    def motion_subspace_derivative(self, q: Any, rates: Any) -> Any:
        S, dS = self.kind.motion_subspace(q), self.kind.motion_subspace_derivative(q, rates)
        return -(_SE3.Ad(self.kind.transform(q)) @ (_SE3.ad(S @ rates) @ S + dS))

    def reversed(self) -> JointKind:
        return self.kind
