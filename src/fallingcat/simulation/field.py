"""Motion as a vector field in exponential coordinates around the start of a step.

``y = [x; v; memory; works]``: the configuration is ``g exp(x)`` with ``dx/dt = dexp^-1(x) v``, so that any rule for
vectors moves on the group, as Munthe-Kaas has it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Traced, concatenate, is_numeric
from ..arrays.differentiate import jacobian, substitute
from ..contact.contact import Mode
from ..dynamics import displace
from ..lie.rotations import homogeneous
from ..model import Model, State
from .system import System


class Layout(NamedTuple):
    """Where things are in a packed vector: the rows ``[R p]`` of the pose, joints, velocity, memory, works."""

    joints: int
    nv: int
    memory: int
    works: int

    @property
    def size(self) -> int:
        """Length of a packed vector."""
        return 12 + self.joints + self.nv + self.memory + self.works

    def pack(self, state: State, memory: Any, works: Any) -> Any:
        """One vector of a state, memory and works."""
        return concatenate([state.pose[:3].reshape(12), state.joints, state.twist, state.rates, memory, works])

    def unpack(self, packed: Any, m: int) -> tuple[State, Any, Any]:
        """The inverse of :meth:`pack`."""
        a = 12 + self.joints
        b = a + self.nv
        c = b + self.memory
        rows = packed[:12].reshape(3, 4)
        pose = homogeneous(rows[:, :3], rows[:, 3])
        return State(pose, packed[12:a], packed[a : a + m], packed[a + m : b]), packed[b:c], packed[c:]


def layout_of(system: System, memory: int) -> Layout:
    """How states of a system are packed."""
    model = system.model
    return Layout(model.nq - model.base.nq, model.nv, memory, 2 * len(system.ports))


class Field:
    """``dy/dt`` of a system in one mode, around a state."""

    def __init__(self, system: System, mode: Mode, start: State, memory: Any, works: Any) -> None:
        self.system, self.mode, self.start = system, mode, start
        self.nv, self._memory = system.model.nv, len(memory)
        self.origin = concatenate([np.zeros(self.nv), start.twist, start.rates, memory, works])

    def __call__(self, t: Any, y: Any) -> Any:
        x, v = y[: self.nv], y[self.nv : 2 * self.nv]
        memory = y[2 * self.nv : 2 * self.nv + self._memory]
        slope = self.system.slope(self.mode, t, self._at(x, v), memory)
        return concatenate([seen_ahead(self.system.model, v, x), slope.acceleration, slope.memory, slope.powers])

    def jacobian(self, t: Any, y: Any) -> tuple[Any, Any]:
        """``df/dy`` and ``df/dt``: exact on traced numbers, central differences on plain ones."""
        z = concatenate([y, np.reshape(t, 1)])
        if is_numeric(z):
            J = np.stack([self._difference(z, j) for j in range(len(z))], axis=1)
        else:
            graph = next(x.graph for x in z if isinstance(x, Traced))
            places = graph.inputs("place", len(z))
            loops, graph.loops = graph.loops, False  # derivatives go through single operations
            J = substitute(jacobian(self(places[-1], places[:-1]), places), dict(zip(places, z, strict=True)))
            graph.loops = loops
        return J[:, :-1], J[:, -1]

    def _difference(self, z: np.ndarray, j: int) -> np.ndarray:
        step = 6e-6 * max(1.0, abs(z[j]))
        high, low = z.copy(), z.copy()
        high[j] += step
        low[j] -= step
        return np.asarray(self(high[-1], high[:-1]) - self(low[-1], low[:-1])) / (high[j] - low[j])

    def end(self, y: Any) -> tuple[State, Any, Any]:
        """State, memory and works at ``y``."""
        nv, k = self.nv, self._memory
        return self._at(y[:nv], y[nv : 2 * nv]), y[2 * nv : 2 * nv + k], y[2 * nv + k :]

    def _at(self, x: Any, v: Any) -> State:
        m = self.system.model.m
        return displace(self.system.model, self.start, x)._replace(twist=v[:m], rates=v[m:])


def seen_ahead(model: Model, v: Any, x: Any) -> Any:
    """``dexp^-1`` of the configuration group applied to a velocity: ``v`` seen from the point ``exp(x)`` ahead (nv)."""
    m = model.m
    parts = [model.base.dexp_right_inverse(x[:m]) @ v[:m] if m else v[:0]]
    for joint, place in zip(model.joints, model.v_slices, strict=True):
        part, group = slice(m + place.start, m + place.stop), joint.kind.group
        parts.append(group.dexp_right_inverse(x[part]) @ v[part] if group.dim > 1 else v[part])
    return concatenate(parts)
