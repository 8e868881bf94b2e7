"""Laws that ask what touches: in steps that locate nothing they switch up to half a step early or late."""

from __future__ import annotations

import functools
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from ...arrays.types import Vector
from ...contact.capabilities import LinearizedForces, offers
from ...control import Law
from ...dynamics import mass_matrix
from ...model import State
from ..outcome import Diagnostic, DiagnosticKind
from ..problem.compiled_dynamics import cached_kernel
from ..problem.contact_branches import asks
from ..problem.problem import Problem
from ..step_size import at_most

MAX_SWITCH_ERROR = 0.05
"""Part of the fastest rate that a switch may be wrong by, in a run that is called finished."""
MAX_SAMPLES = 16
"""Samples, at most."""


def thinned(many: Any) -> Any:
    """:data:`MAX_SAMPLES` of them, at most."""
    return many if len(many) <= MAX_SAMPLES else many[np.linspace(0, len(many) - 1, MAX_SAMPLES).round().astype(int)]


def late_switches(
    problem: Problem, samples: Sequence[tuple[float, State, Vector]], fastest: float, dt: float
) -> Diagnostic | None:
    """Warning of laws that ask what touches and change rates by too much in half a step of ``dt`` (s).

    That is ``dt M^-1 (F - F') / 2`` with their forces if all points touch, and if none does, beside the ``fastest`` of
    the rates, at any of these samples: time, state, memory of contact and laws.
    """
    if not samples or fastest == 0.0 or not (laws := asking(problem, *samples[0][:2])):
        return None
    worst = max(_jump(problem, {law.name for law in laws}, *each) for each in samples)
    moved, limit = 0.5 * dt * worst, MAX_SWITCH_ERROR * fastest
    if moved <= limit:
        return None
    who, enough = ", ".join(repr(law.name) for law in laws), at_most(2.0 * MAX_SWITCH_ERROR * fastest / worst)
    message = (
        f"{who}, switched up to half a step late where points touch, moved a joint by {moved:.2g} of "
        f"{fastest:.2g} rad/s or m/s"
    )
    advice = f"take at most {enough:g} s, or an integrator that locates events"
    return Diagnostic(DiagnosticKind.LATE_SWITCH, message, moved, limit, advice, laws[0].name)


def asking(problem: Problem, t: float, state: State) -> list[Law]:
    """The laws that depend on which points of a compliant contact touch; found once."""
    floor, model = problem.contact, problem.model
    if floor is None or not offers(floor, LinearizedForces):
        return []
    laws, points = [law for law in problem.laws if not (law.saturates or law.ignores_contact)], floor.points
    if not laws:
        return []

    def found() -> list[int]:
        known = [law.with_memory(np.asarray(law.begin(model, state), dtype=float)) for law in laws]
        return [i for i, law in enumerate(known) if asks(functools.partial(law.forces, model, t, state), points)]

    return [laws[i] for i in cached_kernel((asking, model, *laws, points), found)]


def _jump(problem: Problem, names: Container[str], t: float, state: State, memory: Vector) -> float:
    """Acceleration (rad/s^2 or m/s^2) by which laws of these names move a joint more, or less, if points touch."""
    model, floor = problem.model, problem.contact
    laws = [law for law in problem.with_memory(memory)[0].laws if law.name in names]
    assert floor is not None
    forces = (
        sum(np.asarray(law.forces(model, t, state, known), dtype=float) for law in laws)
        for known in (frozenset(floor.points), frozenset[str]())
    )
    touching, apart = forces
    M = np.asarray(mass_matrix(model, state), dtype=float)
    found = np.linalg.lstsq(M, touching - apart, rcond=None)[0]  # springs may be all that resists
    return float(np.abs(found[model.m :]).max())
