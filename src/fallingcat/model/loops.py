"""Loop closures: two points pinned, two frames welded, two joints coupled, a ball that rolls.

A loop is an equation ``error = 0`` in the robot's motion; :mod:`fallingcat.constraints` finds motions that keep it.  A
loop of your own is a class with :meth:`Loop.rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, is_dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..arrays import concatenate, scale, stack
from ..arrays.types import Matrix, Pose, Scalar, Vector, Vector_3
from ..errors import ModelError, describe
from ..lie import rotations
from ..records import concise
from ..registry import Registry
from .body import Frozen, frozen_array, frozen_pose


class Rows(NamedTuple):
    """Equations of a loop: ``error`` (k), zero where it is closed; there ``d error/dt = J v``, ``bias = dJ/dt v``."""

    error: Vector
    jacobian: Matrix
    bias: Vector


class RobotMotion(Protocol):
    """Motion of a robot in a state, as loops see it."""

    def frame(self, place: str | None, placement: Pose) -> tuple[Pose, Matrix, Vector]:
        """World pose (4x4), mixed Jacobian (6 x nv) and ``dJ/dt v`` (6) of a frame on a link; None is the world."""

    @property
    def velocity(self) -> Vector:
        """Quasi-velocity (nv): the velocity ``[v; w]`` of a frame, along the world's axes, is its Jacobian times it."""

    def joint(self, name: str) -> tuple[Scalar, Scalar, Vector]:
        """Coordinate, rate, and the row (nv) that picks the rate out of the quasi-velocity."""


class Loop(Frozen, ABC):
    """Base class of loop closures: equations that must hold.

    Example:
        >>> pin = Pin("crank", "rod", "slider")
        >>> pin.count, pin.places, pin.internal
        (3, ('rod', 'slider'), True)
    """

    name: str
    """name of the loop"""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of equations."""

    @property
    def places(self) -> tuple[str, ...]:
        """Links or frames that it names."""
        return ()

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that it names."""
        return ()

    @property
    def internal(self) -> bool:
        """True for an equation between the robot's joints, wherever its base is.

        Then its forces are inner ones, which change no momentum.
        """
        return False

    @abstractmethod
    def rows(self, motion: RobotMotion) -> Rows:
        """Equations in a motion.

        Args:
            motion: Poses, Jacobians and joints of the robot in a state.

        Returns:
            Error, Jacobian and bias of the ``count`` equations.
        """


@dataclass(frozen=True, eq=False)
class Pin(Loop):
    """Pin joint between two points, free to turn: MuJoCo's ``connect``.

    Errors in m, along the world's axes.

    Example:
        >>> Pin("crank", "rod", first_point=[0.0, 0.0, 1.0]).count
        3
    """

    name: str
    """name of the loop"""
    first: str
    """link or frame"""
    second: str | None = None
    """link or frame; None: the world"""
    first_point: Vector_3 = field(default_factory=lambda: np.zeros(3))
    """``3``: point of the first (m)"""
    second_point: Vector_3 = field(default_factory=lambda: np.zeros(3))
    """``3``: point of the second (m)"""

    def __post_init__(self) -> None:
        for part in ("first_point", "second_point"):
            object.__setattr__(self, part, frozen_array(getattr(self, part), (3,), f"{part} of loop {self.name!r}"))

    @property
    def count(self) -> int:
        """Number of equations."""
        return 3

    @property
    def places(self) -> tuple[str, ...]:
        """Links or frames that it names."""
        return _link_names(self.first, self.second)

    @property
    def internal(self) -> bool:
        """True for an equation between parts of the robot alone."""
        return self.second is not None

    def rows(self, motion: RobotMotion) -> Rows:
        """Equations in a motion."""
        H, J, bias = motion.frame(self.first, rotations.homogeneous(np.eye(3), self.first_point))
        G, K, drift = motion.frame(self.second, rotations.homogeneous(np.eye(3), self.second_point))
        return Rows(G[:3, 3] - H[:3, 3], K[:3] - J[:3], drift[:3] - bias[:3])


