"""A joint of a robot: a kind of motion, and where it sits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import any_nonzero, is_expression, is_numeric, rigid_product, scale
from ..arrays.types import FloatArray, Matrix, Pose, Vector
from ..caching import cached_property
from ..errors import ModelError, describe
from ..lie import SE3
from ..records import concise
from .body import Frozen, frozen_array, frozen_pose
from .joints import JointKind

_SE3 = SE3()


MIN_MIMIC_RATIO = 1e-100
"""Smallest ratio of a follower, and the inverse of the largest: squares, which multiply inertias, stay finite."""


@dataclass(frozen=True)
class Limits:
    """Limits of a joint of one degree of freedom; infinite by default.

    Example:
        >>> Limits(lower=-1.0, upper=2.0, effort=30.0).velocity
        inf
    """

    lower: float = -np.inf
    """lowest coordinate (rad, or m)"""
    upper: float = np.inf
    """highest coordinate (rad, or m)"""
    velocity: float = np.inf
    """largest speed (rad/s, or m/s)"""
    effort: float = np.inf
    """largest force of the drive (N m, or N)"""

    def __post_init__(self) -> None:
        for name, x in vars(self).items():
            if not isinstance(x, (int, float, np.number)) or x != x:
                raise ModelError(f"a joint limit is not a number: {name} is {describe(x)}")
        if self.lower > self.upper:
            raise ModelError(f"the lower limit {self.lower:g} lies above the upper limit {self.upper:g}")
        if self.velocity < 0.0 or self.effort < 0.0:
            raise ModelError("velocity and effort limits are not negative")


@dataclass(frozen=True)
class Passive:
    """Passive force on each rate of a joint: ``-damping rate - friction sign(rate) - stiffness (q - rest)``.

    Runs apply it: see :func:`fallingcat.control.laws.passive_joints`.  Dynamics of a single state, such as
    :func:`fallingcat.forward_dynamics`, take forces as they are given.

    Example:
        >>> Passive(damping=0.1, stiffness=20.0, rest=0.5)
        Passive(damping=0.1, friction=0.0, stiffness=20.0, rest=0.5)
    """

    damping: float = 0.0
    """N m s/rad, or N s/m"""
    friction: float = 0.0
    """dry friction (N m, or N)"""
    stiffness: float = 0.0
    """N m/rad, or N/m"""
    rest: float = 0.0
    """the coordinate (rad, or m) at which the spring does not pull; of a ball, the identity is its place of rest"""

    def __post_init__(self) -> None:
        for name, x in vars(self).items():
            if is_expression(x):
                continue
            if isinstance(x, bool) or not isinstance(x, (int, float, np.number)) or not np.isfinite(x):
                raise ModelError(f"the {name} of a joint is a finite number, not {describe(x)}")
            if x < 0.0 and name != "rest":
                raise ModelError(f"the {name} of a joint is not negative, as {x:g} is: it would feed energy into it")

    @property
    def acts(self) -> bool:
        """True if one of the forces is not zero."""
        return any(is_expression(x) or x for x in (self.damping, self.friction, self.stiffness))


@dataclass(frozen=True)
class Mimic:
    """Joint that follows another, ``q = ratio q_leader + offset`` (rad or m each), without a coordinate of its own.

    Both have one degree of freedom.  What follows a follower follows its leader in the end: a model says so directly.

    Example:
        >>> Mimic("left_finger", ratio=-1.0)
        Mimic(leader='left_finger', ratio=-1.0, offset=0.0)
    """

    leader: str
    """joint that is followed"""
    ratio: float = 1.0
    """``dq / dq_leader``"""
    offset: float = 0.0
    """coordinate where the leader's is zero (rad, or m)"""

    def __post_init__(self) -> None:
        if not isinstance(self.leader, str):
            raise ModelError(f"the leader of a joint is the name of a joint, not {describe(self.leader)}")
        for name in ("ratio", "offset"):
            x = getattr(self, name)
            if isinstance(x, bool) or not isinstance(x, (int, float, np.number)) or not np.isfinite(x):
                raise ModelError(f"the {name} at which a joint follows {self.leader!r} is a number, not {describe(x)}")
            object.__setattr__(self, name, float(x))
        if not self.ratio:
            raise ModelError(f"a joint that follows {self.leader!r} at the ratio 0 stands still: make it a fixed one")
        if not MIN_MIMIC_RATIO <= abs(self.ratio) <= 1.0 / MIN_MIMIC_RATIO:
            raise ModelError(
                f"the ratio at which a joint follows {self.leader!r} must be between {MIN_MIMIC_RATIO:g} and "
                f"{1.0 / MIN_MIMIC_RATIO:g}, got {self.ratio:g}: inertias change by its square"
            )

    def behind(self, other: Mimic) -> Mimic:
        """Same follower as a follower of ``other``'s leader, where its leader follows that.

        Args:
            other: Mimic of this one's leader.

        Returns:
            Both as one.
        """
        return Mimic(other.leader, self.ratio * other.ratio, self.ratio * other.offset + self.offset)


