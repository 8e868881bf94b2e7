"""After an event: which of the points that rest on the ground carry, hold, slide or begin to leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....constraints.redundant_constraints import MAX_ACCELERATION_ERROR
from ....errors import NumericsError
from ....geometry.contact_points import stacked
from ....model import Model, State
from ...base import Mode
from .complementarity import MIN_SINGULAR_VALUE, OPEN, SLIDE, STICK, Collision, Impulses
from .contact_kinematics import ContactKinematics
from .force_distribution import centred

if TYPE_CHECKING:
    from ..hard_contacts import HardContacts, Load

REVERSAL_SPEED = 1e-4
"""m/s: points slower than this are at rest when their friction turns round.  It is a tenth of the default
``rest_speed``; a stop from it takes 5e-9 J per kilogram; and friction has lost their way already
(:data:`.FRICTION_TURNING_SPEED`)."""
MAX_MODE_CHANGES = 60
"""Changes of the modes of points that are tried for one state before it is given up."""
MIN_SHARED_FORCE = 1e6
"""Forces below so many of :meth:`HardContacts.hair`, 1e-4 of the weight, are not worth a share: a point that pushes no
more begins to leave, or idles, if the others can carry without it."""


Fault = tuple[float, str, np.ndarray | None]
"""How much (m/s^2) a point breaks its law, what it should do instead, and the way in which it should slide."""


class Calm(NamedTuple):
    """Velocities without those that are held back, and the kinetic energy (J) that this took."""

    state: State
    loss: float


def calm(model: Model, at: ContactKinematics, J: np.ndarray) -> Calm:
    """The nearest velocity (in the metric of the mass matrix) with ``J v = 0``: it can only lose energy."""
    v, loss = without(at, J, at.state.velocity)
    return Calm(at.state._replace(twist=v[: model.m], rates=v[model.m :]), loss)


def without(at: ContactKinematics, J: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, float]:
    """A velocity ``v`` (nv) without what ``J`` holds back, and the kinetic energy of that.

    With ``M^-1 = L L'`` and ``v = L w`` it is the nearest ``w`` with ``J L w = 0``; loops leave fewer motions ``N w``.
    """
    N = np.eye(len(v)) if at.motions is None else at.motions
    root = np.linalg.cholesky(N.T @ at.respond(N))
    L, w = N @ root, np.linalg.solve(root, N.T @ v)
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
            off = np.where(np.arange(len(J)) < held, (at.places[k] - c.kept(self.memory, k).place)[axes[k]], 0.0)
            self.bias[k] = at.biases[k][axes[k]] + c.drift(J @ at.state.velocity, off)
        speeds = {k: self.J[k][1:] @ at.state.velocity for k in self.resting}
        self.moving = {k for k, v in speeds.items() if np.linalg.norm(v) > REVERSAL_SPEED}
        self.ways: dict[int, np.ndarray] = {}
        self.shares: dict[int, np.ndarray] = {}

    def settle(self, mode: Mode) -> tuple[Mode, np.ndarray] | None:
        """The mode and the memory that follow on ``mode``; None where no forces keep the law.

        Tried are all resting points held, with forces of least norm; then what the law of impacts says of forces and
        accelerations, with its shares of the load.
        """
        held = self._with(mode, {k: self._closed(k) for k in self.resting})
        memory = self._remembered(held)
        if not self._faults(held, memory):
            return held, memory
        try:
            return self._pivoted(self._with(mode, self._shared(held)))
        except NumericsError:  # points that slide may have no answer, or many (Painleve)
            return self._pivoted(held)

    def _shared(self, held: Mode) -> dict[int, str]:
        """Status of each point by :class:`Collision`, for accelerations; sets shares and new sliding directions."""
        law = self._law(held)
        forces, slides = self._eased(law, law.solve())
        statuses = {}
        for k, own, begins in zip(self.resting, law.rows, slides, strict=True):
            x = forces[own]
            if begins:
                self.ways[k] = -x[1:] / np.linalg.norm(x[1:])
            self.shares[k] = np.zeros(3)
            self.shares[k][self.contact.axes(self.model)[k][: len(x)]] = x
            faint = x[0] <= MIN_SHARED_FORCE * self.contact.hair(self.model)
            statuses[k] = OPEN if faint else SLIDE if begins else held[k]
        return statuses

    def _law(self, held: Mode) -> Collision:
        """The law of impacts, for forces and accelerations of resting points; those that move have one row."""
        memory, mu = self._remembered(held), self.contact.friction
        rows: list[np.ndarray] = []
        pulled, biases, own = [], [], []
        for k in self.resting:
            J, count = self.J[k], 1 if held[k] == SLIDE else len(self.J[k])
            first = sum(len(other) for other in rows)
            own.append(list(range(first, first + count)))
            rows.append(J[:count])
            pulled.append(J[:count])
            if mu and k in self.moving:  # friction comes with the push
                pulled[-1] = J[:1] - mu * (self.contact.way(self.model, memory, k)[: len(J) - 1] @ J[1:])
            biases.append(self.bias[k][:count])
        J, K, respond = stacked(rows, self.model.nv), stacked(pulled, self.model.nv), self.at.respond
        before = J @ respond(self.applied - self.at.bias_forces) + np.concatenate([np.zeros(0), *biases])
        return Collision(J @ respond(K.T), before, tuple(own), np.zeros(len(own)), mu)

    def _eased(self, law: Collision, answer: Impulses) -> tuple[np.ndarray, np.ndarray]:
        """Forces of the same effect as the answer, well within their bounds, and with which points begin to slide.

        At the limit of friction a point may be held still by others, or touch without a load.  Where the load can be
        shared so that all that do not move carry and are within friction it is: else each would slip or lift off by its
        share, and none by its motion.  Else those that do not carry leave; else it is the answer itself.
        """
        x, after = answer.impulse, law.before + law.G @ answer.impulse
        slides, idle = [], []
        for own, status in zip(law.rows, answer.status, strict=True):
            slides.append(status == SLIDE and bool(np.linalg.norm(after[own[1:]]) > MAX_ACCELERATION_ERROR))
            idle.append(status == OPEN)
        for leaves in (
            [i and a > MAX_ACCELERATION_ERROR for i, a in zip(idle, after[[own[0] for own in law.rows]], strict=True)],
            idle,
        ):
            ways = []
            for own, slid, left in zip(law.rows, slides, leaves, strict=True):
                way = x[own] / x[own[0]] if slid else np.zeros(len(own))
                ways.append(way[:, None] if slid else np.eye(len(own))[:, : 0 if left else None])
            eased = centred(law, x, ways)
            if eased is not None:
                return eased, np.array(slides)
        pairs = zip(law.rows, answer.status, strict=True)
        return x, np.array([s == SLIDE and bool(x[own[1:]].any()) for own, s in pairs])

    def _closed(self, k: int) -> str:
        return SLIDE if k in self.moving or self.contact.friction == 0.0 else STICK

    def _with(self, mode: Mode, statuses: dict[int, str]) -> Mode:
        return tuple(statuses.get(k, s) for k, s in enumerate(mode))

    def _pivoted(self, mode: Mode) -> tuple[Mode, np.ndarray] | None:
        """One change at a time, the worst fault first; where that turns in a circle, in any order (always the same)."""
        seen: set[Mode] = set()
        rng = np.random.default_rng(0)
        for _ in range(MAX_MODE_CHANGES):
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
            place, way, share = self.contact.kept(memory, k)
            share[:] = self.shares[k] if status != OPEN and k in self.shares else 0.0
            if status == old == STICK or (status == old == OPEN and k not in self.touched):
                continue
            new, new_way, _ = self.contact.remembered(status, self.at, k, k in self.resting)
            stays = 1 if OPEN not in (status, old) else 0  # so many rows
            place[stays:], way[:] = new[stays:], new_way
            if status == SLIDE and k in self.ways:
                way[np.array(self.contact.axes(self.model)[k][1:], dtype=int) - 1] = self.ways[k]
        return memory

    def _faults(self, mode: Mode, memory: np.ndarray) -> list[tuple[int, Fault]]:
        """The points that break their law, the worst first, each with what it should do instead."""
        loads, held = self.contact.loads(self.model, mode, self.at, memory, self.applied)
        found = []
        for k in self.resting:
            a = self.J[k] @ held.motion + self.bias[k]
            if mode[k] == OPEN:
                fault: Fault = (-float(a[0]) - MAX_ACCELERATION_ERROR, self._closed(k), None)
            else:
                fault = max(self._carries(k, mode[k], loads[k], a[1:], memory), key=lambda f: f[0])
            if fault[0] > 0.0:
                found.append((k, fault))
        if loads and not found and not self.contact.resolved(held):
            found.append((min(loads, key=lambda k: float(loads[k].push)), (1.0, OPEN, None)))
        return sorted(found, key=lambda f: -f[1][0])

    def _carries(self, k: int, status: str, load: Load, a: np.ndarray, memory: np.ndarray) -> list[Fault]:
        """Faults of a closed point: it pulls, or friction is beyond its bounds, or not against the motion."""
        mu, mass, hair = self.contact.friction, self.model.mass, 0.5 * self.contact.hair(self.model)
        push, size = float(load.push), float(np.linalg.norm(load.drag))
        faults: list[Fault] = [((-push - hair) / mass, OPEN, None)]
        if status == STICK and mu is not None and size > 0.0:
            faults.append(((size - mu * push - hair) / mass, SLIDE, -load.drag / size))
        elif status == SLIDE and k not in self.moving and mu and push > 0.0 and len(a):
            faults.append((-float(self.contact.way(self.model, memory, k) @ a) - MAX_ACCELERATION_ERROR, STICK, None))
        return faults
