"""Base class for tasks: goal, feed-forward motion and weight of a quantity, with its Jacobian."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from ...arrays import array, concatenate, is_numeric
from ...arrays.arguments import holds_numbers, shape_of
from ...arrays.types import FloatArray, Matrix, Scalar, Vector
from ...caching import cached_property
from ...dynamics.checks import check_fields, check_model
from ...errors import ModelError, describe
from ...lie import SE3
from ...lie.group import constant
from ...model import Frame, Model, State
from ...model.states import POSE_TOLERANCE
from ...records import concise

LARGEST = 1e100
"""Largest number of a task: products of numbers stay finite."""
D = TypeVar("D", "Demand", "ForceDemand")
_PACKED = "_packed"
"""Attribute with the packed numbers of a task and their robot; a task never changes."""


class Motion(NamedTuple):
    """Error, Jacobian and bias of a task at a state, all rows: ``J v`` should bring ``error`` to zero."""

    error: Vector
    """``rows``: goal relative to the current configuration, by the group logarithm (m, rad)"""
    J: Matrix
    """``rows x nv``: its velocity is ``J [twist; rates]``"""
    bias: Vector
    """``rows``: ``dJ/dt v``, its acceleration at constant quasi-velocity"""


@concise
class Demand(NamedTuple):
    """Desired motion of a task at a state, on the rows that its mask keeps; every kind of number.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> fc.control.JointsTask([0.1, 0.0, 0.0], gain=2.0).demand(arm, arm.neutral()).velocity
        array([0.2, 0. , 0. ])
    """

    error: Vector
    """``rows`` (m, rad)"""
    J: Matrix
    """``rows x nv``"""
    bias: Vector
    """``rows``: ``dJ/dt v``"""
    velocity: Vector
    """``rows``: ``J v`` should be this, ``velocity + gain error`` ([ETH] (2.257), (2.258))"""
    acceleration: Vector
    """``rows``: ``J a + bias`` should be this, ``acceleration + 2 ratio gain (velocity - J v) + gain^2 error``:
    errors then decay critically damped, with the same ``gain``, for a ratio of 1"""
    weight: Vector
    """``rows``: weights of the squared residuals, beside other tasks of the same priority"""


class ForceDemand(NamedTuple):
    """Desired contact forces of a task at a state, on the rows that its mask keeps."""

    rows: Matrix
    """``rows x 3 contacts``: on the forces of all contacts, along the world's axes"""
    force: Vector
    """``rows`` (N, N m)"""
    weight: Vector
    """``rows``"""