@concise
@dataclass(frozen=True, eq=False)
class Joint(Frozen):
    """Joint between the links ``parent`` and ``child``: ``H_parent_child = placement @ kind.transform(q) @ offset``.

    ``placement`` puts the inner side of the joint on the parent, ``offset`` the child on the outer side (the identity,
    unless the tree was turned around).

    ``armature`` (kg m^2, or kg of a slider; a number, or one for each joint rate) is the inertia of the rotor behind
    gears, as the joint feels it: its own inertia times the gear ratio squared.  It adds ``armature rates^2 / 2`` to the
    kinetic energy and nothing to momentum, as in MuJoCo and Pinocchio.  ``passive`` says which springs, dampers and dry
    friction the joint has; like ``limits`` it acts in runs (:func:`fallingcat.simulate`).

    With a ``mimic`` the joint follows another: it has no coordinate of its own (:attr:`nq`, :attr:`nv` are 0), ``q``
    and ``rates`` of the methods below are its leader's, and a motion subspace is that per rate of the leader.  Limits,
    armature and springs are those of this joint, in its own coordinate.

    Example:
        >>> from fallingcat.model import Revolute
        >>> Joint("hip", Revolute(), "trunk", "leg", armature=1e-5 * 50.0**2).armature
        array([0.025])
        >>> toe = Joint("toe", Revolute(), "foot", "toe", mimic=Mimic("heel", ratio=-0.5))
        >>> toe.nv, float(toe.motion_subspace(np.zeros(1))[5, 0])
        (0, -0.5)
    """

    name: str
    """name of the joint"""
    kind: JointKind
    """kind of motion"""
    parent: str
    """link that carries the joint"""
    child: str
    """link that the joint carries"""
    placement: Pose = field(default_factory=lambda: np.eye(4))
    """``4 x 4``: inner side of the joint on the parent"""
    offset: Pose = field(default_factory=lambda: np.eye(4))
    """``4 x 4``: child on the outer side of the joint"""
    limits: Limits = field(default_factory=Limits)
    """stops, speed and effort"""
    armature: Vector = 0.0
    """inertia of the rotor as the joint feels it (kg m^2, or kg)"""
    passive: Passive = field(default_factory=Passive)
    """springs, dampers and dry friction"""
    mimic: Mimic | None = None
    """joint that is followed; None: none"""

    def __post_init__(self) -> None:
        if not isinstance(self.kind, JointKind):
            raise ModelError(f"the kind of joint {self.name!r} is a JointKind, not {describe(self.kind)}")
        if not isinstance(self.limits, Limits):
            raise ModelError(f"the limits of joint {self.name!r} are Limits, not {describe(self.limits)}")
        if not isinstance(self.passive, Passive):
            raise ModelError(f"passive of joint {self.name!r} is a Passive, not {describe(self.passive)}")
        if not isinstance(self.mimic, Mimic | None):
            raise ModelError(f"mimic of joint {self.name!r} is a Mimic, not {describe(self.mimic)}")
        if self.mimic and (self.kind.nq, self.kind.nv) != (1, 1):
            raise ModelError(f"joint {self.name!r} is {self.kind.name}: only a joint of one coordinate follows another")
        object.__setattr__(self, "armature", self._checked_armature())
        for part in ("placement", "offset"):
            object.__setattr__(self, part, frozen_pose(getattr(self, part), f"{part} of joint {self.name!r}"))

    def _checked_armature(self) -> np.ndarray:
        """One inertia for each joint rate, of a rotor that needs no gyroscopic forces: ``ad(x)' (armature x) = 0``."""
        group, given, what = self.kind.group, self.armature, f"the armature of joint {self.name!r}"
        one = (
            given if np.isscalar(given) or is_expression(given) else None if any_nonzero(np.asarray(given)) else 0.0
        )  # zeros of another kind are none of this one
        armature = frozen_array(given if one is None else [one] * group.dim, (group.dim,), what)
        if not is_numeric(armature):
            if group.dim > 1:
                raise ModelError(f"{what} is a number: expressions are for joints of one degree of freedom")
            return armature
        if (armature < 0.0).any():
            raise ModelError(f"{what} is not negative, as {armature.min():g} is")
        if armature.any():
            turned = np.array([group.ad(x).T @ np.diag(armature) for x in np.eye(group.dim)])
            if (turned + turned.transpose(2, 1, 0)).any():
                raise ModelError(
                    f"{what}, {armature.tolist()}, is that of a rotor that pulls while it turns at constant rates: "
                    "inertias about the axes of a ball are equal, those along axes that turn are zero"
                )
        return armature

    # what the joint adds to the robot ---------------------------------------------------------------------------

    @property
    def nq(self) -> int:
        """Number of coordinates of its own: none where it follows another."""
        return 0 if self.mimic else self.kind.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom of its own: none where it follows another."""
        return 0 if self.mimic else self.kind.nv

    @property
    def rotor(self) -> FloatArray:
        """Armature as the rates of the leader feel it: ``ratio^2`` of it where the joint follows another."""
        own = np.asarray(self.armature)
        return own if self.mimic is None else own * self.mimic.ratio**2

    # motion -------------------------------------------------------------------------------------------------------

    def coordinates(self, q: Vector) -> Vector:
        """Coordinates of the joint: ``q``, or ``ratio q + offset`` of its leader's.

        Args:
            q: Coordinates of the joint, or of its leader (rad, m, unit quaternions).

        Returns:
            Coordinates (nq) of the joint, or as many as those of its leader.
        """
        return q if self.mimic is None else scale(self.mimic.ratio, q) + self.mimic.offset

    def transform(self, q: Vector) -> Pose:
        """Pose of the child link in the parent link.

        Args:
            q: Coordinates of the joint, or of its leader (rad, m, unit quaternions).

        Returns:
            ``4 x 4``: coordinates of the child to coordinates of the parent.
        """
        H = rigid_product(self.placement, self.kind.transform(self.coordinates(q)))
        return H if self._plain else H @ self.offset

    def motion_subspace(self, q: Vector) -> Matrix:
        """Motion subspace: the twist of the child relative to the parent, in the child link frame, per rate.

        Args:
            q: Coordinates of the joint, or of its leader (rad, m, unit quaternions).

        Returns:
            ``6 x nv`` matrix; of a joint that follows another, with a column for each rate of its leader.
        """
        return self._at_child(self.kind.motion_subspace(self.coordinates(q)))

    def motion_subspace_derivative(self, q: Vector, rates: Vector) -> Matrix:
        """Time derivative of :meth:`motion_subspace` along ``rates``.

        Args:
            q: Coordinates of the joint, or of its leader (rad, m, unit quaternions).
            rates: Rates of the joint, or of its leader, ``nv``.

        Returns:
            ``6 x nv`` matrix; of a joint that follows another, with a column for each rate of its leader.
        """
        own = rates if self.mimic is None else scale(self.mimic.ratio, rates)
        return self._at_child(self.kind.motion_subspace_derivative(self.coordinates(q), own))

    def reversed(self) -> Joint:
        """Same joint with parent and child exchanged, and the same coordinates.

        Returns:
            Joint from ``child`` to ``parent``.
        """
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
        return is_numeric(self.offset) and bool((self.offset == np.eye(4)).all())

    def _at_child(self, S: Matrix) -> Matrix:
        S = S if self.mimic is None else scale(self.mimic.ratio, S)
        return S if self._plain else _SE3.Ad(_SE3.inverse(self.offset)) @ S
