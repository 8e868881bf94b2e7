"""End of a step of :class:`.Implicit`: where it leads, what it remembers, and the works of its forces."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from ....arrays import array, concatenate, cross, less, scale, where
from ....contact.patches import guarded, summed
from ....dynamics import gravity_forces
from ...problem.loop_closure import LOOPS
from ...problem.problem import Problem
from ...problem.vector_field import layout_of
from ..linearized_forces import LinearizedForce, powers_of
from ..refinement import coarse
from .points import Point
from .step import Prediction, Start, Sweep, moving


def end_step(start: Start, last: Sweep) -> Any:
    """``[t; packed]`` at the end of a step."""
    problem, state, points, dt = start.problem, start.state, start.points, start.dt
    change = scale(dt, last.acceleration)
    velocity = state.velocity + change
    end_velocity, contact_forces = start.end_velocity(Prediction(last.moves, 1.0, None)), last.contact_forces
    late = late_part(points, contact_forces)
    moves = 0.5 + late
    way = scale(0.5 * dt, state.velocity) + scale(moves * dt, change)
    after = moving(problem.model.configuration.displace(state, way), velocity)
    linear_forces = start.limited_forces(last.prediction)
    if problem.model.loops:
        linear_forces = linear_forces | {LOOPS: LinearizedForce(last.closing, *np.zeros((2, problem.model.n)))}
    if last.prediction.joint_friction:
        linear_forces = linear_forces | {
            last.prediction.joint_friction.name: LinearizedForce(last.held, *np.zeros((2, problem.model.n)))
        }
    works = start.works + _works(start, change, linear_forces, end_velocity, contact_forces, late)
    middle = moving(state, state.velocity + 0.5 * change)
    kept = next_memory(points, end_velocity, contact_forces, moves, start.memory, dt)
    memory = concatenate([kept, problem.later(start.memory, (start.count + 0.5) * dt, middle, dt)])
    unsettled = where(less(0.0, last.settled), 0.0 * dt, 1.0 + 0.0 * dt)
    # forces that are not those of the law can create energy: such a step is taken again in quarters
    wrong = sum((patches.touched(last.moves, dt) for patches in start.patches), start=unsettled)
    again = where(less(0.5, wrong), 1.0 + 0.0 * dt, coarse(problem.model, velocity, dt))
    counts = start.counts + array([unsettled, 0.0, again])
    given = concatenate([last.acceleration, counts])
    packed = layout_of(problem, len(memory)).pack(after, memory, works, given)
    return concatenate([np.reshape(start.count + 1.0, 1), packed])


def next_memory(
    points: list[Point], end_velocity: list[Any], contact_forces: list[Any], moves: Any, memory: Any, dt: Any
) -> Any:
    """Memory of points at the end of a step, in which they move with the part ``moves`` of their change of velocity."""
    kept = [np.zeros(0)]
    for point, u, force in zip(points, end_velocity, contact_forces, strict=True):
        held, inside = point.law.anchor(point, u, force[1:], point.seen)
        held = where(inside, _slipped(point, u, held, moves, dt), 0.0 * held) if point.rolls else held
        before = memory[2 * point.number : 2 * point.number + 2]
        kept.append(guarded(point.near, held, 0.0 if point.rolls else before))  # in the air it does not matter
    return concatenate(kept)


def late_part(points: list[Point], contact_forces: list[Any]) -> Any:
    """Part beyond half of a step that moves with the change of velocity, if points landed in it under these forces.

    What stops at once moves with the velocity before until it lands, and with the one after from there on: of a floor
    that steps resolve, which slows it down by and by, nothing is late.
    """
    if not points:
        return 0.0
    pushes = [where(point.lands, force[0], 0.0 * force[0]) for point, force in zip(points, contact_forces, strict=True)]
    whole, late = summed([point.near for point in points], pushes), 0.0
    for _, part in groupby(zip(points, pushes, strict=True), key=lambda each: id(each[0].law)):
        lands = list(part)
        nears, at_once = [point.near for point, _ in lands], 2.0 * lands[0][0].seen.damper[0] - 1.0
        late = late + at_once * summed(nears, [(point.lasts - 0.5) * push for point, push in lands])
    return late / where(less(0.0, whole), whole, 1.0 + 0.0 * whole)


def _slipped(point: Point, end_velocity: Any, held: Any, moves: Any, dt: Any) -> Any:
    """Slip (2) of a ball in the middle of the next step, if it ``moves`` with this part of its change of velocity."""
    v, w = point.velocity[1:], end_velocity[1:]
    return point.position[1:] - held + scale(dt, 0.5 * (point.lasts * v + w) + moves * (w - v))


def _works(
    start: Start,
    change: Any,
    linear_forces: dict[str, LinearizedForce],
    end_velocity: list[Any],
    contact_forces: list[Any],
    late: Any,
) -> Any:
    """Works (J, two for each port) of the forces of the step along the mean of the velocities before and after.

    The ground takes what weight does ``late``.
    """
    problem, state, points = start.problem, start.state, start.points
    m, mean = problem.model.m, state.velocity + 0.5 * change
    by_law = powers_of(problem.model, state, change, linear_forces)
    twice = [point.velocity + u for point, u in zip(points, end_velocity, strict=True)]
    carried = [_with_base(problem, point, mean[:m]) for point in points]
    by_floor: list[tuple[Any, Any]] = []
    for part in (slice(0, 1), slice(1, 3)) if problem.contact else ():
        base = start.summed([f[part] @ u[part] for f, u in zip(contact_forces, carried, strict=True)])
        whole = start.summed([f[part] @ u[part] for f, u in zip(contact_forces, twice, strict=True)])
        by_floor.append((base, 0.5 * whole - base))
    impacts = [(0.0, 0.0)] if problem.contact else []
    if points:  # what moves late falls as far as it should, and not as the mean velocity says
        (base, rest), along_it = by_floor
        by_floor = [(base - late * _weighed(start, change, linear_forces, contact_forces), rest), along_it]
    powers = [np.reshape(x, 1) for pair in (*by_law, *by_floor, *impacts) for x in pair]
    return scale(start.dt, concatenate([np.zeros(0), *powers]))


def _weighed(start: Start, change: Any, linear_forces: dict[str, LinearizedForce], contact_forces: list[Any]) -> Any:
    """W: of the weight along a ``change`` of velocities (nv).

    Where the base can fall this is ``dt g . F``, with all forces ``F`` from outside, but for products of velocities.
    """
    state, model = start.state, start.problem.model
    g, S = model.gravity, model.base.selection
    falls = S[:3, ~S[3:].any(axis=0)]
    if model.loops or np.linalg.matrix_rank(np.column_stack([falls, g])) > np.linalg.matrix_rank(falls):
        return -gravity_forces(model, state) @ change
    down = model.base.coselection @ concatenate([state.pose[:3, :3].T @ g, np.zeros(3)])
    of_laws = sum((down @ one.forces[: model.m] for one in linear_forces.values()), start=model.mass * (g @ g))
    return start.dt * start.summed(
        [point.gravity @ f for point, f in zip(start.points, contact_forces, strict=True)], of_laws
    )


def _with_base(problem: Problem, point: Point, twist: Any) -> Any:
    """``3``: the velocity of a point, along normal and tangents, if the robot were rigid."""
    nu = problem.model.base.selection @ twist
    return point.base @ nu[:3] + cross(point.base @ nu[3:], point.lever)
