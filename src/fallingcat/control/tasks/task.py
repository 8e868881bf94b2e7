"""What every task is: something that should move in a certain way, and how that depends on the motion of the robot."""

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
from ...caching import cached_property
from ...dynamics.checks import check_fields, check_model
from ...errors import ModelError, describe
from ...lie import SE3
from ...lie.group import constant
from ...model import Frame, Model, State
from ...model.states import POSE_TOLERANCE
from ...records import concise

LARGEST = 1e100
"""Of the numbers of a task: their products stay finite."""
D = TypeVar("D", "Demand", "ForceDemand")
_PACKED = "_packed"
"""Where a task remembers its numbers in a row, and for which robot: it never changes."""


class Motion(NamedTuple):
    """A task at a state, all rows: ``J v`` should become what brings ``error`` to zero."""

    error: Any
    """``rows``: where it should be, seen from where it is, by the group logarithm (m, rad)"""
    J: Any
    """``rows x nv``: its velocity is ``J [twist; rates]``"""
    bias: Any
    """``rows``: ``dJ/dt v``, its acceleration at constant quasi-velocity"""


@concise
class Demand(NamedTuple):
    """What a task asks for at a state, on the rows that its mask keeps; every kind of number."""

    error: Any
    """``rows`` (m, rad)"""
    J: Any
    """``rows x nv``"""
    bias: Any
    """``rows``: ``dJ/dt v``"""
    velocity: Any
    """``rows``: ``J v`` should be this, ``velocity + gain error`` ([ETH] (2.257), (2.258))"""
    acceleration: Any
    """``rows``: ``J a + bias`` should be this, ``acceleration + 2 ratio gain (velocity - J v) + gain^2 error``:
    errors then decay critically damped, with the same ``gain``, for a ratio of 1"""
    weight: Any
    """``rows``: of the squares of what is missed, beside other tasks of the same priority"""


class ForceDemand(NamedTuple):
    """What a task asks of contact forces at a state, on the rows that its mask keeps."""

    rows: Any
    """``rows x 3 contacts``: on the forces of all contacts, along the world's axes"""
    force: Any
    """``rows`` (N, N m)"""
    weight: Any
    """``rows``"""


