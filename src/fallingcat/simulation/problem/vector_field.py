"""Motion as a vector field in exponential coordinates around the start of a step.

``y = [x; v; memory; works]``: the configuration is ``g exp(x)`` with ``dx/dt = dexp^-1(x) v``, so that any rule for
vectors moves on the group, as Munthe-Kaas has it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Traced, concatenate, is_numeric
from ...arrays.differentiate import jacobian, substitute
from ...arrays.types import Matrix, Scalar, Vector
from ...contact.base import Jump, Mode
from ...dynamics import displace
from ...model import State
from ...records import short_text
from .compiled_dynamics import displaced, pose_of
from .problem import Problem

Slope = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""``(packed start, y, [t]) -> dy/dt``"""


class Series(NamedTuple):
    """Packed vectors taken apart, with any leading shape."""

    states: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    """poses (4 x 4), joints, twists, rates"""
    memory: np.ndarray
    base_works: np.ndarray
    joint_works: np.ndarray


class Outcome(NamedTuple):
    """Result of a step by parts, with any leading shape."""

    packed: np.ndarray
    """packed state at the end"""
    guards: np.ndarray
    error: Any
    """in units of the tolerance"""


class Layout(NamedTuple):
    """Layout of a packed vector.

    Its parts are the rows ``[R p]`` of the pose, joints, velocity, memory, works, and what the integrator carries from
    step to step.
    """

    joints: int
    m: int
    nv: int
    memory: int
    works: int
    carried: int = 0

    @property
    def size(self) -> int:
        """Length of a packed vector."""
        return 12 + self.joints + self.nv + self.memory + self.works + self.carried

    def pack(self, state: State, memory: Any, works: Any, carried: Any = None) -> Any:
        """Vector of a state, memory and works, and of what the integrator carries; zeros: a first step."""
        carried = np.zeros(self.carried) if carried is None else carried
        return concatenate([state.pose[:3].reshape(12), state.joints, state.twist, state.rates, memory, works, carried])

    def unpack(self, packed: Any) -> tuple[State, Any, Any]:
        """The inverse of :meth:`pack`."""
        pose, joints, twist, rates, memory, works, _ = self._parts(packed)
        return State(pose_of(pose), joints, twist, rates), memory, works

    def carried_of(self, packed: Any) -> Any:
        """Part of a packed vector that the integrator carries."""
        return self._parts(packed)[-1]

    def jumped(self, jump: Jump, laws: np.ndarray, works: np.ndarray) -> np.ndarray:
        """Packed after a jump of the contact, beside what ``laws`` remember: its loss is work of the last port."""
        works = np.append(works[:-1], works[-1] - jump.loss)
        return np.asarray(self.pack(jump.state, np.append(jump.memory, laws), works), dtype=float)

    def numbers(self, packed: np.ndarray) -> tuple[np.ndarray, ...]:
        """Rows of the pose (3 x 4), joints, twist, rates and works of a packed state: views of it."""
        pose, joints, twist, rates, _, works, _ = self._parts(packed)
        return pose.reshape(3, 4), joints, twist, rates, works

    def table(self, states: tuple[np.ndarray, ...], memory: np.ndarray) -> np.ndarray:
        """``N x size``: poses, joints, twists, rates and memory of ``N`` states, packed, before any work."""
        poses, joints, twists, rates = states
        rows, works = poses[:, :3].reshape(-1, 12), np.zeros((len(poses), self.works + self.carried))
        return np.hstack([rows, joints, twists, rates, memory, works])

    def outcome(self, out: np.ndarray) -> Outcome:
        """Parts of the result of a :data:`~fallingcat.simulation.integrators.base.Step`."""
        return Outcome(out[..., : self.size], out[..., self.size : -1], out[..., -1])

    def series(self, packed: np.ndarray) -> Series:
        """Arrays (..., size) of packed numbers taken apart."""
        rows, joints, twists, rates, memory, works, _ = self._parts(packed)
        lead = packed.shape[:-1]
        poses = np.zeros_like(packed, shape=(*lead, 4, 4))  # where the numbers are, on a GPU too
        poses[..., :3, :], poses[..., 3, 3] = rows.reshape(*lead, 3, 4), 1.0
        pairs = works.reshape(*lead, self.works // 2, 2)
        return Series((poses, joints, twists, rates), memory, pairs[..., 0], pairs[..., 1])

    def configuration(self, packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows ``[R p]`` (... x 3 x 4) of poses, and joints, of packed numbers (..., size)."""
        return packed[..., :12].reshape(*packed.shape[:-1], 3, 4), packed[..., 12 : 12 + self.joints]

    def velocity(self, packed: np.ndarray) -> np.ndarray:
        """Velocities (... x nv) of packed numbers (..., size)."""
        return packed[..., 12 + self.joints : 12 + self.joints + self.nv]

    def _parts(self, packed: Any) -> list[Any]:
        ends = list(accumulate((12, self.joints, self.m, self.nv - self.m, self.memory, self.works, self.carried)))
        return [packed[..., start:end] for start, end in zip([0, *ends], ends, strict=False)]


def layout_of(problem: Problem, memory: int) -> Layout:
    """Layout of the packed states of a problem."""
    model = problem.model
    return Layout(model.nq - model.base.nq, model.m, model.nv, memory, 2 * len(problem.ports), problem.carried)


class VectorField:
    """Vector field ``dy/dt`` of a problem in one mode, around a state.

    Args:
        problem: Problem.
        mode: Mode of the contact.
        start: State around which ``y`` has exponential coordinates.
        memory: Memory of contact and laws.
        works: Works through the ports (J).
        slope: The same field in machine code, or None.

    Example:
        >>> import fallingcat as fc
        >>> ball = fc.robots.free_body()
        >>> field = VectorField(Problem(ball), (), ball.neutral(), np.zeros(0), np.zeros(0))
        >>> field(0.0, field.origin)[6:9]  # acceleration (m/s^2)
        array([ 0.  ,  0.  , -9.81])
        >>> field.jacobian(0.0, field.origin)[0].shape, field.end(field.origin)[0].pose[2, 3]
        ((12, 12), np.float64(0.0))
    """

    def __init__(
        self, problem: Problem, mode: Mode, start: State, memory: Vector, works: Vector, slope: Slope | None = None
    ) -> None:
        self.problem, self.mode, self.start, self._slope = problem, mode, start, slope
        self.nv, self._memory = problem.model.nv, len(memory)
        self.origin = concatenate([np.zeros(self.nv), start.twist, start.rates, memory, works])
        if slope is not None:
            self._packed = layout_of(problem, len(memory)).pack(start, memory, works)

    def __repr__(self) -> str:
        return f"<VectorField of {short_text(self.problem.model.name)}>"

    def __call__(self, t: Scalar, y: Vector) -> Vector:
        """Derivative ``dy/dt`` at a time (s) and a vector."""
        if self._slope is not None:
            return self._slope(self._packed, y, np.reshape(t, 1))
        x, v = y[: self.nv], y[self.nv : 2 * self.nv]
        memory = y[2 * self.nv : 2 * self.nv + self._memory]
        there, rate = self._at(x, v)
        slope = self.problem.slope(self.mode, t, there, memory)
        return concatenate([rate, slope.acceleration, slope.memory, slope.powers])

    def jacobian(self, t: Scalar, y: Vector) -> tuple[Matrix, Vector]:
        """Jacobian of the field: exact on traced numbers, central differences on plain ones.

        Args:
            t: Time (s).
            y: Vector (size).

        Returns:
            ``df/dy`` (size x size) and ``df/dt`` (size).
        """
        z = concatenate([y, np.reshape(t, 1)])
        if is_numeric(z):
            J = self._differences(z)
        else:
            graph = next(x.graph for x in z if isinstance(x, Traced))
            places = graph.inputs("place", len(z))
            loops, graph.loops = graph.loops, False  # derivatives go through single operations
            J = substitute(jacobian(self(places[-1], places[:-1]), places), dict(zip(places, z, strict=True)))
            graph.loops = loops
        return J[:, :-1], J[:, -1]

    def _differences(self, z: np.ndarray) -> np.ndarray:
        # cube root of the rounding: truncation and rounding of central differences are equal
        steps = np.diag(6e-6 * np.maximum(1.0, np.abs(z)))
        ends = np.concatenate([z + steps, z - steps])
        if self._slope is not None:  # all in one call
            values = self._slope(np.tile(self._packed, (len(ends), 1)), ends[:, :-1], ends[:, -1:])
        else:
            values = np.array([self(row[-1], row[:-1]) for row in ends])
        high, low = np.split(np.asarray(values), 2)
        return ((high - low) / (2.0 * np.diag(steps))[:, None]).T

    def end(self, y: Vector) -> tuple[State, Vector, Vector]:
        """State, memory and works at a vector.

        Args:
            y: Vector (size).

        Returns:
            State, memory (k) and works (J).
        """
        nv, k = self.nv, self._memory
        return self._at(y[:nv], y[nv : 2 * nv])[0], y[2 * nv : 2 * nv + k], y[2 * nv + k :]

    def _at(self, x: Any, v: Any) -> tuple[State, Any]:
        """The state at ``x``, and ``dx/dt``."""
        model = self.problem.model
        if self._slope is None and is_numeric(x) and is_numeric(self.start.pose):
            return displaced(model)(self.start, x, v)
        there = displace(model, self.start, x)._replace(twist=v[: model.m], rates=v[model.m :])
        return there, model.configuration.logarithm_rate(v, x)
