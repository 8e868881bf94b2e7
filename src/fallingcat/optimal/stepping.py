"""Dynamics of a problem as kernels on whole motions: steps of a simulator, or steps with given contacts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..arrays import clip, concatenate, scale
from ..arrays.types import FloatArray
from ..caching import cached_property
from ..compiler import compile
from ..model import Model, State
from ..simulation.steps.step_code import simulation_step
from ..simulation.steps.step_derivatives import SolvedStep, StepDerivatives
from .phase_step import implied_by, phase_step
from .phases import ContactPhases
from .riccati import NONE, Arrays

Point = tuple[FloatArray, FloatArray, FloatArray]
"""Flat configuration, velocity and memory, of one node or of several."""


Linearizer = Callable[[], tuple[Point | None, FloatArray]]
"""Gives the states after all steps, if they are known, and friction cones."""


class Sizes(NamedTuple):
    """Numbers of the parts of a row that :func:`follow` takes."""

    nq: int
    nv: int
    kept: int
    """memory"""
    carried: int
    """memory that is part of ``x``"""
    n: int
    row: int
    """numbers of a node of :class:`.ContactPhases`"""

    @property
    def x(self) -> int:
        """Numbers of ``x``."""
        return 2 * self.nv + self.carried

    @property
    def parts(self) -> tuple[int, ...]:
        """Configuration, velocity, memory, forces, change, gains, gap, limits and row of a node."""
        n, x = self.n, self.x
        return (self.nq, self.nv, self.carried, n, n, n * x, x, n, n, self.row)


def follow(model: Model, x: Any, about: Any, length: Any, step: Callable[..., Any], sizes: Sizes) -> Any:
    """State after a step under ``forces + length k + K dx`` within limits, with ``1 - length`` of the gap left open.

    Returns:
        ``[q; v; memory; forces; contact forces]``, so that it can be iterated.
    """
    q, v, memory = (x[a:b] for a, b in _places((sizes.nq, sizes.nv, sizes.kept)))
    q0, v0, memory0, u0, k, K, gap, low, high, row = (about[a:b] for a, b in _places(sizes.parts))
    nv, n = sizes.nv, sizes.n
    dx = concatenate([model.difference(q0, q), v - v0, *([memory - memory0] if sizes.carried else [])])
    u = clip(u0 + scale(length[0], k) + K.reshape(n, sizes.x) @ dx, low, high)
    q, v, memory, contact = step(q, v, memory, u, row)
    left = scale(1.0 - length[0], gap)
    q, v = model.integrate(q, -left[:nv]), v - left[nv : 2 * nv]
    return concatenate([q, v, memory - left[2 * nv :] if sizes.carried else memory, u, contact])


def _places(sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    ends = np.cumsum((0, *sizes)).tolist()
    return list(pairwise(ends))


def follow_simulation(model: Model, x: Any, about: Any, length: Any, *, sizes: Sizes, **options: Any) -> Any:
    """:func:`follow` with a step of a simulation."""

    def step(q: Any, v: Any, memory: Any, u: Any, row: Any) -> Any:
        found: Any = simulation_step(model, q, v, memory if sizes.kept else None, u, **options)
        return found[0], found[1], found[2] if sizes.kept else memory, np.zeros(0)

    return follow(model, x, about, length, step, sizes)


def follow_phases(model: Model, x: Any, about: Any, length: Any, *, sizes: Sizes, **options: Any) -> Any:
    """:func:`follow` with a step with given contacts."""

    def step(q: Any, v: Any, memory: Any, u: Any, row: Any) -> Any:
        found = phase_step(model, q, v, u, row, **options)
        return found.q, found.v, memory, found.contact.reshape(-1)

    return follow(model, x, about, length, step, sizes)


class SimulationSteps:
    """Steps of a simulator."""

    cones = 0
    """rows of friction cones"""
    contacts = 0
    """numbers of contact forces"""
    implied = NONE

    def __init__(self, dynamics: StepDerivatives, steps: int) -> None:
        self.dynamics, self.model, self.steps = dynamics, dynamics.model, steps
        kept = dynamics._shapes.get("memory", 0)
        carried = kept if "memory" in dynamics.rows else 0
        self.sizes = Sizes(self.model.nq, self.model.nv, kept, carried, self.model.n, 0)
        self.rows: FloatArray = np.zeros((steps, 0))

    @property
    def times(self) -> FloatArray:
        """Times of the nodes (s)."""
        return np.linspace(0.0, self.steps * self.dynamics.dt, self.steps + 1)

    def begin(self, state: State) -> FloatArray:
        """Memory at a start."""
        return np.asarray(self.dynamics.step.begin(state)) if self.sizes.kept else np.zeros(0)

    @cached_property
    def follow(self) -> Any:
        """Kernel of :func:`follow`."""
        shapes = {"x": self.sizes.nq + self.sizes.nv + self.sizes.kept, "about": sum(self.sizes.parts), "length": 1}
        return self.dynamics.step._compiled(follow_simulation, inputs=shapes, sizes=self.sizes)

    def advanced(self, at: Point, u: FloatArray) -> tuple[Point, FloatArray]:
        """States one step later, of all nodes, and contact forces as far as they are known."""
        found = self.dynamics.step.function(*at[: 3 if self.sizes.kept else 2], u)
        after = (found[0], found[1], found[2] if self.sizes.kept else at[2])
        return after, np.zeros((len(u), 0))

    def linearizer(self, at: Point, u: FloatArray, into: Arrays, threads: int) -> Linearizer:
        """Function that fills ``[A B]`` of all steps; it knows neither states after them nor cones."""
        go, (A, B) = self.dynamics.function.batcher(*at[: 3 if self.sizes.kept else 2], u, threads=threads)
        size, F = self.sizes.x, into.dynamics
        none = np.zeros((len(u), 0, 1 + F.shape[-1]))

        def run() -> tuple[Point | None, FloatArray]:
            go()
            F[:, :, :size], F[:, :, size:] = A, B
            return None, none

        return run

    def on(self, target: str) -> SimulationSteps:
        """The same steps for another target."""
        if target == "cpu":
            return self
        simulated, method, dt, *_ = self.dynamics._about
        derivatives = StepDerivatives(self.dynamics._whole, simulated, method, dt, target, "float64", ())
        return SimulationSteps(derivatives, self.steps)

    def _names(self) -> tuple[str, ...]:
        return ("q", "v", "memory", "forces") if self.sizes.kept else ("q", "v", "forces")

    def linear_kernel(self) -> tuple[Any, tuple[str, ...]]:
        """Kernel of the derivatives, and names of its arguments."""
        return self.dynamics.function, self._names()

    def next_kernel(self) -> tuple[Any, tuple[str, ...]]:
        """Kernel of the steps, and names of its arguments."""
        return self.dynamics.step.function, self._names()

    def plain_step(self, at: Point, u: FloatArray, i: int) -> tuple[Any, Any]:
        """Step ``i`` by NumPy alone."""
        simulated, method, dt = self.dynamics._about[:3]
        plain = SolvedStep(simulated, method, dt, "numpy", "float64", ())
        found = plain.function(*at[: 3 if self.sizes.kept else 2], u)
        return found[0], found[1]


class PhaseSteps:
    """Steps with given contacts."""

    def __init__(self, dynamics: ContactPhases, target: str = "cpu") -> None:
        self.dynamics, self.model, self.steps, self.rows = dynamics, dynamics.model, dynamics.steps, dynamics.rows
        self._target = target
        self.sizes = Sizes(self.model.nq, self.model.nv, 0, 0, self.model.n, self.rows.shape[1])
        self.cones = 0 if dynamics.friction is None else 2 * len(dynamics.points)
        self.contacts, self.implied = 3 * len(dynamics.points), implied_by(dynamics.model)

    @property
    def times(self) -> FloatArray:
        """Times of the nodes (s)."""
        return self.dynamics.times

    def begin(self, state: State) -> FloatArray:
        """Memory at a start: none."""
        return np.zeros(0)

    @cached_property
    def follow(self) -> Any:
        """Kernel of :func:`follow`."""
        shapes = {"x": self.sizes.nq + self.sizes.nv, "about": sum(self.sizes.parts), "length": 1}
        options = {"target": self._target, "sizes": self.sizes, **self.dynamics.options}
        return compile(self.model, follow_phases, inputs=shapes, **options)

    @cached_property
    def _step(self) -> Any:
        return self.dynamics.step(self._target)

    def on(self, target: str) -> PhaseSteps:
        """The same steps for another target."""
        return self if target == self._target else PhaseSteps(self.dynamics, target)

    @cached_property
    def _linear(self) -> Any:
        return self.dynamics.linear if self._target == "cpu" else self.dynamics._linear_step(self._target)

    def linear_kernel(self) -> tuple[Any, tuple[str, ...]]:
        """Kernel of the derivatives, and names of its arguments."""
        return self._linear, ("q", "v", "forces", "row")

    def next_kernel(self) -> tuple[Any, tuple[str, ...]]:
        """Kernel of the steps, and names of its arguments."""
        return self._step, ("q", "v", "forces", "row")

    def advanced(self, at: Point, u: FloatArray) -> tuple[Point, FloatArray]:
        """States one step later, of all nodes, and contact forces."""
        q, v, contact = self._step(at[0], at[1], u, self.rows)
        return (q, v, at[2]), contact.reshape(len(u), -1)

    def linearizer(self, at: Point, u: FloatArray, into: Arrays, threads: int) -> Linearizer:
        """Function that fills the derivatives of all steps, with states after them and friction cones."""
        go, found = self.dynamics.linear.batcher(at[0], at[1], u, self.rows, threads=threads)

        def run() -> tuple[Point | None, FloatArray]:
            go()
            into.dynamics[:], into.start[:], into.way[:], into.dt[:] = found.rate, found.start, found.way, found.dt
            return (found.q, found.v, at[2]), found.cones

        return run

    def plain_step(self, at: Point, u: FloatArray, i: int) -> tuple[Any, Any]:
        """Step ``i`` by NumPy alone."""
        found = phase_step(self.model, at[0], at[1], u, self.rows[i], **self.dynamics.options)
        return found.q, found.v


Stepping = SimulationSteps | PhaseSteps