def masked(demand: D, mask: tuple[bool, ...] | None) -> D:
    """Rows of a demand that a mask keeps."""
    return demand if mask is None else type(demand)(*(x[np.flatnonzero(mask)] for x in demand))


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(ABC):
    """Base class for tasks: a quantity that moves to a goal, at a rate, with a weight.

    Write your own as a frozen dataclass (``eq=False``) with a field ``goal`` (None: it stays, or moves with
    ``velocity``), :meth:`goal_shape`, :meth:`size`, :meth:`here` and :meth:`motion`, for every kind of number.  Its
    :attr:`numbers` may change from call to call without new code; all other fields are constants of compiled code.

    Example:
        >>> import fallingcat as fc
        >>> @dataclass(frozen=True, eq=False)
        ... class Height(Task):
        ...     place: str
        ...     goal: float | None = None  # m
        ...     def goal_shape(self, model):
        ...         return (1,)
        ...     def size(self, model):
        ...         return 1
        ...     def here(self, model, state):
        ...         return fc.link_pose(model, state, self.place)[2:3, 3]
        ...     def motion(self, model, state):
        ...         J = fc.jacobian(model, state, self.place, "mixed")[2:3]
        ...         bias = fc.dynamics.jacobian_derivative(model, state, self.place, "mixed")[2:3] @ state.velocity
        ...         return Motion(self.goal - self.here(model, state), J, bias)
        >>> arm = fc.robots.planar_arm()
        >>> Height("end_effector", [3.0]).demand(arm, arm.neutral()).error
        array([-1.])
    """

    velocity: Vector | None = None
    """feed-forward, of all rows (m/s, rad/s); None: zero"""
    acceleration: Vector | None = None
    """feed-forward, of all rows (m/s^2, rad/s^2); None: zero"""
    gain: Scalar | Vector = 1.0
    """1/s, one or one for each row: an error decays as ``exp(-gain t)``"""
    weight: Scalar | Vector = 1.0
    """one or one for each row, not negative"""
    mask: tuple[bool, ...] | None = None
    """rows that are kept; None: all"""
    ratio: float = 1.0
    """damping ratio of acceleration tasks: damping over critical damping, [ETH] (3.80)"""

    of_forces: ClassVar[bool] = False
    """True if it asks for contact forces, by :meth:`force_demand`, instead of motion"""
    numbers: ClassVar[tuple[str, ...]] = ("goal", "velocity", "acceleration", "gain", "weight")

    # to be written by subclasses ------------------------------------------------------------------------------

    @abstractmethod
    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """Shape of the goal.

        Args:
            model: Robot.

        Returns:
            Shape of one goal, such as ``(4, 4)`` for a pose.
        """

    @abstractmethod
    def size(self, model: Model) -> int:
        """Number of rows before the mask.

        Args:
            model: Robot.

        Returns:
            Number of rows of the Jacobian.
        """

    @abstractmethod
    def motion(self, model: Model, state: State) -> Motion:
        """Error, Jacobian and bias before the mask; without a goal the error is zero.

        Args:
            model: Robot.
            state: Configuration and velocity.

        Returns:
            Error (rows; m, rad), Jacobian (rows x nv) and ``dJ/dt v`` (rows).
        """

    @abstractmethod
    def here(self, model: Model, state: State) -> Any:
        """Goal that is reached at a state.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Array of the shape :meth:`goal_shape`.
        """

    def spot(self) -> tuple[str, Vector, Vector] | None:
        """Point that the goal positions completely, for a bound of the reach.

        Returns:
            Link or frame, point on it (3, m, in its axes) and goal of the point (3, m, world); None for other tasks.
        """
        return None

    @property
    def name(self) -> str:
        """Name in reports and errors."""
        return type(self).__name__

    @property
    def aim(self) -> Any:
        """Goal, or None."""
        return vars(self)["goal"]

    # common to all tasks ---------------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        """Check the fields, and turn lists of numbers into arrays."""
        for name in ("place", "other"):
            if not isinstance(vars(self).get(name, ""), (str, Frame)):
                which = f"{name} of {type(self).__name__}"
                raise ModelError(f"{which} must be the name of a link or frame, got {describe(vars(self)[name])}")
        for name in ("velocity", "acceleration", "gain", "weight"):
            x, optional = getattr(self, name), name in ("velocity", "acceleration")
            if not (x is None and optional) and (type(x) is not float or not 0.0 <= x <= LARGEST):
                object.__setattr__(self, name, self._row(name, x))
        if self.aim is not None:
            goal = self.aim.copy() if is_moderate(self.aim) else as_numbers(self.aim, f"goal of {self.name}")
            object.__setattr__(self, "goal", goal)
            self.check_goal(goal)
        if self.mask is not None:
            object.__setattr__(self, "mask", _mask(self.mask, self.name))
        if not isinstance(self.ratio, (int, float)) or isinstance(self.ratio, bool) or not 0.0 <= self.ratio <= LARGEST:
            raise ModelError(f"ratio of {self.name} must be finite and not negative, got {describe(self.ratio)}")

    def _row(self, name: str, x: Any) -> Any:
        """Checked value of a field that may be one number or one for each row."""
        x = as_numbers(x, f"{name} of {self.name}")
        if len(shape_of(x) or ()) > 1:
            raise ModelError(f"{name} of {self.name} must be one number or a row, got {describe(x)}")
        if name in ("gain", "weight") and (x is None or (is_numeric(x) and (np.asarray(x) < 0.0).any())):
            raise ModelError(f"{name} of {self.name} must not be negative, got {describe(x)}")
        return x

    def check_goal(self, goal: Any) -> None:  # noqa: B027 (for most goals any numbers will do)
        """Check numbers of the right shape as a goal, such as a pose.

        Args:
            goal: One or many goals, of any kind of number.

        Raises:
            ModelError: The numbers are not a goal.
        """

    def check(self, model: Model) -> None:
        """Check that the task fits a robot.

        Args:
            model: Robot.

        Raises:
            ModelError: A place is unknown, or a goal, velocity or mask has another shape.
        """
        check_model(model)
        shape, size = self.goal_shape(model), self.size(model)
        if self.aim is not None and (shape_of(self.aim) or ())[-len(shape) :] != shape:
            raise ModelError(f"goal of {self.name} must have shape {shape}, got {shape_of(self.aim)}")
        for name in ("velocity", "acceleration", "gain", "weight"):
            x = getattr(self, name)
            if x is not None and shape_of(x) not in ((), (size,)):
                raise ModelError(f"{name} of {self.name} must have shape ({size},), got {shape_of(x)}")
        if self.mask is not None and len(self.mask) != size:
            raise ModelError(f"mask of {self.name} must have {size} entries, got {len(self.mask)}")

    def rows(self, model: Model) -> int:
        """Number of rows that the mask keeps.

        Args:
            model: Robot.

        Returns:
            Number of rows of :meth:`demand`.
        """
        return self.size(model) if self.mask is None else sum(self.mask)

    def demand(self, model: Model, state: State) -> Demand:
        """Desired velocity and acceleration at a state, with error, Jacobian, bias and weights.

        Args:
            model: Robot.
            state: Configuration and velocity.

        Returns:
            Rows that the mask keeps.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.planar_arm()
            >>> up = fc.control.PositionTask("end_effector", [0.0, 0.0, 3.5], gain=2.0, mask=(True, False, True))
            >>> up.demand(arm, arm.neutral()).velocity  # at (0, 0, 4) it should come down with 2 * 0.5 m/s
            array([ 0., -1.])
        """
        check_fields(model, state)
        self.check(model)
        error, J, bias = self.motion(model, state)
        size = self.size(model)
        v, a, gain, weight = (_all(x, size) for x in (self.velocity, self.acceleration, self.gain, self.weight))
        rate = J @ state.velocity
        wanted = a + 2.0 * self.ratio * gain * (v - rate) + gain * gain * error
        return masked(Demand(error, J, bias, v + gain * error, wanted, weight), self.mask)

    def force_demand(self, model: Model, state: State, contacts: Sequence[str]) -> ForceDemand | None:
        """Desired contact forces at a state, for force tasks.

        Args:
            model: Robot.
            state: Configuration and velocity.
            contacts: Names of all contacts.

        Returns:
            Rows on the forces of all contacts; None for tasks that ask for motion.
        """
        return None

    # code and numbers -----------------------------------------------------------------------------------------

    @cached_property
    def form(self) -> Self:
        """Task without its numbers: the constants of compiled code, equal where the same code can be used."""
        bare = object.__new__(type(self))
        for field in fields(self):
            x = getattr(self, field.name)
            kept = None if x is None else () if field.name in self.numbers else x
            object.__setattr__(bare, field.name, kept)
        return bare

    def number_shapes(self, model: Model) -> dict[str, tuple[int, ...]]:
        """Shapes of the :attr:`numbers` that the task has.

        Args:
            model: Robot.

        Returns:
            Shape by name, in the order of :attr:`numbers`.
        """
        size = (self.size(model),)
        shapes = dict.fromkeys(self.numbers, size) | {"goal": self.goal_shape(model)}
        return {name: shapes[name] for name in self.numbers if getattr(self, name) is not None}

    def packed(self, model: Model) -> FloatArray:
        """Numbers of the task in one array, read-only.

        Args:
            model: Robot.

        Returns:
            Numbers (count), or (goals x count) where there are many goals.
        """
        known = vars(self).get(_PACKED)
        if known is None or known[0] is not model:
            known = vars(self)[_PACKED] = (model, constant(self._in_a_row(model)))
        return known[1]

    def is_packed_for(self, model: Model) -> bool:
        """True if :meth:`packed` was called for this robot, with one goal.

        Args:
            model: Robot.

        Returns:
            True where the task was checked before.
        """
        known = vars(self).get(_PACKED)
        return known is not None and known[0] is model and known[1].ndim == 1

    def _in_a_row(self, model: Model) -> np.ndarray:
        parts: list[np.ndarray] = []
        lead: tuple[int, ...] = ()
        for name, shape in self.number_shapes(model).items():
            x = getattr(self, name)
            if not isinstance(x, np.ndarray):
                x = np.full(shape, x)
            elif x.ndim > len(shape):
                lead = x.shape[: x.ndim - len(shape)]
            size = int(np.prod(shape, dtype=int))
            parts.append(x.reshape(*x.shape[: x.ndim - len(shape)], size) if x.ndim > 1 else x)
        if lead:
            parts = [np.broadcast_to(part, (*lead, part.shape[-1])) for part in parts]
        return np.concatenate(parts, axis=-1)

    def __getstate__(self) -> dict[str, Any]:
        """Fields without caches."""
        return {name: x for name, x in vars(self).items() if name not in (_PACKED, "form")}

    def filled(self, model: Model, numbers: Vector) -> Self:
        """Task of this form with :meth:`packed` numbers.

        Args:
            model: Robot.
            numbers: Numbers (count) of any kind.

        Returns:
            Task with these numbers.
        """
        found, start = object.__new__(type(self)), 0
        for field in fields(self):
            object.__setattr__(found, field.name, getattr(self, field.name))
        for name, shape in self.number_shapes(model).items():
            end = start + int(np.prod(shape, dtype=int))
            object.__setattr__(found, name, numbers[start:end].reshape(shape))
            start = end
        return found

    def replaced(self, **changes: Any) -> Self:
        """Task with other numbers: ``task.replaced(goal=H)``.

        Args:
            **changes: New values of fields.

        Returns:
            A copy with these fields.
        """
        return dataclasses.replace(self, **changes)

    @property
    def key(self) -> tuple[Any, ...] | None:
        """Key of prepared solvers: all but the goal.

        None where rows have numbers of their own, or where there is no single goal.
        """
        rows = [getattr(self, name) for name in self.numbers if name != "goal"]
        usual = type(self.aim) is np.ndarray and type(self).check is Task.check
        usual = usual and all(x is None or type(x) is float for x in rows)
        return (type(self), self._said, self.aim.shape, *rows) if usual else None

    @property
    def _said(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in _said_names(type(self))])

    def __eq__(self, other: object) -> bool:
        """True for tasks of one class with equal fields."""
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.numbers)
        return self._said == other._said and all(a is b or np.array_equal(a, b) for a, b in pairs)

    def __hash__(self) -> int:
        """Hash of class and constants; numbers are left out."""
        return hash((type(self), self._said))


