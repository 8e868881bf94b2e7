"""Optimal control problems: steps of a simulation as dynamics, costs and constraints as plain functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.arguments import shape_of
from ..arrays.types import FloatArray
from ..caching import cached_property
from ..compiler import compile
from ..dynamics.checks import check_fields, positive
from ..errors import ModelError, NumericsError, describe
from ..model import Model, State
from ..model.states import check_record
from ..records import concise
from ..simulation.steps.step_derivatives import StepDerivatives
from .phases import ContactPhases
from .stepping import PhaseSteps, SimulationSteps, Stepping
from .terms import Term, Values, penalized_terms, quadratic_terms, term_values

MAX_NUMBERS = 500_000_000
"""Data and derivatives of all nodes: 4 GB"""


@concise
@dataclass(frozen=True)
class Problem:
    """Minimize ``sum |residual|^2 / 2`` over the joint forces of ``steps`` steps of a simulation.

    Costs and constraints are functions ``term(model, state, forces, data)`` of a node; nobody writes a derivative of
    them, nor of the dynamics, which are the steps of the library's simulator, with or without contact, or steps with
    given contacts.  Constraints hold at every node but the start; those of ``final`` terms at the last one, where there
    are no forces.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
        >>> def effort(model, state, forces, data):
        ...     return 0.1 * forces
        >>> def reach(model, state, forces, data):
        ...     return fc.arrays.concatenate([10.0 * (state.joints - data), state.rates])
        >>> goal = np.array([1.0, -0.5, 0.3])
        >>> problem = fc.optimal.Problem(step, arm.neutral(), steps=40, cost=effort, final_cost=reach, data=goal)
        >>> found = fc.optimal.solve(problem)
        >>> found.status.name, found.states.joints.shape
        ('CONVERGED', (41, 3))
    """

    dynamics: StepDerivatives | ContactPhases
    """:func:`fallingcat.simulation.step_derivatives` with joint forces, for ``cpu``; or :class:`.ContactPhases`"""
    start: State
    steps: int | None = None
    """number of steps; None: those of :class:`.ContactPhases`"""
    cost: Term | None = None
    """residual of a node with forces"""
    final_cost: Term | None = None
    """residual of the last node"""
    equality: Term | None = None
    """``= 0`` at every node with forces but the start"""
    inequality: Term | None = None
    """``<= 0`` at every node with forces but the start"""
    final_equality: Term | None = None
    """``= 0`` at the last node"""
    force_limits: tuple[Any, Any] | None = None
    """smallest and largest joint forces (n; N m or N); None: the drives' limits, ``model.limits``"""
    data: Any = None
    """numbers for the terms: ``k``, or ``(steps + 1) x k`` for each node its own"""
    final_inequality: Term | None = None
    """``<= 0`` at the last node"""
    time_weight: float = 0.0
    """cost of a second, where phases have free times"""

    def __post_init__(self) -> None:
        """Check the fields."""
        object.__setattr__(self, "steps", self._step_count())
        check_record(self.model, self.start)
        if self.start.batch or not all(np.isfinite(part).all() for part in self.start):
            raise ModelError(f"start must be one finite state of {self.model.name!r}, got {self.start}")
        for name in ("cost", "final_cost", "equality", "inequality", "final_equality", "final_inequality"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                rule = f"{name} must be a function (model, state, forces, data)"
                raise ModelError(f"{rule}, got {describe(getattr(self, name))}")
        positive(self.time_weight, "time_weight", zero=True)
        if self.cost is None and self.final_cost is None and not self.time_weight:
            raise ModelError("a problem must have a cost or a final_cost")
        low, high = self.limits
        if (low > high).any():
            joint = self.model.rate_joints[int(np.argmax(low > high))]
            raise ModelError(f"force_limits of joint {joint!r} exclude every force")
        _ = self.node_data

    def _step_count(self) -> int:
        """Number of steps."""
        dynamics, steps = self.dynamics, self.steps
        if isinstance(dynamics, ContactPhases):
            if steps not in (None, dynamics.steps):
                raise ModelError(f"the phases have {dynamics.steps} steps, not {describe(steps)}")
            return dynamics.steps
        if not isinstance(dynamics, StepDerivatives) or dynamics.target != "cpu":
            rule = "dynamics must be fc.simulation.step_derivatives(...) for the target 'cpu', or ContactPhases"
            raise ModelError(f"{rule}, not {describe(dynamics)}")
        strange = [name for name in dynamics.arguments if name not in ("q", "v", "memory", "forces")]
        if strange or "forces" not in dynamics.arguments:
            said = describe(strange or "none")
            raise ModelError(f"steps of an optimal control problem take q, v, forces, not {said}")
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
            raise ModelError(f"steps must be a whole number of at least 1, got {describe(steps)}")
        return int(steps)

    # sizes ----------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """Robot."""
        return self.dynamics.model

    @cached_property
    def stepping(self) -> Stepping:
        """Dynamics as kernels on whole motions."""
        if isinstance(self.dynamics, ContactPhases):
            return PhaseSteps(self.dynamics)
        assert self.steps is not None
        return SimulationSteps(self.dynamics, self.steps)

    @cached_property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest joint forces (n)."""
        n = self.model.n
        if self.force_limits is None:
            own = dict(zip(self.model.joint_names, self.model.limits, strict=True))
            efforts = np.array([own[joint].effort for joint in self.model.rate_joints], dtype=float)
            return -efforts, efforts
        try:
            low, high = (np.broadcast_to(np.asarray(x, dtype=float), n).copy() for x in self.force_limits)
        except (TypeError, ValueError, OverflowError):
            said = describe(self.force_limits)
            raise ModelError(f"force_limits must be two vectors of {n} numbers, or two numbers, got {said}") from None
        if np.isnan(low).any() or np.isnan(high).any():
            raise ModelError("force_limits must be numbers, got NaN")
        return low, high

    @cached_property
    def node_data(self) -> FloatArray:
        """Numbers for the terms, ``(steps + 1) x k``."""
        assert self.steps is not None
        given = np.zeros(0) if self.data is None else self.data
        count = self.steps * ((np.size(given) if shape_of(given) else 0) + (2 * self.model.nv) ** 2)
        if count > MAX_NUMBERS:
            most = MAX_NUMBERS * 8 // 10**9
            raise ModelError(f"{describe(self.steps)} steps with data and derivatives take more than {most} GB")
        try:
            data = np.asarray("masked" if np.ma.isMaskedArray(given) else given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"data must be finite numbers, got {describe(self.data)}") from None
        if not np.isfinite(data).all():
            raise ModelError("data must be finite numbers")
        if data.ndim not in (1, 2):
            raise ModelError(f"data must be k numbers, or {self.steps + 1} x k, got {describe(self.data)}")
        if data.ndim == 2 and len(data) != self.steps + 1:
            raise ModelError(f"data must have {self.steps + 1} rows, one for each node, got {len(data)}")
        return np.broadcast_to(data, (self.steps + 1, data.shape[-1])).copy()

    # terms ----------------------------------------------------------------------------------------------------

    @property
    def terms(self) -> tuple[tuple[Term | None, ...], tuple[Term | None, ...]]:
        """Cost, equality and inequality of a node, and of the last one."""
        final = (self.final_cost, self.final_equality, self.final_inequality)
        return (self.cost, self.equality, self.inequality), final

    @cached_property
    def rows(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Numbers of equalities and inequalities of a node, and of the last one."""
        q, v = self.model.flatten(self.start)
        found: list[tuple[int, int]] = []
        for terms, data in zip(self.terms, (self.node_data[0], self.node_data[-1]), strict=True):
            with np.errstate(all="ignore"):  # what is not finite is named where it is
                values: Values = term_values(self.model, q, v, np.zeros(self.model.n), data, terms=terms)
            found.append((len(values.equality), len(values.inequality)))
        return found[0], found[1]

    @cached_property
    def node_terms(self) -> Any:
        """Kernel ``(q, v, forces, data, weight, shifts) ->`` :class:`.Quadratic`."""
        return self._compiled(quadratic_terms, 0)

    @cached_property
    def final_terms(self) -> Any:
        """The same for the last node."""
        return self._compiled(quadratic_terms, 1)

    @cached_property
    def node_cost(self) -> Any:
        """Cost with penalties alone of :attr:`node_terms`."""
        return self._compiled(penalized_terms, 0)

    @cached_property
    def final_node_cost(self) -> Any:
        """Cost with penalties alone of :attr:`final_terms`."""
        return self._compiled(penalized_terms, 1)

    def _compiled(self, function: Callable[..., Any], last: int, target: str = "cpu") -> Any:
        model = self.model
        inputs = {"q": model.nq, "v": model.nv, "forces": model.n, "data": self.node_data.shape[1]}
        inputs |= {"weight": 1, "shifts": sum(self.rows[last])}
        return compile(model, function, inputs=inputs, terms=self.terms[last], target=target)

    def _term_kernels(self, target: str = "cpu") -> tuple[Any, ...]:
        """:attr:`node_terms`, :attr:`final_terms`, :attr:`node_cost` and :attr:`final_node_cost` for any target."""
        if target == "cpu":
            return self.node_terms, self.final_terms, self.node_cost, self.final_node_cost
        kinds = itertools.product((quadratic_terms, penalized_terms), (0, 1))
        return tuple(self._compiled(function, last, target) for function, last in kinds)

    @cached_property
    def _targets(self) -> dict[str, Any]:
        return {}

    def _on(self, target: str) -> tuple[Stepping, tuple[Any, ...]]:
        """Steps and :meth:`_term_kernels` for a target, made once."""
        if target not in self._targets:
            self._targets[target] = (self.stepping.on(target), self._term_kernels(target))
        found: tuple[Stepping, tuple[Any, ...]] = self._targets[target]
        return found


def check_problem(problem: Any) -> None:
    """Raise an error unless this is a :class:`Problem`."""
    if not isinstance(problem, Problem):
        raise ModelError(f"problem must be a fc.optimal.Problem, got {describe(problem)}")


def check_count(x: Any, name: str) -> None:
    """Raise an error unless this is a whole number of at least 1."""
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < 1:
        raise ModelError(f"{name} must be a whole number of at least 1, got {describe(x)}")


def check_measured(model: Model, state: State) -> None:
    """Raise an error that names a measurement of another shape, or one that is not finite."""
    check_fields(model, state)
    for name, part in zip(State._fields, state, strict=True):
        if not np.isfinite(part).all():
            raise NumericsError(f"{name} of the measured state of {model.name!r} is not finite")