def masked(demand: D, mask: tuple[bool, ...] | None) -> D:
    """The rows that a mask keeps."""
    return demand if mask is None else type(demand)(*(x[np.flatnonzero(mask)] for x in demand))


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(ABC):
    """Something that should move in a certain way: a goal, how fast to go there, and how much it counts.

    Write your own as a frozen dataclass (``eq=False``) with a field ``goal`` (None: it stays where it is, or moves with
    ``velocity``), :meth:`goal_shape`, :meth:`size`, :meth:`here` and :meth:`motion`, on every kind of number.
    Its :attr:`numbers` may change from call to call without new code; all else is what code is made for.
    """

    velocity: Any = None
    """feed-forward, of all rows (m/s, rad/s); None: zero"""
    acceleration: Any = None
    """feed-forward, of all rows (m/s^2, rad/s^2); None: zero"""
    gain: Any = 1.0
    """1/s, one or one for each row: an error decays as ``exp(-gain t)``"""
    weight: Any = 1.0
    """one or one for each row, not negative"""
    mask: tuple[bool, ...] | None = None
    """which rows count; None: all"""
    ratio: float = 1.0
    """of accelerations: damping over critical damping, [ETH] (3.80)"""

    of_forces: ClassVar[bool] = False
    """whether it asks for contact forces, by :meth:`force_demand`, instead of motion"""
    numbers: ClassVar[tuple[str, ...]] = ("goal", "velocity", "acceleration", "gain", "weight")

    # what a kind of task says ---------------------------------------------------------------------------------

    @abstractmethod
    def goal_shape(self, model: Model) -> tuple[int, ...]:
        """The shape of its goal."""

    @abstractmethod
    def size(self, model: Model) -> int:
        """How many rows it has, before its mask."""

    @abstractmethod
    def motion(self, model: Model, state: State) -> Motion:
        """Error, Jacobian and bias, before its mask; without a goal the error is zero."""

    @abstractmethod
    def here(self, model: Model, state: State) -> Any:
        """The goal that it has reached at a state."""

    def spot(self) -> tuple[str, Any, Any] | None:
        """A link or frame, a point on it (3) and where its goal takes that (3), if it is about all of a position."""
        return None

    @property
    def name(self) -> str:
        """How reports and errors call it."""
        return type(self).__name__

    @property
    def aim(self) -> Any:
        """Its goal, or None."""
        return vars(self)["goal"]

    # what all have in common ----------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        for name in ("place", "other"):
            if not isinstance(vars(self).get(name, ""), (str, Frame)):
                which = f"{name} of {type(self).__name__}"
                raise ModelError(f"{which} is the name of a link or frame, not {describe(vars(self)[name])}")
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
            raise ModelError(f"ratio of {self.name} is a number, finite and not negative, not {describe(self.ratio)}")

    def _row(self, name: str, x: Any) -> Any:
        """What was given for one of the numbers that may be one for each row, checked."""
        x = as_numbers(x, f"{name} of {self.name}")
        if len(shape_of(x) or ()) > 1:
            raise ModelError(f"{name} of {self.name} is one number or a row, not {describe(x)}")
        if name in ("gain", "weight") and (x is None or (is_numeric(x) and (np.asarray(x) < 0.0).any())):
            raise ModelError(f"{name} of {self.name} is not negative, not {describe(x)}")
        return x

    def check_goal(self, goal: Any) -> None:  # noqa: B027 (for most goals any numbers will do)
        """Raises where numbers of the right shape are no goal: a pose that is none."""

    def check(self, model: Model) -> None:
        """Raises where the task does not fit ``model``: an unknown place, a goal, velocity or mask of another shape."""
        check_model(model)
        shape, size = self.goal_shape(model), self.size(model)
        if self.aim is not None and (shape_of(self.aim) or ())[-len(shape) :] != shape:
            raise ModelError(f"goal of {self.name} has shape {shape}, not {shape_of(self.aim)}")
        for name in ("velocity", "acceleration", "gain", "weight"):
            x = getattr(self, name)
            if x is not None and shape_of(x) not in ((), (size,)):
                raise ModelError(f"{name} of {self.name} has shape ({size},), not {shape_of(x)}")
        if self.mask is not None and len(self.mask) != size:
            raise ModelError(f"mask of {self.name} has {size} entries, not {len(self.mask)}")

    def rows(self, model: Model) -> int:
        """How many rows its mask keeps."""
        return self.size(model) if self.mask is None else sum(self.mask)

    def demand(self, model: Model, state: State) -> Demand:
        """What it asks for at a state.

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
        """What it asks of the forces of ``contacts``; None for tasks that ask for motion."""
        return None

    # code and numbers -----------------------------------------------------------------------------------------

    @cached_property
    def form(self) -> Self:
        """The task without its numbers: what code is compiled for; equal where it can be the same code."""
        bare = object.__new__(type(self))
        for field in fields(self):
            x = getattr(self, field.name)
            kept = None if x is None else () if field.name in self.numbers else x
            object.__setattr__(bare, field.name, kept)
        return bare

    def number_shapes(self, model: Model) -> dict[str, tuple[int, ...]]:
        """The shape of each of :attr:`numbers` that it has."""
        size = (self.size(model),)
        shapes = dict.fromkeys(self.numbers, size) | {"goal": self.goal_shape(model)}
        return {name: shapes[name] for name in self.numbers if getattr(self, name) is not None}

    def packed(self, model: Model) -> np.ndarray:
        """All numbers one after the other, read-only; a goal may be one of many, ``(count, ...)``."""
        known = vars(self).get(_PACKED)
        if known is None or known[0] is not model:
            known = vars(self)[_PACKED] = (model, constant(self._in_a_row(model)))
        return known[1]

    def is_packed_for(self, model: Model) -> bool:
        """Whether its numbers were asked for by this robot already, and are those of one goal."""
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
        return {name: x for name, x in vars(self).items() if name not in (_PACKED, "form")}

    def filled(self, model: Model, numbers: Any) -> Self:
        """The task of this form with these :meth:`packed` numbers, of any kind."""
        found, start = object.__new__(type(self)), 0
        for field in fields(self):
            object.__setattr__(found, field.name, getattr(self, field.name))
        for name, shape in self.number_shapes(model).items():
            end = start + int(np.prod(shape, dtype=int))
            object.__setattr__(found, name, numbers[start:end].reshape(shape))
            start = end
        return found

    def replaced(self, **changes: Any) -> Self:
        """The same task with other numbers: ``task.replaced(goal=H)``."""
        return dataclasses.replace(self, **changes)

    @property
    def key(self) -> tuple[Any, ...] | None:
        """What a prepared solver is kept by: all but the goal; None where rows have numbers of their own, or where
        there is no single goal.
        """
        rows = [getattr(self, name) for name in self.numbers if name != "goal"]
        usual = type(self.aim) is np.ndarray and type(self).check is Task.check
        usual = usual and all(x is None or type(x) is float for x in rows)
        return (type(self), self._said, self.aim.shape, *rows) if usual else None

    @property
    def _said(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in _said_names(type(self))])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.numbers)
        return self._said == other._said and all(a is b or np.array_equal(a, b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((type(self), self._said))


@cache
def _said_names(kind: type[Task]) -> tuple[str, ...]:
    """The fields that are no numbers."""
    return tuple(field.name for field in fields(kind) if field.name not in kind.numbers)


def packed(model: Model, tasks: Sequence[Task]) -> np.ndarray:
    """The numbers of several tasks one after the other, ``(..., count)``."""
    parts = [task.packed(model) for task in tasks]
    if len(parts) == 1:
        return parts[0].copy()
    if all(part.ndim == 1 for part in parts):
        return np.concatenate([np.zeros(0), *parts])
    lead = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.zeros((*lead, 0)), *(np.broadcast_to(x, (*lead, x.shape[-1])) for x in parts)], axis=-1)


def filled(model: Model, forms: Sequence[Task], numbers: Any) -> list[Task]:
    """The inverse of :func:`packed`."""
    tasks, start = [], 0
    for form in forms:
        end = start + count(model, (form,))
        tasks.append(form.filled(model, numbers[start:end]))
        start = end
    return tasks


def count(model: Model, forms: Sequence[Task]) -> int:
    """How many numbers :func:`packed` holds."""
    return sum(int(np.prod(shape, dtype=int)) for form in forms for shape in form.number_shapes(model).values())


def example(model: Model, forms: Sequence[Task]) -> np.ndarray:
    """Numbers that :func:`filled` takes: goals that are matrices are the identity, which every group has."""
    shapes = [shape for form in forms for shape in form.number_shapes(model).values()]
    parts = [np.eye(shape[0]) if len(shape) == 2 else np.full(shape, 0.5) for shape in shapes]
    return np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])


def check_poses(goal: Any, what: str) -> None:
    """An error unless these numbers are one or many poses (..., 4, 4); other kinds of number are not looked at."""
    if not is_numeric(goal):
        return
    goal = np.asarray(goal)
    if goal.shape[-2:] != (4, 4):
        raise ModelError(f"{what} is a pose (4 x 4), not {describe(goal)}")
    if goal.ndim == 2 and _is_pose(goal.tolist()):
        return
    wrong = _crooked(goal) > POSE_TOLERANCE
    if wrong.any():
        which = "" if goal.ndim == 2 else f" at index {int(np.argmax(wrong))}"
        raise ModelError(f"{what}{which} is no pose: [R p; 0 1] with a rotation R is one")


def _is_pose(rows: list[list[float]]) -> bool:
    """Plain numbers are faster than arrays for a single one."""
    (a, b, c, _), (d, e, f, _), (g, h, i, _), last = rows
    off = max(map(abs, _apart(a, b, c, d, e, f, g, h, i)))
    return off <= POSE_TOLERANCE and last == [0.0, 0.0, 0.0, 1.0]


def _crooked(goal: np.ndarray) -> np.ndarray:
    """How far (...) from poses these are."""
    parts = _apart(*(goal[..., i, k] for i in range(3) for k in range(3)))
    last = goal[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])
    return np.maximum(np.abs(last).max(axis=-1), np.abs(parts).max(axis=0))


def _apart(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any) -> tuple[Any, ...]:
    """Of the rows of a rotation the first is the product of the others, which have length 1, across each other."""
    product = (a - (e * i - f * h), b - (f * g - d * i), c - (d * h - e * g))
    return *product, d * d + e * e + f * f - 1.0, g * g + h * h + i * i - 1.0, d * g + e * h + f * i


def check_rotations(goal: Any, what: str) -> None:
    """:func:`check_poses` for rotations (..., 3, 3)."""
    if is_numeric(goal):
        goal = np.asarray(goal)
        if goal.shape[-2:] != (3, 3):
            raise ModelError(f"{what} is a rotation (3 x 3), not {describe(goal)}")
        poses = np.broadcast_to(SE3().identity(), (*goal.shape[:-2], 4, 4)).copy()
        poses[..., :3, :3] = goal
        check_poses(poses, what)


def as_numbers(x: Any, what: str) -> Any:
    """``x`` as a number or an array of any kind of number, of moderate size if it can be looked at; None stays."""
    if x is None or is_moderate(x):
        return x
    if isinstance(x, (list, tuple, range)):
        try:
            x = np.array(x, dtype=float) if is_numeric(np.array(x)) else array(x)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"{what} is made of numbers, not {describe(x)}") from None
    if not (hasattr(x, "__mul__") and holds_numbers(x)) or callable(x) or isinstance(x, (str, bytes)):
        raise ModelError(f"{what} is made of numbers, not {describe(x)}")
    if not is_numeric(x):
        return x
    if np.asarray(x).dtype.kind not in "fiub" or not (np.abs(np.asarray(x, dtype=float)) <= LARGEST).all():
        raise ModelError(f"{what} holds a number that is not real, or not finite, or above {LARGEST:g}: {describe(x)}")
    return np.asarray(x, dtype=float) if np.ndim(x) else float(x)


def is_moderate(x: Any) -> bool:
    """Whether these are plain floats that :func:`as_numbers` would leave as they are, seen at a glance."""
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
        raise ModelError(f"mask of {name} says True or False for each row, True at least once, not {describe(given)}")
    return tuple(bool(x) for x in rows)


def _all(x: Any, size: int) -> Any:
    """One number for each row."""
    return np.zeros(size) if x is None else x + np.zeros(size) if shape_of(x) == () else x


def stacked(parts: Sequence[Any], empty: tuple[int, ...]) -> Any:
    """Parts under each other; none at all gives zeros of the shape ``empty``."""
    return concatenate(list(parts)) if parts else np.zeros(empty)