@cache
def _said_names(kind: type[Task]) -> tuple[str, ...]:
    """Names of the fields that are constants of compiled code."""
    return tuple(field.name for field in fields(kind) if field.name not in kind.numbers)


def packed(model: Model, tasks: Sequence[Task]) -> FloatArray:
    """Numbers of several tasks in one array, ``(..., count)``."""
    parts = [task.packed(model) for task in tasks]
    if len(parts) == 1:
        return parts[0].copy()
    if all(part.ndim == 1 for part in parts):
        return np.concatenate([np.zeros(0), *parts])
    lead = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.zeros((*lead, 0)), *(np.broadcast_to(x, (*lead, x.shape[-1])) for x in parts)], axis=-1)


def filled(model: Model, forms: Sequence[Task], numbers: Vector) -> list[Task]:
    """Tasks of these forms with numbers of :func:`packed`."""
    tasks, start = [], 0
    for form in forms:
        end = start + count(model, (form,))
        tasks.append(form.filled(model, numbers[start:end]))
        start = end
    return tasks


def count(model: Model, forms: Sequence[Task]) -> int:
    """Number of entries of :func:`packed`."""
    return sum(int(np.prod(shape, dtype=int)) for form in forms for shape in form.number_shapes(model).values())


def example(model: Model, forms: Sequence[Task]) -> np.ndarray:
    """Numbers that :func:`filled` takes: goals that are matrices are the identity, which every group has."""
    shapes = [shape for form in forms for shape in form.number_shapes(model).values()]
    parts = [np.eye(shape[0]) if len(shape) == 2 else np.full(shape, 0.5) for shape in shapes]
    return np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])


