"""What closes a tree to a loop: two points pinned, two frames welded, two joints coupled, a ball that rolls.

A loop says what must be zero, as a function of the robot's motion; :mod:`fallingcat.loops` finds motions for which it
is.  A loop of your own is a class with :meth:`Loop.rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, is_dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..arrays import concatenate, scale, stack
from ..arrays.types import Matrix, Pose, Scalar, Vector
from ..errors import ModelError, describe
from ..lie import rotations
from ..records import concise
from ..registry import Registry
from .body import Frozen, frozen_array, frozen_pose


class Rows(NamedTuple):
    """``error`` (k), zero where the loop is closed; there ``d error/dt = J v``, and ``bias = dJ/dt v``."""

    error: Vector
    jacobian: Matrix
    bias: Vector


class RobotMotion(Protocol):
    """What a loop may ask of a robot in a state."""

    def frame(self, place: str | None, placement: Pose) -> tuple[Pose, Matrix, Vector]:
        """World pose (4x4), mixed Jacobian (6 x nv) and ``dJ/dt v`` (6) of a frame on a link; None is the world."""

    @property
    def velocity(self) -> Vector:
        """Quasi-velocity (nv): the velocity ``[v; w]`` of a frame, along the world's axes, is its Jacobian times it."""

    def joint(self, name: str) -> tuple[Scalar, Scalar, Vector]:
        """Coordinate, rate, and the row (nv) that picks the rate out of the quasi-velocity."""


class Loop(Frozen, ABC):
    """Something that must be zero."""

    name: str

    @property
    @abstractmethod
    def count(self) -> int:
        """How many numbers must be zero."""

    @property
    def places(self) -> tuple[str, ...]:
        """The links or frames that it names."""
        return ()

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that it names."""
        return ()

    @property
    def internal(self) -> bool:
        """Whether it is an equation between the robot's joints, wherever its base is: then its forces are inner ones,
        which change no momentum.
        """
        return False

    @abstractmethod
    def rows(self, motion: RobotMotion) -> Rows:
        """The equations in a motion."""


@dataclass(frozen=True, eq=False)
class Pin(Loop):
    """Two points stay together, free to turn: MuJoCo's ``connect``.  Errors in m, along the world's axes.

    ``second`` is a link, a frame, or None for the world; the points are given in them.
    """

    name: str
    first: str
    second: str | None = None
    first_point: np.ndarray = field(default_factory=lambda: np.zeros(3))
    second_point: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        for part in ("first_point", "second_point"):
            object.__setattr__(self, part, frozen_array(getattr(self, part), (3,), f"{part} of loop {self.name!r}"))

    @property
    def count(self) -> int:
        return 3

    @property
    def places(self) -> tuple[str, ...]:
        return _named(self.first, self.second)

    @property
    def internal(self) -> bool:
        return self.second is not None

    def rows(self, motion: RobotMotion) -> Rows:
        H, J, bias = motion.frame(self.first, rotations.homogeneous(np.eye(3), self.first_point))
        G, K, drift = motion.frame(self.second, rotations.homogeneous(np.eye(3), self.second_point))
        return Rows(G[:3, 3] - H[:3, 3], K[:3] - J[:3], drift[:3] - bias[:3])


@dataclass(frozen=True, eq=False)
class Weld(Loop):
    """Two frames stay together: the pose of ``second`` (None: the world) seen from ``first`` stays ``placement``.

    Errors along the world's axes: three lengths (m) and the rotation vector (rad).
    """

    name: str
    first: str
    second: str | None = None
    placement: np.ndarray = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", frozen_pose(self.placement, f"placement of loop {self.name!r}"))

    @property
    def count(self) -> int:
        return 6

    @property
    def places(self) -> tuple[str, ...]:
        return _named(self.first, self.second)

    @property
    def internal(self) -> bool:
        return self.second is not None

    def rows(self, motion: RobotMotion) -> Rows:
        H, J, bias = motion.frame(self.first, self.placement)
        G, K, drift = motion.frame(self.second, np.eye(4))
        turn = H[:3, :3] @ rotations.log(H[:3, :3].T @ G[:3, :3])
        return Rows(concatenate([G[:3, 3] - H[:3, 3], turn]), K - J, drift - bias)


@concise
@dataclass(frozen=True, eq=False)
class Couple(Loop):
    """``q_joint = c0 + c1 q_other + c2 q_other^2 + ...``: gears, mimic joints, MuJoCo's joint equalities (rad or m).

    Without ``other`` the joint is held at ``c0``.
    """

    name: str
    joint: str
    other: str | None = None
    coefficients: tuple[float, ...] = (0.0, 1.0)

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
        return 1

    @property
    def joints(self) -> tuple[str, ...]:
        return _named(self.joint, self.other)

    @property
    def internal(self) -> bool:
        return True

    def rows(self, motion: RobotMotion) -> Rows:
        q, _, row = motion.joint(self.joint)
        if self.other is None:
            return Rows(stack([q - self.coefficients[0]]), row[None], np.zeros(1))
        x, rate, other = motion.joint(self.other)
        value, slope, bend = (_polynomial(c, x) for c in _derivatives(self.coefficients))
        return Rows(stack([q - value]), (row - scale(slope, other))[None], stack([-bend * rate * rate]))


@dataclass(frozen=True, eq=False)
class Rolling(Loop):
    """A ball around the origin of ``place`` rolls on a plane without slipping ([ETH] (3.35)-(3.37)).

    So does a wheel whose axis stays level: ``v + r n x w = 0`` where it touches: of the three rows the first holds the
    center at ``height + radius`` over the world's origin along ``normal`` (m), the other two hold velocities alone
    (m/s), so that their ``error`` is 0 wherever the ball has rolled to.
    """

    name: str
    place: str
    radius: float
    normal: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    height: float = 0.0

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
        return 3

    @property
    def places(self) -> tuple[str, ...]:
        return (self.place,)

    def rows(self, motion: RobotMotion) -> Rows:
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


def _named(first: str, second: str | None) -> tuple[str, ...]:
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
