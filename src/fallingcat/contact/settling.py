"""After an event: which of the points that rest on the ground carry, hold, slide or begin to leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..dynamics import bias_forces, kinetic_energy
from ..model import Model, State
from .complementarity import OPEN, SLIDE, STICK, Collision
from .contact import Mode
from .points import point_motions
from .solving import hold, responding

if TYPE_CHECKING:
    from .hard import HardContacts, Load

SLOW = 1e-6
"""m/s: points slower than this are at rest."""
GRAZE = 1e-6
"""m/s^2: below this an acceleration into the ground is rounding, or stabilisation of points beside."""


Fault = tuple[float, str, np.ndarray | None]
"""How much (m/s^2) a point breaks its law, what it should do instead, and the way in which it should slide."""


class Calm(NamedTuple):
    """Velocities without those that are held back, and the kinetic energy (J) that this took."""

    state: State
    loss: float


def calm(model: Model, state: State, J: np.ndarray) -> Calm:
    """The nearest velocity (in the metric of the mass matrix) with ``J v = 0``: it can only lose energy."""
    still = hold(responding(model, state), J, J, state.velocity, np.zeros(len(J))).motion
    after = state._replace(twist=still[: model.m], rates=still[model.m :])
    return Calm(after, max(float(kinetic_energy(model, state) - kinetic_energy(model, after)), 0.0))


@dataclass
class Settling:
    """Forces and accelerations of ``resting`` points, which touch the ground and do not move along its normal.

    Each carries (``push > 0``, no acceleration out of the ground) or begins to leave (no force, acceleration out of
    it); those that carry and do not slide yet hold or begin to slide against their friction: the law of Moreau and
    Coulomb once more, for forces and accelerations.  Points are ``open`` too where the others carry all of the load and
    hold them where they are, as the fourth leg of a table is.
    """

    contact: HardContacts
    model: Model
    state: State
    applied: np.ndarray
    resting: list[int]
    before: Mode
    """what points did until now, with their ``memory``"""
    memory: np.ndarray
    touched: list[int]
    """those that took part in the event, whether they rest now or not"""

    def __post_init__(self) -> None:
        c, ground, axes = self.contact, self.contact.ground(self.model), self.contact.axes(self.model)
        motions = point_motions(self.model, self.state, [c.points[k] for k in self.resting])
        self.J, self.bias = {}, {}
        for k, motion in zip(self.resting, motions, strict=True):
            place = ground.axes[axes[k]] @ motion.position
            place[0] -= ground.height
            held = {OPEN: 0, SLIDE: 1, STICK: len(place)}[self.before[k]]  # so many rows, where they were
            off = np.where(np.arange(len(place)) < held, place - self.memory[5 * k + np.array(axes[k])], 0.0)
            self.J[k] = J = ground.axes[axes[k]] @ motion.J
            self.bias[k] = ground.axes[axes[k]] @ motion.bias + c.drift(J @ self.state.velocity, off)
        speeds = {k: self.J[k][1:] @ self.state.velocity for k in self.resting}
        self.moving = {k for k, v in speeds.items() if np.linalg.norm(v) > SLOW}
        self.weight = self.model.mass * max(1.0, float(np.linalg.norm(self.model.gravity)))

    def settle(self, mode: Mode) -> tuple[Mode, np.ndarray] | None:
        """The mode and the memory that follow on ``mode``; None where no forces keep the law.

        Tried are all resting points held, and what the law of impacts says of forces and accelerations; each with
        what its forces, shared as they will be, ask to change.
        """
        self.ways: dict[int, np.ndarray] = {}
        held = self._with(mode, {k: self._closed(k) for k in self.resting})
        found = self._pivoted(held) if self._all_slide() else self._checked(held)
        return found or self._pivoted(self._with(mode, self._shared(held)))

    def _all_slide(self) -> bool:
        """Whether it is decided which way friction points."""
        return not self.contact.friction or self.moving >= set(self.resting)

    def _checked(self, mode: Mode) -> tuple[Mode, np.ndarray] | None:
        memory = self._remembered(mode)
        return None if self._worst(mode, memory) else (mode, memory)

    def _shared(self, held: Mode) -> dict[int, str]:
        """What each point does by :class:`Collision`, for accelerations; sets the ways of those that begin to slide."""
        memory, mu = self._remembered(held), self.contact.friction or 0.0
        rows, pulled, own = [np.zeros((0, self.model.nv))], [np.zeros((0, self.model.nv))], []
        biases = [np.zeros(0)]
        for k in self.resting:
            J, count = self.J[k], 1 if held[k] == SLIDE else len(self.J[k])
            drag = mu * (self.contact.way(self.model, memory, k)[: len(J) - 1] @ J[1:]) if k in self.moving else 0.0
            first = sum(map(len, rows))
            own.append(list(range(first, first + count)))
            rows.append(J[:count])
            pulled.append(J[:count] - drag)
            biases.append(self.bias[k][:count])
        J, K = np.concatenate(rows), np.concatenate(pulled)
        respond = responding(self.model, self.state)
        free = respond(self.applied - bias_forces(self.model, self.state))
        G, before = J @ respond(K.T), J @ free + np.concatenate(biases)
        answer = Collision(G, before, tuple(own), np.zeros(len(own)), self.contact.friction).solve()
        after, statuses = before + G @ answer.impulse, {}
        for k, mine, status in zip(self.resting, own, answer.status, strict=True):
            size = float(np.linalg.norm(after[mine[1:]]))
            begins = status == SLIDE and size > 0.0
            if begins:
                self.ways[k] = after[mine[1:]] / size
            statuses[k] = OPEN if status == OPEN else SLIDE if begins else held[k]
        return statuses

    def _closed(self, k: int) -> str:
        return SLIDE if k in self.moving or self.contact.friction == 0.0 else STICK

    def _with(self, mode: Mode, statuses: dict[int, str]) -> Mode:
        return tuple(statuses.get(k, s) for k, s in enumerate(mode))

    def _pivoted(self, mode: Mode) -> tuple[Mode, np.ndarray] | None:
        seen: set[Mode] = set()
        for _ in range(20 + 10 * len(self.resting)):
            memory = self._remembered(mode)
            change = self._worst(mode, memory)
            if change is None:
                return mode, memory
            k, status, way = change
            if way is not None:
                self.ways[k] = way
            if status != mode[k]:
                if mode in seen:
                    return None
                seen.add(mode)
            mode = self._with(mode, {k: status})
        return None

    def _remembered(self, mode: Mode) -> np.ndarray:
        """The memory in a new mode: a point that was closed stays at its height, one that sticks at its place."""
        memory = self.memory.copy()
        for k, (status, old) in enumerate(zip(mode, self.before, strict=True)):
            own = slice(5 * k, 5 * k + 5)
            if status == old == STICK or (status == old == OPEN and k not in self.touched):
                continue
            new = self.contact.remembered(self.model, status, self.state, k, k in self.resting)
            if status != OPEN and old != OPEN:
                new[0] = memory[own][0]
            if status == SLIDE and k in self.ways:
                new[2 + np.array(self.contact.axes(self.model)[k][1:], dtype=int)] = self.ways[k]
            memory[own] = new
        return memory

    def _worst(self, mode: Mode, memory: np.ndarray) -> tuple[int, str, np.ndarray | None] | None:
        """The point that breaks its law most, and what it should do instead; None if all keep it."""
        loads, held = self.contact.loads(self.model, mode, self.state, memory, self.applied)
        worst: Fault = (0.0, OPEN, None)
        found = -1
        for k in self.resting:
            a = self.J[k] @ held.motion + self.bias[k]
            if mode[k] == OPEN:
                fault: Fault = (-float(a[0]) - GRAZE, self._closed(k), None)
            else:
                fault = max(self._carries(k, mode[k], loads[k], a[1:], memory), key=lambda f: f[0])
            if fault[0] > worst[0]:
                found, worst = k, fault
        return None if found < 0 else (found, *worst[1:])

    def _carries(self, k: int, status: str, load: Load, a: np.ndarray, memory: np.ndarray) -> list[Fault]:
        """What is wrong with a closed point: it pulls, or friction is beyond its bounds, or not against the motion."""
        mu, mass, hair = self.contact.friction, self.model.mass, 0.5 * self.contact.hair(self.model)
        push, size = float(load.push), float(np.linalg.norm(load.drag))
        faults: list[Fault] = [((-push - hair) / mass, OPEN, None)]
        if status == STICK and mu is not None and size > 0.0:
            faults.append(((size - mu * push - hair) / mass, SLIDE, -load.drag / size))
        elif status == SLIDE and k not in self.moving and mu and push > 0.0 and len(a):
            faults.append((-float(self.contact.way(self.model, memory, k) @ a) - GRAZE, STICK, None))
        return faults