def check_poses(goal: Any, what: str) -> None:
    """Raise an error unless numbers are one or many poses (..., 4, 4); other kinds of number are not checked."""
    if not is_numeric(goal):
        return
    goal = np.asarray(goal)
    if goal.shape[-2:] != (4, 4):
        raise ModelError(f"{what} must be a pose (4 x 4), got {describe(goal)}")
    if goal.ndim == 2 and _is_pose(goal.tolist()):
        return
    wrong = _crooked(goal) > POSE_TOLERANCE
    if wrong.any():
        which = "" if goal.ndim == 2 else f" at index {int(np.argmax(wrong))}"
        raise ModelError(f"{what}{which} must be a pose [R p; 0 1] with a rotation R")


def _is_pose(rows: list[list[float]]) -> bool:
    """True for one pose; floats are faster than arrays for a single one."""
    (a, b, c, _), (d, e, f, _), (g, h, i, _), last = rows
    off = max(map(abs, _apart(a, b, c, d, e, f, g, h, i)))
    return off <= POSE_TOLERANCE and last == [0.0, 0.0, 0.0, 1.0]


def _crooked(goal: np.ndarray) -> np.ndarray:
    """Deviations (...) from poses."""
    parts = _apart(*(goal[..., i, k] for i in range(3) for k in range(3)))
    last = goal[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])
    return np.maximum(np.abs(last).max(axis=-1), np.abs(parts).max(axis=0))


