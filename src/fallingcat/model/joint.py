"""A joint of a robot: a kind of motion, and where it sits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..arrays import rigid_product
from ..arrays.types import Matrix, Pose, Vector
from ..errors import ModelError, told
from ..lie import SE3
from .body import Frozen, frozen_pose
from .joints import JointKind

_SE3 = SE3()


@dataclass(frozen=True)
class Limits:
    """What a joint of one degree of freedom may do; infinite where nothing is said (rad, rad/s, N m; m, m/s, N)."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf

    def __post_init__(self) -> None:
        for name, x in vars(self).items():
            if not isinstance(x, (int, float, np.number)) or np.isnan(x):
                raise ModelError(f"a joint limit is not a number: {name} is {told(x)}")
        if self.lower > self.upper:
            raise ModelError(f"the lower limit {self.lower:g} lies above the upper limit {self.upper:g}")
        if self.velocity < 0.0 or self.effort < 0.0:
            raise ModelError("velocity and effort limits are not negative")


@dataclass(frozen=True, eq=False)
class Joint(Frozen):
    """Joins the link ``child`` to the link ``parent``: ``H_parent_child = placement @ kind.transform(q) @ offset``.

    ``placement`` puts the inner side of the joint on the parent, ``offset`` the child on the outer side (the identity,
    unless the tree was turned around).
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    placement: np.ndarray = field(default_factory=lambda: np.eye(4))
    offset: np.ndarray = field(default_factory=lambda: np.eye(4))
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, JointKind):
            raise ModelError(f"the kind of joint {self.name!r} is a JointKind, not {told(self.kind)}")
        if not isinstance(self.limits, Limits):
            raise ModelError(f"the limits of joint {self.name!r} are Limits, not {told(self.limits)}")
        for part in ("placement", "offset"):
            object.__setattr__(self, part, frozen_pose(getattr(self, part), f"{part} of joint {self.name!r}"))

    def transform(self, q: Vector) -> Pose:
        """``4 x 4``: coordinates of the child link to coordinates of the parent link."""
        H = rigid_product(self.placement, self.kind.transform(q))
        return H if self._plain else H @ self.offset

    def motion_subspace(self, q: Vector) -> Matrix:
        """``6 x nv``: the twist of the child relative to the parent, in the child link frame, per joint rate."""
        return self._at_child(self.kind.motion_subspace(q))

    def motion_subspace_derivative(self, q: Vector, rates: Vector) -> Matrix:
        """``6 x nv``: the derivative of :meth:`motion_subspace` along ``rates``."""
        return self._at_child(self.kind.motion_subspace_derivative(q, rates))

    def reversed(self) -> Joint:
        """The same joint with parent and child exchanged, and the same coordinates."""
        return replace(
            self,
            kind=self.kind.reversed(),
            parent=self.child,
            child=self.parent,
            placement=_SE3.inverse(self.offset),
            offset=_SE3.inverse(self.placement),
        )

    @cached_property
    def _plain(self) -> bool:
        return bool((self.offset == np.eye(4)).all())

    def _at_child(self, S: Matrix) -> Matrix:
        return S if self._plain else _SE3.Ad(_SE3.inverse(self.offset)) @ S
