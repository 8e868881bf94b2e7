"""Step of :class:`.Moreau`, on any kind of number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....arrays import absolute, array, concatenate, less, maximum, minimum, scale, sqrt, where
from ....constraints import loop_closure as loops
from ....contact.patches import LinkPatches, PatchActivity, PatchCondition, ball_bottoms, margins, summed
from ....contact.rigid.solvers.cone_projection import Bounded, Closed, ImpulseSet
from ....contact.rigid.solvers.delassus import Jacobian, Lever, Response
from ....contact.rigid.solvers.proximal_newton import DIGITS, Digits, Reactions, impulses_along, parts_of, reactions
from ....contact.rigid.time_stepping.contact_jacobian import StackedJacobian
from ....contact.rigid.time_stepping.stepped_contacts import ContactMemory, SteppedContacts
from ....control import Law
from ....dynamics import inverse_dynamics
from ....model import Model, State
from ...problem.loop_closure import LOOPS
from ...problem.problem import Problem
from ...problem.vector_field import Layout, layout_of
from ..drive_speeds import DriveSpeeds
from ..implicit.step import moving
from ..linearized_forces import LinearizedForce, end_forces, linearized_forces, powers_of
from ..refinement import coarse
from ..step_arguments import StepArguments, of_arguments
from .straight_motion import straight, turned, turning

ROUNDING_HEIGHT = 1e-12
"""m or rad: heights that are rounding."""
ROUNDING_WORK = 1e-9
"""Work of reactions, relative to that along the velocities before, that is rounding."""
COUNTED = ("refined", "coarse")
"""Kinds of steps that are counted."""
Solver = Callable[[Any, Any], Reactions]
"""``(short, start) -> reactions``"""


class Rows(NamedTuple):
    """Rows along which reactions act: points and stops, then loops, then joints with dry friction."""

    jacobian: Jacobian
    """Jacobian of links, or of rows themselves"""
    levers: list[Lever]
    """maps from these to the rows of each set"""
    wanted: list[Any]
    """m/s or rad/s: the velocities that the law of each set asks for, or asks for at least"""
    sets: list[ImpulseSet]
    forces: Any
    """N or N m: those of the last step"""
    places: list[int]
    """indices of the rows of points and stops in the memory"""
    ports: list[str]
    """through which they work"""
    patches: Sequence[LinkPatches]
    """points that may be left out together"""
    activities: list[PatchActivity]
    """which of them may touch"""

    @property
    def near(self) -> list[PatchCondition | None]:
        """Conditions of each set without which it is left out, or None."""
        found: list[PatchCondition | None] = [None] * len(self.sets)
        for on_link, activity in zip(self.patches, self.activities, strict=True):
            for part, near in zip(on_link.patches, activity.nears, strict=True):
                for i in part:
                    found[i] = near
        return found

    def of(self, V: Any) -> list[Any]:
        """Velocities of the rows of each set, given ``V`` (k), one number for each row of the Jacobian."""
        return [lever.of(V) for lever in self.levers]

    @property
    def joint_forces(self) -> Any:
        """Forces (n) on joints by the reactions of the last step."""
        forces = [self.forces[part] for part in parts_of(self.sets)]
        return self.jacobian.joint_impulses(impulses_along(self.levers, self.near, forces))


class Start(NamedTuple):
    """Start of a step."""

    problem: Problem
    contact: SteppedContacts
    state: State
    kept: ContactMemory
    works: Any
    linear_forces: dict[str, LinearizedForce]
    rows: Rows
    dt: Any


class End(NamedTuple):
    """Velocity and reactions at the end of a step."""

    velocity: Any
    """``nv``, in the axes of its start"""
    found: Reactions


@of_arguments
def stepped(source: StepArguments, *, digits: Digits = DIGITS["float64"]) -> Any:
    """``x = [count; packed]`` a step of ``clock[0]`` (s) later, under held ``forces`` if there are any.

    It is a part of a step of ``clock[-1]``.
    """
    x, dt = source.x, source.clock[0]
    layout, problem, t, full_memory, start = unpacked(source)
    model, end = problem.model, solve_step(start, digits)
    kept, after = _next_memory(start, end.found), displaced(model, start.state, end.velocity, dt)
    memory_after = concatenate([*kept, problem.later(full_memory, t, moving(start.state, end.velocity), dt)])
    again = where(less(0.5, _touched(start, end)), 1.0 + 0.0 * dt, coarse(model, end.velocity, dt))
    counts = layout.carried_of(x[1:]) + array([0.0, again])
    packed = layout.pack(after, memory_after, start.works + _works(start, end), counts)
    return concatenate([np.reshape(x[0] + 1.0, 1), packed])


def unpacked(source: StepArguments) -> tuple[Layout, Problem, Any, Any, Start]:
    """Layout, problem, time (s), memory and start of the step from ``x``."""
    source = source._replace(carried=len(COUNTED))
    (problem, _), t = source.problem(source.values), source.x[0] * source.clock[0]
    layout, contact = layout_of(problem, source.memory), problem.contact
    state, memory, works = layout.unpack(source.x[1:])
    recalled = problem.with_memory(memory)[0]
    start = begin_step(recalled, contact, t, state, memory, works, source.forces, source.clock)  # type: ignore[arg-type]
    return layout, problem, t, memory, start


def begin_step(
    problem: Problem, contact: SteppedContacts, t: Any, state: State, memory: Any, works: Any, forces: Any, clock: Any
) -> Start:
    """Start of a step of ``clock[0]`` (s)."""
    dt, whole = clock[0], clock[-1]
    kept, friction_law = contact.unpack_memory(memory), dry_friction_law(problem)
    name = friction_law.name if friction_law else None
    rows = _rows(problem, contact, state, contact.stacked_jacobian(problem.model, state), kept, friction_law, dt, whole)
    about = problem, t, state, forces, contact.touched(memory), name, dt
    linear_forces = linearized_forces(*about, speeds=True, reactions=rows.joint_forces)
    drives = DriveSpeeds.begun(problem, state, linear_forces)
    if drives is not None:
        linear_forces = drives.limited(linear_forces, drives.foreseen(rows.joint_forces[drives.rates], dt))
    return Start(problem, contact, state, kept, works, linear_forces, rows, dt)


def solve_step(start: Start, digits: Digits) -> End:
    """``v+ = v + M^-1 (dt (forces - C v - g) + J' P)``."""
    model, state, rows, dt = start.problem.model, start.state, start.rows, start.dt
    forces, armature = end_forces(model, state, start.linear_forces, dt)
    impulse = scale(dt, forces - inverse_dynamics(model, state, turning(model, state.velocity)))
    response = rows.jacobian.response(armature, impulse)
    moves = rows.jacobian.of(state.velocity)
    before, free = rows.of(moves), rows.of(moves + response.free)
    soft = start.contact.softness(dt)
    soft = None if soft is None else [*soft, *[0.0] * (len(rows.sets) - len(soft))]

    def solved(short: Any, initial: Any) -> Reactions:
        return reactions(response, short, initial, rows.sets, rows.levers, digits, soft, rows.near)

    bounces = _rebounding(start.contact, rows, before, free)
    short = [concatenate([u - asked for u, asked in zip(free, each, strict=True)]) for each in (bounces, rows.wanted)]
    found = solved(short[0], scale(dt, rows.forces))
    if any(start.contact.restitutions):
        found = _passive(rows, response, concatenate(before), concatenate(free), found, short, solved)
    return End(state.velocity + response.change(found.along), found)


def _passive(
    rows: Rows, response: Response, before: Any, free: Any, bounced: Reactions, short: list[Any], solved: Solver
) -> Reactions:
    """Reactions between those with restitution and those without, as near to the first as gives no energy.

    Newton's restitution beside friction may give some.  The work ``P (u- + u+) / 2`` of what is between the two is a
    quadratic function of the share of the first.
    """

    def work(found: Reactions, *moves: Any) -> Any:
        """Work of impulses along velocities and along the change of velocity that they cause."""
        return 0.5 * (found.impulses @ sum(moves, start=concatenate(rows.of(response.velocities(found.along)))))

    given = work(bounced, before, free)
    zero = 0.0 * given
    one, gives = 1.0 + zero, less(ROUNDING_WORK * absolute(bounced.impulses @ before), given)
    plain = solved(where(gives, short[1], short[0]), bounced.impulses)
    difference = Reactions(bounced.impulses - plain.impulses, bounced.along - plain.along, zero)
    least, curve = work(plain, before, free), work(difference)
    slope = given - least - curve  # of least + slope share + curve share^2
    # the other form of the root: with 2 c / (b + root) nothing cancels where curve is small
    root = slope + sqrt(maximum(slope * slope - 4.0 * curve * least, zero))
    share = where(less(least, 0.0), -2.0 * least / where(less(0.0, root), root, one), zero)
    share = where(gives, minimum(share, one), one)
    left = where(less(bounced.left, plain.left), plain.left, bounced.left)
    return Reactions(
        plain.impulses + scale(share, difference.impulses), plain.along + scale(share, difference.along), left
    )


def dry_friction_law(problem: Problem) -> Law | None:
    """The first law of dry friction."""
    return next((law for law in problem.laws if law.dry_friction(problem.model) is not None), None)


def further_rows(problem: Problem) -> int:
    """Number of rows of loops and dry friction."""
    friction_law = dry_friction_law(problem)
    friction_joints = (
        0 if friction_law is None else np.count_nonzero(np.asarray(friction_law.dry_friction(problem.model)))
    )
    return sum(loop.count for loop in problem.model.loops) + int(friction_joints)


def _rows(
    problem: Problem,
    contact: SteppedContacts,
    state: State,
    on: StackedJacobian,
    kept: ContactMemory,
    friction_law: Law | None,
    dt: Any,
    whole: Any,
) -> Rows:
    """All that may react, whether it will or not.

    What a step has left below the ground, or open, comes back within a ``whole`` one (s): within a part of it, it would
    be thrown back.
    """
    model, (normal, tangential) = problem.model, contact.ports
    sets: list[ImpulseSet] = list(contact.cones(model))
    levers, wanted, places, ports, J = list(on.levers), list[Any](), list[int](), list[str](), list[Any]()
    # a point that rests keeps touching: heights of 1e-16 would let it fall and land again
    heights = [where(less(absolute(height), ROUNDING_HEIGHT), 0.0, height) for height in on.heights]
    # depth is corrected within the whole step, also by its parts: else a part would throw the point out
    heights = [where(less(height, 0.0), (dt / whole) * height, height) for height in heights]
    wanted += contact.wanted(heights, sets, kept.stretch, dt)
    for axes, first, cone in zip(contact.axes(model), contact.first_rows, sets, strict=True):
        places += [first + axis for axis in axes[: cone.rows]]
        ports += [normal, *[tangential] * (cone.rows - 1)]
    if model.loops:
        error, J_loops, bias = loops.equations(model, state)
        J.append(J_loops)
        wanted += [np.reshape(w, 1) for w in scale(-1.0 / whole, error) - scale(0.5 * dt, bias)]
        sets, ports = [*sets, *[Closed()] * len(error)], [*ports, *[LOOPS] * len(error)]
    if friction_law is not None:
        limits = np.asarray(friction_law.dry_friction(model))
        friction_joints = np.flatnonzero(limits)
        J.append(np.eye(model.nv)[model.m + friction_joints])
        wanted += [np.zeros(1)] * len(friction_joints)
        sets, ports = (
            [*sets, *(Bounded(limit * dt) for limit in limits[friction_joints])],
            [*ports, *[friction_law.name] * len(friction_joints)],
        )
    jacobian, further_levers = on.jacobian.with_rows(concatenate([np.zeros((0, model.nv)), *J]))
    further = range(len(kept.forces) - contact.further, len(kept.forces))
    forces = kept.forces[np.array([*places, *further], dtype=int)]
    ground, found = contact.ground(model), on.patches
    high = margins(model, ground, state, found, dt) if found else []
    bottoms = ball_bottoms(model, ground, state, found) if found else []
    own = [[[on.heights[i] for i in part] for part in x.patches] for x in found]
    activities = [PatchActivity.of(*about, len(found)) for about in zip(bottoms, own, high, strict=True)]
    return Rows(jacobian, levers + further_levers, wanted, sets, forces, places, ports, on.patches, activities)


def _touched(start: Start, end: End) -> Any:
    """Number of patches that were left out, and come near the ground by the velocity at the end."""
    rows, model = start.rows, start.problem.model
    if not rows.patches:
        return 0.0
    after = moving(start.state, end.velocity)
    low = margins(model, start.contact.ground(model), after, rows.patches, start.dt, 0.5)
    return sum(activity.touched(least) for activity, least in zip(rows.activities, low, strict=True))


def _rebounding(contact: SteppedContacts, rows: Rows, before: list[Any], free: list[Any]) -> list[Any]:
    """Velocities that sets ask for where points that reach the ground within the step bounce by their restitution.

    Given are the velocities of rows before, and without any reaction.
    """
    wanted = list(rows.wanted)
    for i, e in enumerate(contact.restitutions):
        if e:
            least = wanted[i][0]
            back = where(less(before[i][0], -contact.rest_speed), -e * before[i][0], least)
            higher = where(less(least, back), back, least)
            asked = where(less(free[i][0], least), higher, least)
            wanted[i] = concatenate([np.reshape(asked, 1), wanted[i][1:]])
    return wanted


def _next_memory(start: Start, found: Reactions) -> ContactMemory:
    """Memory of the step for the next."""
    kept, places = start.kept, start.rows.places
    forces, impulses = [0.0] * len(kept.forces), scale(1.0 / start.dt, found.impulses)
    for place, force in zip(places, impulses, strict=False):
        forces[place] = force
    forces[len(forces) - start.contact.further :] = list(impulses[len(places) :])
    left = where(less(kept.left, found.left), found.left + 0.0 * kept.left, kept.left)
    return ContactMemory(array(forces), left, start.contact.next_stretch(kept.stretch, forces, start.dt))


def displaced(model: Model, state: State, velocity: Any, dt: Any) -> State:
    """Along the velocity that a step ends with, in the axes of its start."""
    after = model.configuration.displace(state, straight(model, velocity, dt))
    return moving(after, turned(model, velocity, dt))


def _works(start: Start, end: End) -> Any:
    """J, two for each port: along the mean of the velocities before and after."""
    model, rows, state = start.problem.model, start.rows, start.state
    mean, impulses = 0.5 * (state.velocity + end.velocity), end.found.impulses
    pairs = powers_of(model, state, end.velocity - state.velocity, start.linear_forces)
    works = {name: scale(start.dt, array(list(pair))) for name, pair in zip(start.linear_forces, pairs, strict=True)}
    carried = concatenate([mean[: model.m], np.zeros(model.n)])
    base = impulses * concatenate(rows.of(rows.jacobian.of(carried)))
    whole = impulses * concatenate(rows.of(rows.jacobian.of(mean)))
    nears = [near for near, one in zip(rows.near, rows.sets, strict=True) for _ in range(one.rows)]
    for port in dict.fromkeys(rows.ports):
        mine = [k for k, own in enumerate(rows.ports) if own == port]
        terms = [array([base[k], whole[k] - base[k]]) for k in mine]
        works[port] = summed([nears[k] for k in mine], terms, works.get(port, np.zeros(2)))
    return concatenate([np.zeros(0), *(works.get(port, np.zeros(2)) for port in start.problem.ports)])