def _apart(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any) -> tuple[Any, ...]:
    """Deviations from a rotation, whose first row is the cross product of the others, which are orthonormal."""
    product = (a - (e * i - f * h), b - (f * g - d * i), c - (d * h - e * g))
    return *product, d * d + e * e + f * f - 1.0, g * g + h * h + i * i - 1.0, d * g + e * h + f * i


def check_rotations(goal: Any, what: str) -> None:
    """Raise an error unless numbers are rotations (..., 3, 3), see :func:`check_poses`."""
    if is_numeric(goal):
        goal = np.asarray(goal)
        if goal.shape[-2:] != (3, 3):
            raise ModelError(f"{what} must be a rotation (3 x 3), got {describe(goal)}")
        poses = np.broadcast_to(SE3().identity(), (*goal.shape[:-2], 4, 4)).copy()
        poses[..., :3, :3] = goal
        check_poses(poses, what)


def as_numbers(x: Any, what: str) -> Any:
    """Number or array of any kind of number, of moderate size if its value is known; None stays."""
    if x is None or is_moderate(x):
        return x
    if isinstance(x, (list, tuple, range)):
        try:
            x = np.array(x, dtype=float) if is_numeric(np.array(x)) else array(x)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"{what} must be made of numbers, got {describe(x)}") from None
    if not (hasattr(x, "__mul__") and holds_numbers(x)) or callable(x) or isinstance(x, (str, bytes)):
        raise ModelError(f"{what} must be made of numbers, got {describe(x)}")
    if not is_numeric(x):
        return x
    if np.asarray(x).dtype.kind not in "fiub" or not (np.abs(np.asarray(x, dtype=float)) <= LARGEST).all():
        raise ModelError(f"{what} must be real, finite and at most {LARGEST:g}, got {describe(x)}")
    return np.asarray(x, dtype=float) if np.ndim(x) else float(x)


def is_moderate(x: Any) -> bool:
    """True for plain floats that :func:`as_numbers` leaves unchanged; a quick test."""
    if type(x) is not np.ndarray or x.dtype != float or not x.ndim:
        return False
    flat = x.ravel()
    return bool(flat.dot(flat) <= LARGEST)  # not if one is no number


def _mask(given: Any, name: str) -> tuple[bool, ...]:
    """True or False for each row."""
    rows = (
        list(given) if isinstance(given, (tuple, list)) or (isinstance(given, np.ndarray) and given.ndim == 1) else []
    )
    if not all(isinstance(x, (bool, int, float, np.number, np.bool_)) and x in (0, 1) for x in rows) or not any(rows):
        raise ModelError(
            f"mask of {name} must be True or False for each row, True at least once, got {describe(given)}"
        )
    return tuple(bool(x) for x in rows)


def _all(x: Any, size: int) -> Any:
    """One number for each row."""
    return np.zeros(size) if x is None else x + np.zeros(size) if shape_of(x) == () else x


def stacked(parts: Sequence[Any], empty: tuple[int, ...]) -> Any:
    """Parts under each other; none at all gives zeros of the shape ``empty``."""
    return concatenate(list(parts)) if parts else np.zeros(empty)
