"""Hard contacts of many points on plain numbers: one kernel for all modes, and the small problem of a mode in NumPy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ....constraints.redundant_constraints import MAX_ACCELERATION_ERROR, hold
from ....model import Model, State
from ...base import Mode, Touch
from ..hard_contacts import FRICTION_TURNING_SPEED, MAX_SLIP_SPEED, HardContacts
from ..joint_stops import with_stops
from .complementarity import OPEN, SLIDE, STICK
from .contact_kinematics import ContactKinematics, situations
from .contact_state import TOUCHDOWN_DEPTH, ContactState
from .loop_projection import project_onto_loops
from .mode_transition import ROUNDING_SPEED

GUARDS = ("gap", "push", "stop", "cone", "hold -", "hold +")
"""The kinds of guards, in the order in which they are worked out for all points."""


class ModePlan(NamedTuple):
    """Indices of the numbers of all points that a mode needs."""

    rows: np.ndarray
    """of ``3 points`` rows, those that are held"""
    sliding: np.ndarray
    """points that slide"""
    sliding_rows: np.ndarray
    """their places among ``rows``"""
    turning: np.ndarray
    """points whose way turns"""
    guards: tuple[np.ndarray, np.ndarray]
    """which of :data:`GUARDS`, of which point"""


class NumericModes(HardContacts):
    """The same as :class:`HardContacts`, with all points at once."""

    def see(self, model: Model, state: State) -> ContactKinematics:
        """Contact kinematics of points and stops, within loop closures, by a kernel."""
        at = situations(model, self.points, self.normal, self.height, self.radii, self.terrain)(state)
        return project_onto_loops(with_stops(at, model, self.stops), model)

    def touch(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Touch:
        """Forces, rate of the memory and guards, from one solution in whole arrays."""
        at, kept, plan, mu = (
            self.see(model, state),
            ContactState.of(ContactState.table(memory)),
            _plan(self, model, mode),
            self.friction,
        )
        v, a_free = at.J @ state.velocity, at.respond(applied - at.bias_forces)
        way = kept.way / np.maximum(np.linalg.norm(kept.way, axis=1), 1e-300)[:, None]
        J = at.J.reshape(-1, model.nv)[plan.rows]
        K, s = J.copy(), plan.sliding
        K[plan.sliding_rows] -= (mu or 0.0) * (way[s, :, None] * at.J[s, 1:]).sum(axis=1)
        demand = -(at.biases + self.drift(v, at.places - kept.place)).reshape(-1)[plan.rows]
        share = kept.share.reshape(-1)[plan.rows]
        held = hold(at.respond, J, K, a_free, demand, share)
        F = np.zeros((len(mode), 3))
        F.reshape(-1)[plan.rows] = held.forces
        F[s, 1:] = -(mu or 0.0) * F[s, :1] * way[s]
        forces = {"contact normal": F[:, 0] @ at.J[:, 0], "contact tangential": np.tensordot(F[:, 1:], at.J[:, 1:], 2)}
        rate = np.zeros(len(memory))
        ContactState.of(ContactState.table(rate)).way[plan.turning] = self._turns(at, v, way, plan.turning, held.motion)
        guards = self._all_guards(model, at, kept, v, way, F)[plan.guards]
        moved = v.reshape(-1)[plan.rows]
        strain = np.sqrt(moved @ moved) * (1.0 / MAX_SLIP_SPEED)
        return Touch(forces, rate, np.append(guards, held.reserve + MAX_ACCELERATION_ERROR**2), strain, held.motion)

    def _turns(self, at: ContactKinematics, v: np.ndarray, way: np.ndarray, i: np.ndarray, a: np.ndarray) -> np.ndarray:
        """As :meth:`HardContacts.memory_rate` has it, of the points ``i``."""
        v, w = v[i, 1:], way[i]
        change = at.J[i, 1:] @ a + at.biases[i, 1:] + self.frequency * v
        across = change - (w * change).sum(axis=1)[:, None] * w
        return np.asarray(across / np.sqrt((v**2).sum(axis=1) + FRICTION_TURNING_SPEED**2)[:, None])

    def _all_guards(
        self, model: Model, at: ContactKinematics, kept: ContactState, v: np.ndarray, way: np.ndarray, F: np.ndarray
    ) -> np.ndarray:
        """:data:`GUARDS` x points."""
        hair, drag = self.hair(model), F[:, 1:]
        limit, along = (self.friction or 0.0) * F[:, 0] + hair, drag.sum(axis=1)  # planar points have one tangent
        gap, stop = at.places[:, 0] - kept.place[:, 0] + TOUCHDOWN_DEPTH, (way * v[:, 1:]).sum(axis=1) + ROUNDING_SPEED
        cone = limit - np.sqrt((drag**2).sum(axis=1))
        return np.array([gap, F[:, 0] + hair, stop, cone, limit - along, limit + along])


@lru_cache(maxsize=4096)
def _plan(contact: NumericModes, model: Model, mode: Mode) -> ModePlan:
    axes = contact.axes(model)
    counts = [{OPEN: 0, SLIDE: 1, STICK: len(a)}[s] for s, a in zip(mode, axes, strict=True)]
    rows = np.concatenate([np.zeros(0, dtype=int), *(3 * i + axes[i][:n] for i, n in enumerate(counts))])
    sliding = np.array([i for i, s in enumerate(mode) if s == SLIDE], dtype=int)
    turning = [i for i in sliding if contact.friction and len(axes[i]) > 2]
    guarded = contact.guarded(model, mode)
    kinds = np.array([GUARDS.index(what) for _, what in guarded], dtype=int)
    whose = np.array([i for i, _ in guarded], dtype=int)
    first = np.cumsum([0, *counts])
    return ModePlan(rows, sliding, first[sliding], np.array(turning, dtype=int), (kinds, whose))
