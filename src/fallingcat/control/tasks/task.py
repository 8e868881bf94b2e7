"""Base class for tasks: goal, feed-forward motion and weight of a quantity, with its Jacobian."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from ..._deprecated import former_attribute, former_methods
from ...arrays import is_numeric
from ...arrays.arguments import shape_of
from ...arrays.types import FloatArray, Scalar, Vector, Vector_3
from ...caching import cached_property
from ...dynamics.checks import check_fields, check_model
from ...errors import ModelError, describe
from ...lie.group import constant
from ...model import Frame, Model, State
from .demand import Demand, ForceDemand, Motion, mask_rows
from .goals import MAX_NUMBER, as_mask, as_numbers, is_moderate

_PACKED_ATTRIBUTE = "_packed"
"""Attribute with the packed numbers of a task and their robot; a task never changes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(ABC):
    """Base class for tasks: a quantity that moves to a goal, at a rate, with a weight.

    Write your own as a frozen dataclass (``eq=False``) with a field ``goal`` (None: it stays, or moves with
    ``velocity``), :meth:`goal_shape`, :meth:`size`, :meth:`value` and :meth:`motion`, for every kind of number.  Its
    :attr:`numbers` may change from call to call without new code; all other fields are constants of compiled code.

    Example:
        >>> import fallingcat as fc
        >>> @dataclass(frozen=True, eq=False)
        ... class Height(Task):
        ...     link: str
        ...     goal: float | None = None  # m
        ...     def goal_shape(self, model):
        ...         return (1,)
        ...     def size(self, model):
        ...         return 1
        ...     def value(self, model, state):
        ...         return fc.link_pose(model, state, self.link)[2:3, 3]
        ...     def motion(self, model, state):
        ...         J = fc.jacobian(model, state, self.link, "mixed")[2:3]
        ...         bias = fc.dynamics.jacobian_derivative(model, state, self.link, "mixed")[2:3] @ state.velocity
        ...         return Motion(self.goal - self.value(model, state), J, bias)
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
    def value(self, model: Model, state: State) -> Any:
        """Goal that is reached at a state.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Array of the shape :meth:`goal_shape`.
        """

    def goal_point(self) -> tuple[str, Vector_3, Vector_3] | None:
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

    here, spot = former_attribute("here", "value"), former_attribute("spot", "goal_point")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        former_methods(cls, {"here": "value", "spot": "goal_point"})

    # common to all tasks ---------------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        """Check the fields, and turn lists of numbers into arrays."""
        for name in ("link", "place", "other"):
            if not isinstance(vars(self).get(name, ""), (str, Frame)):
                which = f"{name} of {type(self).__name__}"
                raise ModelError(f"{which} must be the name of a link or frame, got {describe(vars(self)[name])}")
        for name in ("velocity", "acceleration", "gain", "weight"):
            x, optional = getattr(self, name), name in ("velocity", "acceleration")
            if not (x is None and optional) and (type(x) is not float or not 0.0 <= x <= MAX_NUMBER):
                object.__setattr__(self, name, self._row(name, x))
        if self.aim is not None:
            goal = self.aim.copy() if is_moderate(self.aim) else as_numbers(self.aim, f"goal of {self.name}")
            object.__setattr__(self, "goal", goal)
            self.check_goal(goal)
        if self.mask is not None:
            object.__setattr__(self, "mask", as_mask(self.mask, self.name))
        if (
            not isinstance(self.ratio, (int, float))
            or isinstance(self.ratio, bool)
            or not 0.0 <= self.ratio <= MAX_NUMBER
        ):
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
            ModelError: A link is unknown, or a goal, velocity or mask has another shape.
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
        v, a, gain, weight = (_one_per_row(x, size) for x in (self.velocity, self.acceleration, self.gain, self.weight))
        rate = J @ state.velocity
        wanted = a + 2.0 * self.ratio * gain * (v - rate) + gain * gain * error
        return mask_rows(Demand(error, J, bias, v + gain * error, wanted, weight), self.mask)

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
        known = vars(self).get(_PACKED_ATTRIBUTE)
        if known is None or known[0] is not model:
            known = vars(self)[_PACKED_ATTRIBUTE] = (model, constant(self._in_a_row(model)))
        return known[1]

    def is_packed_for(self, model: Model) -> bool:
        """True if :meth:`packed` was called for this robot, with one goal.

        Args:
            model: Robot.

        Returns:
            True where the task was checked before.
        """
        known = vars(self).get(_PACKED_ATTRIBUTE)
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
        return {name: x for name, x in vars(self).items() if name not in (_PACKED_ATTRIBUTE, "form")}

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
        return (type(self), self._description, self.aim.shape, *rows) if usual else None

    @property
    def _description(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in _described_fields(type(self))])

    def __eq__(self, other: object) -> bool:
        """True for tasks of one class with equal fields."""
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.numbers)
        return self._description == other._description and all(a is b or np.array_equal(a, b) for a, b in pairs)

    def __hash__(self) -> int:
        """Hash of class and constants; numbers are left out."""
        return hash((type(self), self._description))


@cache
def _described_fields(kind: type[Task]) -> tuple[str, ...]:
    """Names of the fields that are constants of compiled code."""
    return tuple(field.name for field in fields(kind) if field.name not in kind.numbers)


def _one_per_row(x: Any, size: int) -> Any:
    """One number for each row."""
    return np.zeros(size) if x is None else x + np.zeros(size) if shape_of(x) == () else x
