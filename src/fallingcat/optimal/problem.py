"""Optimal control problems: steps of a simulation as dynamics, costs and constraints as plain functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import concatenate
from ..arrays.differentiate import linearized
from ..arrays.types import FloatArray, Matrix, Vector
from ..caching import cached_property
from ..compiler import compile
from ..errors import ModelError, describe
from ..model import Model, State
from ..records import concise
from ..simulation.step_derivatives import StepDerivatives

Term = Callable[..., Vector]
"""``term(model, state, forces, data) -> vector``, by NumPy or ``fallingcat.arrays``, for all kinds of number"""


@concise
@dataclass(frozen=True)
class Problem:
    """Minimize ``sum |residual|^2 / 2`` over the joint forces of ``steps`` steps of a simulation.

    Costs and constraints are functions ``term(model, state, forces, data)`` of a node; nobody writes a derivative of
    them, nor of the dynamics, which are the steps of the library's simulator, with or without contact.  Constraints
    hold at every node but the start; those of ``final`` terms at the last one, where there are no forces.

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

    dynamics: StepDerivatives
    """step and its derivatives: :func:`fallingcat.simulation.step_derivatives`, with joint forces, for ``cpu``"""
    start: State
    steps: int
    """number of steps"""
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

    def __post_init__(self) -> None:
        """MotionCheck the fields."""
        steps, dynamics = self.steps, self.dynamics
        if not isinstance(dynamics, StepDerivatives) or dynamics.target != "cpu":
            raise ModelError("dynamics must be fc.simulation.step_derivatives(...) for the target 'cpu'")
        known = ("q", "v", "memory", "forces")
        strange = [name for name in dynamics.arguments if name not in known]
        if strange or "forces" not in dynamics.arguments:
            raise ModelError(
                f"steps of an optimal control problem take q, v, forces, not {describe(strange or 'none')}"
            )
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
            raise ModelError(f"steps must be a whole number of at least 1, got {describe(steps)}")
        if self.cost is None and self.final_cost is None:
            raise ModelError("a problem must have a cost or a final_cost")
        low, high = self.limits
        if (low > high).any():
            joint = self.model.rate_joints[int(np.argmax(low > high))]
            raise ModelError(f"force_limits of joint {joint!r} exclude every force")
        _ = self.node_data

    # sizes ----------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """Robot."""
        return self.dynamics.model

    @cached_property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest joint forces (n)."""
        n = self.model.n
        if self.force_limits is None:
            own = dict(zip(self.model.joint_names, self.model.limits, strict=True))
            efforts = np.array([own[joint].effort for joint in self.model.rate_joints], dtype=float)
            return -efforts, efforts
        low, high = (np.broadcast_to(np.asarray(x, dtype=float), n).copy() for x in self.force_limits)
        if np.isnan(low).any() or np.isnan(high).any():
            raise ModelError("force_limits must be numbers, got NaN")
        return low, high

    @cached_property
    def node_data(self) -> FloatArray:
        """Numbers for the terms, ``(steps + 1) x k``."""
        data = np.zeros(0) if self.data is None else np.asarray(self.data, dtype=float)
        if not np.isfinite(data).all():
            raise ModelError("data must be finite numbers")
        if data.ndim == 2 and len(data) != self.steps + 1:
            raise ModelError(f"data must have {self.steps + 1} rows, one for each node, got {len(data)}")
        return np.broadcast_to(data, (self.steps + 1, data.shape[-1])).copy()

    # terms ----------------------------------------------------------------------------------------------------

    @cached_property
    def node_terms(self) -> Callable[..., Any]:
        """Kernel ``(q, v, forces, data) -> cost, equality, inequality``, each ``[value, by x, by u]`` by rows."""
        return self._compiled(linearized_terms, (self.cost, self.equality, self.inequality))

    @cached_property
    def final_terms(self) -> Callable[..., Any]:
        """The same for the last node: ``final_cost, final_equality``."""
        return self._compiled(linearized_terms, (self.final_cost, self.final_equality, None))

    @cached_property
    def node_values(self) -> Callable[..., Any]:
        """Values alone of :attr:`node_terms`."""
        return self._compiled(term_values, (self.cost, self.equality, self.inequality))

    @cached_property
    def final_values(self) -> Callable[..., Any]:
        """Values alone of :attr:`final_terms`."""
        return self._compiled(term_values, (self.final_cost, self.final_equality, None))

    def _compiled(self, function: Callable[..., Any], terms: tuple[Term | None, ...]) -> Callable[..., Any]:
        model = self.model
        inputs = {"q": model.nq, "v": model.nv, "forces": model.n, "data": self.node_data.shape[1]}
        kernel: Callable[..., Any] = compile(model, function, inputs=inputs, terms=terms)
        return kernel


def term_values(
    model: Model, q: Vector, v: Vector, forces: Vector, data: Vector, *, terms: tuple[Term | None, ...]
) -> tuple[Vector, ...]:
    """Values of terms at a node."""
    joints, m = model.base.nq, model.m
    here = State(model.base.element(q[:joints]), q[joints:], v[:m], v[m:])
    empty = np.zeros(0)
    return tuple(empty if term is None else np.reshape(term(model, here, forces, data), -1) for term in terms)


def linearized_terms(
    model: Model, q: Vector, v: Vector, forces: Vector, data: Vector, *, terms: tuple[Term | None, ...]
) -> tuple[Matrix, ...]:
    """Values of terms and their derivatives by configuration (tangent), velocity and forces, side by side."""
    joints, m, nv = model.base.nq, model.m, model.nv
    here = State(model.base.element(q[:joints]), q[joints:], v[:m], v[m:])

    def at(term: Term, y: Vector) -> Vector:
        velocity = y[nv : 2 * nv]
        state = model.configuration.displace(here, y[:nv])._replace(twist=velocity[:m], rates=velocity[m:])
        return np.reshape(term(model, state, y[2 * nv :], data), -1)

    found, place = [], concatenate([np.zeros(nv), v, forces])
    for term in terms:
        if term is None:
            found.append(np.zeros((0, 1 + len(place))))
            continue
        value, slopes = linearized(lambda y, term=term: at(term, y), place, [q, v, forces, data])  # type: ignore[misc]
        found.append(concatenate([value[:, None], slopes], axis=1))
    return tuple(found)
