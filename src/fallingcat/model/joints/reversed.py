"""A joint seen from its other side."""

from __future__ import annotations

from dataclasses import dataclass

from ...arrays.types import Matrix_6_nv, Pose, Vector_nq, Vector_nv
from ...lie import SE3, Group
from .kind import JointKind

_SE3 = SE3()


@dataclass(frozen=True)
class Reversed(JointKind):
    """Joint ``kind`` with inner and outer side exchanged; coordinates and rates keep their meaning.

    The twist of the inner side relative to the outer one is ``-Ad(g) S rates`` in the inner frame.

    Example:
        >>> from fallingcat.model import joints
        >>> Reversed(joints.Planar()).transform([1.0, 2.0, 0.0])[:2, 3]
        array([-1., -2.])
    """

    kind: JointKind
    """joint that is turned around"""

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name in files."""
        return f"reversed {self.kind.name}"

    @property
    def group(self) -> Group:
        """Group of the joint that is turned around."""
        return self.kind.group

    def transform(self, q: Vector_nq) -> Pose:
        """Pose of the outer side in the inner one (4 x 4)."""
        return _SE3.inverse(self.kind.transform(q))

    def motion_subspace(self, q: Vector_nq) -> Matrix_6_nv:
        """Motion subspace (6 x nv), in the outer frame."""
        return -(_SE3.Ad(self.kind.transform(q)) @ self.kind.motion_subspace(q))

    def motion_subspace_derivative(self, q: Vector_nq, rates: Vector_nv) -> Matrix_6_nv:
        """Time derivative of :meth:`motion_subspace` along ``rates`` (6 x nv)."""
        S, dS = self.kind.motion_subspace(q), self.kind.motion_subspace_derivative(q, rates)
        return -(_SE3.Ad(self.kind.transform(q)) @ (_SE3.ad(S @ rates) @ S + dS))

    def reversed(self) -> JointKind:
        """Same joint seen from its other side, with the same coordinates."""
        return self.kind
