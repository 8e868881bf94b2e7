"""After an event: which of the points that rest on the ground carry, hold, slide or begin to leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import NumericsError
from ..model import Model, State
from .complementarity import OPEN, SLIDE, STICK, Collision
from .contact import Mode
from .situation import Situation
from .solving import hold

if TYPE_CHECKING:
    from .hard import HardContacts, Load

SLOW = 1e-4
"""m/s: points slower than this are at rest."""
MOST_CHANGES = 300
GRAZE = (1e-6, 1e-3)
"""m/s^2: below this an acceleration into the ground is rounding, or stabilisation of points beside; where that gives no
answer, what forces of points that nearly depend on each other may leave."""


Fault = tuple[float, str, np.ndarray | None]
"""How much (m/s^2) a point breaks its law, what it should do instead, and the way in which it should slide."""


class Calm(NamedTuple):
    """Velocities without those that are held back, and the kinetic energy (J) that this took."""

    state: State
    loss: float


def calm(model: Model, at: Situation, J: np.ndarray) -> Calm:
    """The nearest velocity (in the metric of the mass matrix) with ``J v = 0``: it can only lose ``-x' J v / 2``."""
    v = at.state.velocity
    held = hold(at.respond, J, J, v, np.zeros(len(J)))
    after = at.state._replace(twist=held.motion[: model.m], rates=held.motion[model.m :])
    return Calm(after, max(-0.5 * float(held.forces @ (J @ v)), 0.0))


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
    at: Situation
    applied: np.ndarray
    resting: list[int]
    before: Mode
    """what points did until now, with their ``memory``"""
    memory: np.ndarray
    touched: list[int]
    """those that took part in the event, whether they rest now or not"""

    def __post_init__(self) -> None:
        c, at, axes = self.contact, self.at, self.contact.axes(self.model)
        self.J, self.bias = {}, {}
        for k in self.resting:
            self.J[k] = J = at.J[k][axes[k]]
            held = {OPEN: 0, SLIDE: 1, STICK: len(J)}[self.before[k]]  # so many rows, where they were
            off = np.where(np.arange(len(J)) < held, (at.places[k] - self.memory[5 * k : 5 * k + 3])[axes[k]], 0.0)
            self.bias[k] = at.biases[k][axes[k]] + c.drift(J @ at.state.velocity, off)
        speeds = {k: self.J[k][1:] @ at.state.velocity for k in self.resting}
        self.moving = {k for k, v in speeds.items() if np.linalg.norm(v) > SLOW}

    def settle(self, mode: Mode) -> tuple[Mode, np.ndarray] | None:
        """The mode and the memory that follow on ``mode``; None where no forces keep the law.

        Tried are all resting points held, and what the law of impacts says of forces and accelerations; each with
        what its forces, shared as they will be, ask to change.
        """
        held = self._with(mode, {k: self._closed(k) for k in self.resting})
        for self.graze in GRAZE:
            self.ways: dict[int, np.ndarray] = {}
            found = self._pivoted(held) if self._all_slide() else self._checked(held)
            try:
                found = found or self._pivoted(self._with(mode, self._shared(held)))
            except NumericsError:  # points that slide may have no answer, or many (Painleve)
                continue
            if found:
                return found
        return None

    def _all_slide(self) -> bool:
        """Whether it is decided which way friction points."""
        return not self.contact.friction or self.moving >= set(self.resting)

    def _checked(self, mode: Mode) -> tuple[Mode, np.ndarray] | None:
        memory = self._remembered(mode)
        return None if self._faults(mode, memory) else (mode, memory)

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
        free = self.at.respond(self.applied - self.at.bias_forces)
        G, before = J @ self.at.respond(K.T), J @ free + np.concatenate(biases)
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
        """One change at a time, the worst fault first; where that turns in a circle, in any order (always the same)."""
        seen: set[Mode] = set()
        rng = np.random.default_rng(0)
        for _ in range(MOST_CHANGES):
            memory = self._remembered(mode)
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

    def _remembered(self, mode: Mode) -> np.ndarray:
        """The memory in a new mode: a point that was closed stays at its height, one that sticks at its place."""
        memory = self.memory.copy()
        for k, (status, old) in enumerate(zip(mode, self.before, strict=True)):
            own = slice(5 * k, 5 * k + 5)
            if status == old == STICK or (status == old == OPEN and k not in self.touched):
                continue
            new = self.contact.remembered(status, self.at, k, k in self.resting)
            if status != OPEN and old != OPEN:
                new[0] = memory[own][0]
            if status == SLIDE and k in self.ways:
                new[2 + np.array(self.contact.axes(self.model)[k][1:], dtype=int)] = self.ways[k]
            memory[own] = new
        return memory

    def _faults(self, mode: Mode, memory: np.ndarray) -> list[tuple[int, Fault]]:
        """The points that break their law, the worst first, each with what it should do instead."""
        loads, held = self.contact.loads(self.model, mode, self.at, memory, self.applied)
        found = []
        for k in self.resting:
            a = self.J[k] @ held.motion + self.bias[k]
            if mode[k] == OPEN:
                fault: Fault = (-float(a[0]) - self.graze, self._closed(k), None)
            else:
                fault = max(self._carries(k, mode[k], loads[k], a[1:], memory), key=lambda f: f[0])
            if fault[0] > 0.0:
                found.append((k, fault))
        return sorted(found, key=lambda f: -f[1][0])

    def _carries(self, k: int, status: str, load: Load, a: np.ndarray, memory: np.ndarray) -> list[Fault]:
        """What is wrong with a closed point: it pulls, or friction is beyond its bounds, or not against the motion."""
        mu, mass, hair = self.contact.friction, self.model.mass, 0.5 * self.contact.hair(self.model)
        push, size = float(load.push), float(np.linalg.norm(load.drag))
        faults: list[Fault] = [((-push - hair) / mass, OPEN, None)]
        if status == STICK and mu is not None and size > 0.0:
            faults.append(((size - mu * push - hair) / mass, SLIDE, -load.drag / size))
        elif status == SLIDE and k not in self.moving and mu and push > 0.0 and len(a):
            faults.append((-float(self.contact.way(self.model, memory, k) @ a) - self.graze, STICK, None))
        return faults
