"""After an event: which of the points that rest on the ground carry, hold, slide or begin to leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....constraints.redundant_constraints import MAX_ACCELERATION_ERROR
from ....model import Model, State
from ...base import Mode
from .complementarity import MIN_SINGULAR_VALUE, OPEN, SLIDE, STICK
from .constraint_forces import Load, constraint_forces, drift, sliding_direction
from .contact_kinematics import ContactKinematics
from .contact_state import ContactState
from .guards import resolved, rounding_force

if TYPE_CHECKING:
    from ..hard_contacts import HardContacts

REVERSAL_SPEED = 1e-4
"""m/s: points slower than this are at rest when their friction turns round.  It is a tenth of the default
``rest_speed``; a stop from it takes 5e-9 J per kilogram; and friction has lost their way already
(:data:`.FRICTION_TURNING_SPEED`)."""
MAX_MODE_CHANGES = 60
"""Changes of the modes of points that are tried for one state before it is given up."""


Fault = tuple[float, str, np.ndarray | None]
"""Violation of the contact law of a point (m/s^2), the status that it should have, and its sliding direction."""


class RestState(NamedTuple):
    """Velocities without those that are held back, and the kinetic energy (J) that this took."""

    state: State
    loss: float


def rest_state(model: Model, at: ContactKinematics, J: np.ndarray) -> RestState:
    """The nearest velocity (in the metric of the mass matrix) with ``J v = 0``: it can only lose energy."""
    v, loss = without(at, J, at.state.velocity)
    return RestState(at.state._replace(twist=v[: model.m], rates=v[model.m :]), loss)


def without(at: ContactKinematics, J: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, float]:
    """A velocity ``v`` (nv) without what ``J`` holds back, and the kinetic energy of that.

    With ``M^-1 = L L'`` and ``v = L w`` it is the nearest ``w`` with ``J L w = 0``.
    """
    L = np.linalg.cholesky(at.respond(np.eye(len(v))))
    w = np.linalg.solve(L, v)
    _, s, Vt = np.linalg.svd(J @ L, full_matrices=False)
    stopped = (s > MIN_SINGULAR_VALUE * s.max(initial=0.0)) * (Vt @ w)
    return L @ (w - stopped @ Vt), 0.5 * float(stopped @ stopped)


@dataclass
class ModeSelection:
    """Forces and accelerations of ``resting`` points, which touch the ground and do not move along its normal.

    Each carries (``push > 0``, no acceleration out of the ground) or begins to leave (no force, acceleration out of
    it); those that carry and do not slide yet hold or begin to slide against their friction: the law of Moreau and
    Coulomb once more, for forces and accelerations.  Points are ``open`` too where the others carry all of the load and
    hold them where they are, as the fourth leg of a table is.
    """

    contact: HardContacts
    model: Model
    at: ContactKinematics
    applied: np.ndarray
    resting: list[int]
    before: Mode
    """status of points until now, with their ``memory``"""
    memory: np.ndarray
    touched: list[int]
    """those that took part in the event, whether they rest now or not"""

    def __post_init__(self) -> None:
        c, at, axes = self.contact, self.at, self.contact.axes(self.model)
        self.J, self.bias = {}, {}
        for k in self.resting:
            self.J[k] = J = at.J[k][axes[k]]
            held = {OPEN: 0, SLIDE: 1, STICK: len(J)}[self.before[k]]  # so many rows, where they were
            drifted = (at.places[k] - ContactState.of_point(self.memory, k).place)[axes[k]]
            off = np.where(np.arange(len(J)) < held, drifted, 0.0)
            self.bias[k] = at.biases[k][axes[k]] + drift(c, J @ at.state.velocity, off)
        speeds = {k: self.J[k][1:] @ at.state.velocity for k in self.resting}
        self.moving = {k for k, v in speeds.items() if np.linalg.norm(v) > REVERSAL_SPEED}
        self.ways: dict[int, np.ndarray] = {}

    def settle(self, mode: Mode) -> tuple[Mode, np.ndarray] | None:
        """The mode and the memory that follow on ``mode``; None where no forces keep the law.

        All resting points are held at first.  Then one changes at a time, the worst fault first; where that turns in a
        circle, in any order (always the same).
        """
        mode = self._with(mode, {k: self._closed(k) for k in self.resting})
        seen: set[Mode] = set()
        rng = np.random.default_rng(0)
        for _ in range(MAX_MODE_CHANGES):
            memory = self._memory_of_mode(mode)
            faults = self._faults(mode, memory)
            if not faults:
                return mode, memory
            k, (_, status, way) = faults[rng.integers(len(faults)) if mode in seen else 0]
            if way is not None:
                self.ways[k] = way
            if status != mode[k]:
                seen.add(mode)
            mode = self._with(mode, {k: status})
        return None

    def _closed(self, k: int) -> str:
        return SLIDE if k in self.moving or self.contact.coefficient(k) == 0.0 else STICK

    def _with(self, mode: Mode, statuses: dict[int, str]) -> Mode:
        return tuple(statuses.get(k, s) for k, s in enumerate(mode))

    def _memory_of_mode(self, mode: Mode) -> np.ndarray:
        """The memory in a new mode: a point that was closed stays at its height, one that sticks at its place."""
        memory = self.memory.copy()
        for k, (status, old) in enumerate(zip(mode, self.before, strict=True)):
            place, way = ContactState.of_point(memory, k)
            if status == old == STICK or (status == old == OPEN and k not in self.touched):
                continue
            new, new_way = self.contact.remembered(status, self.at, k, k in self.resting)
            stays = 1 if OPEN not in (status, old) else 0  # so many rows
            place[stays:], way[:] = new[stays:], new_way
            if status == SLIDE and k in self.ways:
                way[np.array(self.contact.axes(self.model)[k][1:], dtype=int) - 1] = self.ways[k]
        return memory

    def _faults(self, mode: Mode, memory: np.ndarray) -> list[tuple[int, Fault]]:
        """The points that break their law, the worst first, each with what it should do instead."""
        loads, held = constraint_forces(self.contact, self.model, mode, self.at, memory, self.applied)
        found = []
        for k in self.resting:
            a = self.J[k] @ held.motion + self.bias[k]
            if mode[k] == OPEN:
                fault: Fault = (-float(a[0]) - MAX_ACCELERATION_ERROR, self._closed(k), None)
            else:
                fault = max(self._closed_point_faults(k, mode[k], loads[k], a[1:], memory), key=lambda f: f[0])
            if fault[0] > 0.0:
                found.append((k, fault))
        if loads and not found and not resolved(held):
            found.append((min(loads, key=lambda k: float(loads[k].push)), (1.0, OPEN, None)))
        return sorted(found, key=lambda f: -f[1][0])

    def _closed_point_faults(self, k: int, status: str, load: Load, a: np.ndarray, memory: np.ndarray) -> list[Fault]:
        """Faults of a closed point: it pulls, or friction is beyond its bounds, or not against the motion."""
        mu, mass, rounding = self.contact.coefficient(k), self.model.mass, 0.5 * rounding_force(self.model)
        push, size = float(load.push), float(np.linalg.norm(load.drag))
        faults: list[Fault] = [((-push - rounding) / mass, OPEN, None)]
        if status == STICK and mu is not None and size > 0.0:
            faults.append(((size - mu * push - rounding) / mass, SLIDE, -load.drag / size))
        elif status == SLIDE and k not in self.moving and mu and push > 0.0 and len(a):
            along = float(sliding_direction(self.contact, self.model, memory, k) @ a)
            faults.append((-along - MAX_ACCELERATION_ERROR, STICK, None))
        return faults