@dataclass(frozen=True, eq=False)
class Weld(Loop):
    """Weld between two frames: the pose of ``second`` (None: the world) seen from ``first`` stays ``placement``.

    Errors along the world's axes: three lengths (m) and the rotation vector (rad).

    Example:
        >>> Weld("grasp", "left_hand", "right_hand").count
        6
    """

    name: str
    """name of the loop"""
    first: str
    """link or frame"""
    second: str | None = None
    """link or frame; None: the world"""
    placement: Pose = field(default_factory=lambda: np.eye(4))
    """``4 x 4``: pose of ``second`` seen from ``first``"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", frozen_pose(self.placement, f"placement of loop {self.name!r}"))

    @property
    def count(self) -> int:
        """Number of equations."""
        return 6

    @property
    def places(self) -> tuple[str, ...]:
        """Links or frames that it names."""
        return _link_names(self.first, self.second)

    @property
    def internal(self) -> bool:
        """True for an equation between parts of the robot alone."""
        return self.second is not None

    def rows(self, motion: RobotMotion) -> Rows:
        """Equations in a motion."""
        H, J, bias = motion.frame(self.first, self.placement)
        G, K, drift = motion.frame(self.second, np.eye(4))
        turn = H[:3, :3] @ rotations.log(H[:3, :3].T @ G[:3, :3])
        return Rows(concatenate([G[:3, 3] - H[:3, 3], turn]), K - J, drift - bias)


@concise
@dataclass(frozen=True, eq=False)
class Couple(Loop):
    """Coupling of joints, ``q_joint = c0 + c1 q_other + c2 q_other^2 + ...`` (rad or m).

    Gears, mimic joints, MuJoCo's joint equalities.  Without ``other`` the joint is held at ``c0``.

    Example:
        >>> Couple("gear", "left", "right", coefficients=(0.0, -2.0)).joints
        ('left', 'right')
    """

    name: str
    """name of the loop"""
    joint: str
    """that is coupled"""
    other: str | None = None
    """joint on the right; None: none"""
    coefficients: tuple[float, ...] = (0.0, 1.0)
    """``c0, c1, ...``"""

    def __post_init__(self) -> None:
        try:
            coefficients = tuple(float(c) for c in self.coefficients)
        except (TypeError, ValueError):
            raise ModelError(
                f"coefficients of loop {self.name!r} are numbers, not {describe(self.coefficients)}"
            ) from None
        if not coefficients or not np.isfinite(coefficients).all():
            raise ModelError(
                f"coefficients of loop {self.name!r} are finite numbers, not {describe(self.coefficients)}"
            )
        object.__setattr__(self, "coefficients", coefficients)

    @property
    def count(self) -> int:
        """Number of equations."""
        return 1

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that it names."""
        return _link_names(self.joint, self.other)

    @property
    def internal(self) -> bool:
        """True for an equation between parts of the robot alone."""
        return True

    def rows(self, motion: RobotMotion) -> Rows:
        """Equations in a motion."""
        q, _, row = motion.joint(self.joint)
        if self.other is None:
            return Rows(stack([q - self.coefficients[0]]), row[None], np.zeros(1))
        x, rate, other = motion.joint(self.other)
        value, slope, bend = (_polynomial(c, x) for c in _derivatives(self.coefficients))
        return Rows(stack([q - value]), (row - scale(slope, other))[None], stack([-bend * rate * rate]))


@dataclass(frozen=True, eq=False)
class Rolling(Loop):
    """Ball around the origin of ``place`` that rolls on a plane without slipping ([ETH] (3.35)-(3.37)).

    So does a wheel whose axis stays level: ``v + r n x w = 0`` where it touches: of the three rows the first holds the
    center at ``height + radius`` over the world's origin along ``normal`` (m), the other two hold velocities alone
    (m/s), so that their ``error`` is 0 wherever the ball has rolled to.

    Example:
        >>> Rolling("wheel", "left_wheel", radius=0.1).count
        3
    """

    name: str
    """name of the loop"""
    place: str
    """link or frame at the center of the ball"""
    radius: float
    """m"""
    normal: Vector_3 = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """``3``: direction of the plane, world axes"""
    height: float = 0.0
    """height of the plane over the world's origin, along ``normal`` (m)"""

    def __post_init__(self) -> None:
        normal = frozen_array(self.normal, (3,), f"normal of loop {self.name!r}")
        size = float(np.linalg.norm(normal))
        if size == 0.0:
            raise ModelError(f"the normal of loop {self.name!r} is a direction, not zero")
        object.__setattr__(self, "normal", frozen_array(normal / size, (3,), "normal"))
        for part, low in (("radius", 0.0), ("height", -np.inf)):
            x = getattr(self, part)
            if isinstance(x, bool) or not isinstance(x, (int, float, np.number)) or not low < x < np.inf:
                raise ModelError(f"{part} of loop {self.name!r} is a finite number of metres, not {describe(x)}")

    @property
    def count(self) -> int:
        """Number of equations."""
        return 3

    @property
    def places(self) -> tuple[str, ...]:
        """Links or frames that it names."""
        return (self.place,)

    def rows(self, motion: RobotMotion) -> Rows:
        """Equations in a motion."""
        H, J, bias = motion.frame(self.place, np.eye(4))
        axes = self._axes()
        rim = axes @ concatenate([np.eye(3), self.radius * rotations.skew(self.normal)], axis=1)
        high = self.normal @ H[:3, 3] - (self.height + self.radius)
        return Rows(concatenate([stack([high]), np.zeros(2)]), rim @ J, rim @ bias)

    def _axes(self) -> np.ndarray:
        """``3 x 3``: the normal, then two directions along the plane, as rows."""
        n = self.normal
        first = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        first = first / np.linalg.norm(first)
        return np.array([n, first, np.cross(n, first)])


def _check(name: str, kind: Any) -> None:
    if not isinstance(kind, type) or not issubclass(kind, Loop) or not is_dataclass(kind):
        raise ModelError(f"a kind of loop is a frozen dataclass derived from Loop, not {describe(kind)}")


KINDS = Registry[type[Loop]](
    "kind of loop",
    "fallingcat.loops",
    {"pin": Pin, "weld": Weld, "couple": Couple, "rolling": Rolling},
    _check,
)
"""Every kind of loop, by the name that files call it."""


def _link_names(first: str, second: str | None) -> tuple[str, ...]:
    return (first,) if second is None else (first, second)


def _derivatives(coefficients: tuple[float, ...]) -> list[tuple[float, ...]]:
    """The polynomial and its first two derivatives."""
    found = [coefficients]
    for _ in range(2):
        found.append(tuple(k * c for k, c in enumerate(found[-1]))[1:])
    return found


def _polynomial(coefficients: tuple[float, ...], x: Scalar) -> Scalar:
    value: Scalar = 0.0 * x
    for c in reversed(coefficients):
        value = value * x + c
    return value
