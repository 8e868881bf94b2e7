"""Gradient of the cost of a run: by its start, its joint forces and its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from ...arrays import concatenate
from ...arrays.differentiate import value_and_jacobian
from ...arrays.types import Matrix, Numbers
from ...caching import cached_property
from ...compiler import compile
from ...errors import ModelError, NumericsError, describe
from ...model import Model, State
from ...records import concise
from ..problem.arguments import start as checked_start
from ..problem.arguments import whole
from .step_derivatives import StepDerivatives

Cost = Callable[..., Any]
"""``cost(model, state, forces, data) -> number``, for every kind of number"""


@concise
class Gradient(NamedTuple):
    """Cost of a run and its gradient.

    Example:
        >>> Gradient._fields
        ('cost', 'start', 'forces', 'inputs', 'states')
    """

    cost: float
    """sum over all samples of the run"""
    start: np.ndarray
    """``2 nv + memory``: by configuration (tangent), velocity and memory at the start"""
    forces: np.ndarray
    """``steps x n``: by joint forces; of forward mode none"""
    inputs: dict[str, np.ndarray]
    """by each input of the step"""
    states: State
    """``steps + 1``: states of the run"""


def gradient(
    derivatives: StepDerivatives,
    state: State,
    cost: Cost,
    *,
    steps: int | None = None,
    forces: Matrix | None = None,
    inputs: Mapping[str, Numbers] | None = None,
    data: Numbers | None = None,
    mode: Literal["adjoint", "forward"] = "adjoint",
) -> Gradient:
    """Gradient of the cost of a run of fixed steps.

    The cost is the sum of ``cost(model, state, forces, data)`` over the start and the end of every step: a function
    written with ``fallingcat.arrays`` or NumPy, of which nobody writes a derivative.  ``mode="adjoint"`` goes back
    through the run: its time does not depend on the number of parameters, and it keeps only every ``sqrt(steps)``-th
    state, from which it goes forward again.  ``mode="forward"`` carries the derivatives by start and inputs along.

    Steps are those of :func:`.step`: none is taken again in shorter ones.

    Args:
        derivatives: Derivatives of the step, with its inputs: :func:`.step_derivatives`.
        state: Start of the run.
        cost: Function ``cost(model, state, forces, data)`` of every kind of number; ``forces`` (n) are those of the
            step that begins there, zero at the end.
        steps: Number of steps; None: as many as there are rows of ``forces``, or one less than rows of ``data``.
        forces: Joint forces, ``steps x n`` (N m or N); None: zero.
        inputs: Values of the inputs of the step by name, each of its own shape.
        data: Numbers for the cost, ``(steps + 1) x k``, such as a recorded motion; None: none.
        mode: ``"adjoint"`` or ``"forward"``.

    Returns:
        Cost and gradient, in the tangent space of the start.

    Raises:
        NumericsError: The motion or the cost is not finite; it says at which step.

    Example:
        >>> import fallingcat as fc
        >>> import numpy as np
        >>> cat = fc.robots.two_cylinder_cat()
        >>> derivatives = fc.simulation.step_derivatives(cat, fc.control.JointDamper(0.1), dt=0.01,
        ...                                              inputs=["joint dampers.damping"])
        >>> def bend(model, state, forces, data):
        ...     return state.joints @ state.joints
        >>> found = fc.simulation.gradient(derivatives, cat.state(rates=[1.0, -0.5]), bend, steps=50,
        ...                                inputs={"joint dampers.damping": 0.1})
        >>> found.forces.shape, bool(found.inputs["joint dampers.damping"][0] < 0.0)
        ((50, 2), True)
    """
    run = _Run(derivatives, state, cost, steps, forces, inputs or {}, data)
    if mode not in ("adjoint", "forward"):
        raise ModelError(f"mode is 'adjoint' or 'forward', not {describe(mode)}")
    return run.adjoint() if mode == "adjoint" else run.forward()


def cost_slopes(model: Model, q: Any, v: Any, forces: Any, data: Any, *, cost: Cost) -> Any:
    """Cost, then its derivatives by configuration (tangent), velocity and joint forces."""
    joints, m, nv = model.base.nq, model.m, model.nv
    here = State(model.base.element(q[:joints]), q[joints:], v[:m], v[m:])

    def total(y: Any) -> Any:
        moved, velocity, asked = np.split(y, [nv, 2 * nv])
        at = model.configuration.displace(here, moved)._replace(twist=velocity[:m], rates=velocity[m:])
        return np.reshape(cost(model, at, asked, data), 1)

    value, slopes = value_and_jacobian(total, concatenate([np.zeros(nv), v, forces]), [q, v, forces, data])
    return concatenate([value, slopes[0]])


class _Run:
    """A run, and the derivatives of its steps."""

    def __init__(
        self, derivatives: Any, state: State, cost: Cost, steps: Any, forces: Any, inputs: Mapping[str, Any], data: Any
    ) -> None:
        if not isinstance(derivatives, StepDerivatives) or derivatives.target != "cpu":
            raise ModelError("the gradient of a run takes fc.simulation.step_derivatives(...) for the target 'cpu'")
        if "memory" in derivatives.arguments and "memory" not in derivatives.rows:
            raise ModelError("the gradient of a run needs step_derivatives(..., memory=True)")
        if "t" in derivatives.arguments:
            raise ModelError("the gradient of a run is for laws that do not depend on time: give forces or data")
        self.of, self.model, self.step = derivatives, derivatives.model, derivatives.step
        n = self.model.n if "forces" in derivatives.arguments else 0
        data = np.zeros((0, 0)) if data is None else np.atleast_2d(np.asarray(data, dtype=float))
        known = len(forces) if forces is not None else len(data) - 1
        self.steps = whole(known if steps is None else steps, "steps")
        self.forces = _rows("forces", forces, self.steps, n)
        self.data = _rows("data", data if len(data) else None, self.steps + 1, data.shape[1])
        self.inputs = self._values(inputs)
        self.start = checked_start(self.model, state)
        memory = self.step.begin(self.start)
        self.first = (*self.model.flatten(self.start), *([memory] if len(memory) else []))
        self._cost = cost

    def _values(self, inputs: Mapping[str, Any]) -> np.ndarray:
        sizes = self.of._inputs
        if {*inputs} != {*sizes}:
            raise ModelError(f"inputs are the values of {', '.join(sizes) or 'nothing'}, not of {describe([*inputs])}")
        values = [np.asarray(inputs[name], dtype=float).ravel() for name in sizes]
        for (name, count), value in zip(sizes.items(), values, strict=True):
            if len(value) != count:
                raise ModelError(f"{name} has {count} numbers, not {len(value)}")
        return np.concatenate([np.zeros(0), *values])

    @cached_property
    def cost(self) -> Callable[..., np.ndarray]:
        """``(q, v, forces, data) -> [cost; slopes]``, with any leading shape."""
        model, n = self.model, self.model.n
        inputs = {"q": model.nq, "v": model.nv, "forces": n, "data": self.data.shape[1]}
        kernel: Callable[..., np.ndarray] = compile(model, cost_slopes, inputs=inputs, cost=self._cost)
        return kernel

    def asked(self, k: Any) -> tuple[Any, ...]:
        """Forces and inputs of steps."""
        forces = self.forces[k]
        own = np.broadcast_to(self.inputs, (*forces.shape[:-1], len(self.inputs)))
        return (*([forces] if "forces" in self.of.arguments else []), *([own] if len(self.inputs) else []))

    def advanced(self, x: tuple[np.ndarray, ...], k: int) -> tuple[np.ndarray, ...]:
        """``q, v, memory`` after step ``k``."""
        after = tuple(self.step.function(*x, *self.asked(k)))
        if not all(np.isfinite(part).all() for part in after):
            raise NumericsError("the motion is not finite", time=(k + 1) * self.step.dt)
        return after

    def jacobians(self, parts: list[tuple[np.ndarray, ...]], first: int) -> tuple[np.ndarray, ...]:
        """``A, B, P`` of the steps from some states on, the ``first`` of which has this number."""
        many = [np.array(part) for part in zip(*parts, strict=True)]
        found = self.of.function(*many, *self.asked(slice(first, first + len(parts))))
        return (*found, np.zeros((len(parts), len(found[0][0]), 0)))[:3]

    def slopes(self, parts: list[tuple[np.ndarray, ...]], first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Costs, and their slopes by ``x`` and forces, of samples the ``first`` of which has this number."""
        q, v = (np.array([part[i] for part in parts]) for i in (0, 1))
        forces = np.zeros((len(parts), self.model.n))
        ends = min(self.steps - first, len(parts))
        if self.forces.shape[1]:
            forces[:ends] = self.forces[first : first + ends]
        found = self.cost(q, v, forces, self.data[first : first + len(parts)])
        nv, size = self.model.nv, 2 * self.model.nv + (len(parts[0][2]) if len(parts[0]) > 2 else 0)
        by_x = np.zeros((len(parts), size))
        by_x[:, : 2 * nv] = found[:, 1 : 1 + 2 * nv]
        if not np.isfinite(found).all():
            k = first + int(np.argmin(np.isfinite(found).all(axis=1)))
            raise NumericsError("the cost or its derivatives are not finite", time=k * self.step.dt)
        return found[:, 0], by_x, found[:, 1 + 2 * nv :]

    def segments(self) -> list[range]:
        """Steps from one state that is kept to the next."""
        every = max(1, math.isqrt(self.steps))
        return [range(k, min(k + every, self.steps)) for k in range(0, self.steps, every)]

    def along(self, x: tuple[np.ndarray, ...], steps: range) -> list[tuple[np.ndarray, ...]]:
        """States before all of some steps, and after the last."""
        found = [x]
        for k in steps:
            found.append(self.advanced(found[-1], k))
        return found

    def result(self, total: float, start: Any, forces: Any, inputs: Any, states: list[Any]) -> Gradient:
        """Gradient by parts."""
        ends = np.cumsum([*self.of._inputs.values()])[:-1]
        named = dict(zip(self.of._inputs, np.split(inputs, ends), strict=True)) if len(self.of._inputs) else {}
        return Gradient(
            float(total), start, forces, named, self.model.unflatten(*(np.array(x) for x in zip(*states, strict=True)))
        )

    def adjoint(self) -> Gradient:
        """From the end to the start, segment by segment."""
        segments = self.segments()
        kept = [self.first]
        for steps in segments:
            kept.append(self.along(kept[-1], steps)[-1])
        total, by_x, _ = self.slopes([kept[-1]], self.steps)
        cost, adjoint = float(total[0]), by_x[0]
        forces, inputs = np.zeros_like(self.forces), np.zeros(len(self.inputs))
        states: list[Any] = [kept[-1][:2]]
        for steps, x in zip(reversed(segments), reversed(kept[:-1]), strict=True):
            parts = self.along(x, steps)[:-1]
            A, B, P = self.jacobians(parts, steps.start)
            total, by_x, by_u = self.slopes(parts, steps.start)
            cost += float(total.sum())
            for i in reversed(range(len(parts))):
                if forces.shape[1]:
                    forces[steps.start + i] = B[i].T @ adjoint + by_u[i]
                inputs += P[i].T @ adjoint
                adjoint = A[i].T @ adjoint + by_x[i]
            states = [part[:2] for part in parts] + states
        return self.result(cost, adjoint, forces, inputs, states)

    def forward(self) -> Gradient:
        """From the start on, with the derivatives of the state by start and inputs."""
        cost, x, states = 0.0, self.first, list[Any]()
        size = 2 * self.model.nv + (len(x[2]) if len(x) > 2 else 0)
        moves = np.hstack([np.eye(size), np.zeros((size, len(self.inputs)))])
        slope = np.zeros(moves.shape[1])
        for parts, first, last in self._blocks(x):
            total, by_x, _ = self.slopes(parts, first)
            A, _, P = self.jacobians(parts[: len(parts) - last], first)
            for i in range(len(parts)):
                cost += float(total[i])
                slope += by_x[i] @ moves
                if i < len(A):
                    moves = A[i] @ moves
                    moves[:, size:] += P[i]
            states += [part[:2] for part in parts]
        return self.result(cost, slope[:size], np.zeros((0, self.forces.shape[1])), slope[size:], states)

    def _blocks(self, x: Any) -> Iterator[tuple[list[Any], int, int]]:
        """States of the run, some after others; number of the first, and 1 if the last is the end."""
        for steps in self.segments():
            parts = self.along(x, steps)
            x = parts[-1]
            last = int(steps.stop == self.steps)
            yield parts[: len(parts) - 1 + last], steps.start, last


def _rows(name: str, given: Any, count: int, size: int) -> np.ndarray:
    """Array of given numbers ``count x size``; zero where none are given."""
    if given is None:
        return np.zeros((count, size))
    x = np.asarray(given, dtype=float)
    if x.shape != (count, size) or not np.isfinite(x).all():
        raise ModelError(f"{name} must be finite numbers of shape {(count, size)}, got {describe(x)}")
    return x
