"""Runs of robots with closed loops: constraints that hold at every stage of a step, from a start that is closed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import any_nonzero, argument_sizes, concatenate, is_numeric, scale, solve
from ...caching import cached_property
from ...compiler import compile, fields
from ...constraints import loop_closure as loops
from ...constraints.redundant_constraints import TreeResponse, regularize, solve_constraint_forces
from ...dynamics import mass_matrix
from ...dynamics.sweeps import places_above
from ...errors import ModelError
from ...model import Model, State

LOOPS = "loops"
"""The port of the forces in loops; they work by what stabilisation draws back only."""
MAX_START_OPENING = 1e-7
"""m or rad: what counts as closed at the start of a run; redundant loops of files close to their eighth digit"""
MAX_START_OPENING_RATE = 1e-8
"""The same of rates, per second beside rates of 1."""
MAX_OPENING = 1e-6
"""m or rad: beyond it at any time, the status of a run says so"""


def closed_motion(model: Model, state: State, forces: Any) -> tuple[Any, Any]:
    """Acceleration (nv) under ``forces`` (nv) that keeps loops closed, and the forces (nv) in them."""
    if is_numeric(forces) and is_numeric(state.pose):
        both = _kernel(model)(*fields(state), forces)
    else:
        both = closed_motion_at(model, state, forces)
    return both[: model.nv], both[model.nv :]


@argument_sizes(forces="nv")
def closed_motion_at(model: Model, state: State, forces: Any) -> Any:
    """Acceleration and forces in loops, one after the other."""
    found, J = loops.constrained_motion(model, state, forces, loops.STABILIZATION)
    return concatenate([found.acceleration, J.T @ found.multipliers])


def closing_forces(model: Model, state: State, free: Any, mass: Any, dt: Any) -> Any:
    """Forces (nv) in loops that close them at the end of a step of ``dt`` (s).

    In its middle the robot is at ``state``, with the velocity before it; it would else accelerate by ``free`` (nv) with
    this ``mass`` (nv x nv).

    From an ``open`` start that opens at a ``rate``, the error here is ``open + dt rate / 2 + dt^2 bias / 8``, but for
    third powers of ``dt``.  With ``J v+ = -error / dt - 3 dt bias / 8`` what was open or opens is gone after two steps,
    and nothing adds up.
    """
    error, J, bias = loops.equations(model, state)
    demand = scale(-1.0 / dt, J @ state.velocity + scale(1.0 / dt, error)) - 0.375 * bias
    return J.T @ solve_constraint_forces(TreeResponse(mass, places_above(model)), J, J, free, demand).forces


class InnerLoops:
    """Loops within a robot at a shape: equations ``error(q) = 0`` between its joints, whatever its base does.

    ``resists`` (n) adds to the inertia of joints.
    """

    def __init__(self, model: Model, still: State, resists: Any = 0.0) -> None:
        self.model, self.still, self.resists, (_, self.J) = model, still, resists, self._at(model, still)

    @staticmethod
    def _at(model: Model, still: State) -> tuple[Any, Any]:
        """Error and Jacobian; where they are closed, the base has no say."""
        error, J, _ = loops.equations(model, still)
        return error, concatenate([np.zeros((len(J), model.m)), J[:, model.m :]], axis=1)

    @cached_property
    def _mass(self) -> Any:
        more = concatenate([np.zeros(self.model.m), self.resists + np.zeros(self.model.n)])
        return mass_matrix(self.model, self.still) + more[:, None] * np.eye(self.model.nv)

    def _respond(self, forces: Any) -> Any:
        return self._response(forces)

    @cached_property
    def _response(self) -> TreeResponse:
        return TreeResponse(self._mass, places_above(self.model))

    def forces(self, impulses: Any) -> Any:
        """``n``: on the joints, of one for each row."""
        return self.J[:, self.model.m :].T @ impulses

    def correction(self, there: State, dt: Any) -> tuple[Any, Any]:
        """Rates at which the loops open on a way of ``dt`` (s) from here to another shape, and impulses against them.

        The impulses, here, would take the rates away, but for rounding times the ratio of masses: good enough for one
        pass of many.
        """
        if not len(self.J):
            return np.zeros(0), np.zeros(0)
        error, J = self._at(self.model, there)
        opening = scale(1.0 / dt, error)
        if isinstance(self.J, np.ndarray) and not any_nonzero(self.J):  # of links that cannot move beside each other
            return opening, np.zeros(len(self.J))
        filled, beyond = regularize(self.J, J @ self._respond(self.J.T))
        x = solve(filled, beyond(opening) - opening)
        return opening, x - beyond(x)

    def kept(self, velocity: Any) -> Any:
        """The velocity (nv) after the least impulses in them with which they stay closed."""
        if not len(self.J):
            return velocity
        return solve_constraint_forces(self._response, self.J, self.J, velocity, np.zeros(len(self.J))).motion


def row_count(model: Model) -> int:
    """Number of equations of the loops of a robot."""
    return sum(loop.count for loop in model.loops)


def opening_at(model: Model, state: State) -> Any:
    """Errors of all loops, and their rates, one after the other."""
    rows = loops.equations(model, state)
    return concatenate([rows.error, rows.jacobian @ state.velocity])


@functools.lru_cache(maxsize=8)
def _kernel(model: Model) -> Callable[..., Any]:
    return compile(model, closed_motion_at, state=State._fields)


@functools.lru_cache(maxsize=8)
def _openings(model: Model) -> Callable[..., np.ndarray]:
    """``(poses, joints, twists, rates) -> N x 2k``."""
    kernel = compile(model, opening_at, state=State._fields)
    return lambda poses, joints, twists, rates: np.asarray(kernel(poses[:, :3], joints, twists, rates))


def loop_errors(model: Model, *states: np.ndarray) -> np.ndarray:
    """``N``: how far the worst loop is open (m or rad), given poses, joints, twists and rates of ``N`` states."""
    return np.abs(_openings(model)(*states)[:, : row_count(model)]).max(axis=1, initial=0.0)


def check_closed(model: Model, *states: np.ndarray) -> None:
    """An error that names a loop that is open, or that opens, at the start."""
    if not model.loops:
        return
    names = [loop.name for loop in model.loops for _ in range(loop.count)]
    error, rate = np.split(np.abs(_openings(model)(*states)), 2, axis=1)
    fast = 1.0 + max(np.abs(x).max(initial=0.0) for x in states[2:])
    limits = (MAX_START_OPENING, "is open by"), (MAX_START_OPENING_RATE * fast, "opens at a rate of")
    for found, (most, what) in zip((error, rate), limits, strict=True):
        if found.max() > most:
            worst = names[int(np.unravel_index(np.argmax(found), found.shape)[1])]
            way = "fc.constraints.assemble(model, state) gives a state near it that is closed"
            raise ModelError(f"loop {worst!r} {what} {found.max():.3g} at the start: {way}")
