"""Derivatives of steps of :class:`.Moreau`, through the solution of the contact law on its active set.

Velocity ``v+`` and impulses ``x`` of a step solve ``ID(q, v, a) = f + J' x / dt`` and
``x = nearest(x - r (u - asked))`` with the velocities ``u = J v+`` of contacts: both are differentiated where they
hold, and ``dx`` is eliminated.  Points that share a load, as the corners of a sole, have impulses that are not unique;
their velocities are, and so are the derivatives of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays import concatenate, cross, less, scale, solver, where
from ....arrays.differentiate import value_and_jacobian
from ....arrays.map import columns as columns_of
from ....arrays.tree_elimination import TreeElimination
from ....contact.rigid.solvers.cone_projection import Bounded
from ....contact.rigid.solvers.proximal_newton import DIGITS, Digits
from ....dynamics.derivative_sweeps import changes, motion_of
from ....dynamics.derivatives import by_motion, mass_of
from ....dynamics.link_derivatives import link_derivatives, shift_motions, twists_by_configuration
from ....dynamics.spatial import wrench_to_parent
from ....dynamics.sweeps import places_above
from ....errors import ModelError
from ....geometry.contact_points import lowest_on_link
from ....geometry.ellipsoids import radii_and_margin
from ....lie import SE3
from ..drive_speeds import DriveSpeeds
from ..law_jacobian import body_numbers, law_forces, law_memory
from ..linearized_forces import linearized_forces
from ..step_arguments import StepArguments, of_arguments
from ..step_jacobian import (
    Blocks,
    Displacement,
    StepJacobian,
    check_differentiable,
    columns,
    contact_places,
    nonzero_rows,
    plus,
    row_slices,
    side_by_side,
)
from .step import COUNTED, Start, dry_friction_law, solve_step, unpacked
from .straight_motion import straight, turned, turning

RELATIVE_COMPLIANCE = 1e-11
"""Compliance of contacts that hold, relative to how they give way: it makes the impulses of redundant ones unique."""
_LINK_SIZE = 12
"""Numbers of the motion of a link: displacement, and twist after the step (6 each)."""
_SE3 = SE3()


@of_arguments
def step_jacobian(source: StepArguments, *, digits: Digits = DIGITS["float64"], whole: bool = True) -> StepJacobian:
    """Derivatives of the step from ``x = [count; packed]``, by the ``wanted`` numbers too."""
    check_differentiable(source.model, "moreau")
    if source.contact.pairs:
        raise ModelError("derivatives of steps of 'moreau' are for points on the ground, not yet for pairs of bodies")
    if any(source.contact.restitutions):
        raise ModelError("derivatives of steps of 'moreau' are for contacts without restitution")
    _, _, t, full_memory, start = unpacked(source)
    return _ConvergedStep(start, source, t, full_memory, solve_step(start, digits)).jacobian(whole)


class _ConvergedStep:
    """A step whose velocities obey the contact law."""

    def __init__(self, start: Start, source: StepArguments, t: Any, memory: Any, end: Any) -> None:
        self.start, self.source, self.t, self.memory, self.end = start, source, t, memory, end
        self.model, self.dt, self.state = start.problem.model, start.dt, start.state
        self.velocity, self.impulses = end.velocity, end.found.impulses
        v = self.state.velocity
        self.a = scale(1.0 / self.dt, self.velocity - v)
        self.total = self.a + turning(self.model, v)
        self.kinds = [self.state.pose, self.velocity, source.numbers]
        self.motion = motion_of(self.model, self.state)
        found = changes(self.model, self.state, self.motion, self.total)[1]
        contact, model = start.contact, self.model
        self.places = contact_places(model, contact)
        self.centers = {link: place.center for link, place in self.places.items()}
        moving = link_derivatives(model, self.motion, found, self.total, self.centers)
        self.links = dict(zip(self.places, moving, strict=True))
        friction_law = dry_friction_law(start.problem)
        self.limits = np.zeros(model.n) if friction_law is None else np.asarray(friction_law.dry_friction(model))
        stops = [(model.m + stop.rate(model), float(stop.sign), stop) for stop in contact.stops]
        self.stops = stops
        self.joints = [(i, sign) for i, sign, _ in stops] + [
            (model.m + int(i), 1.0) for i in np.flatnonzero(self.limits)
        ]
        """places and signs of rows of single joints"""

    # the law --------------------------------------------------------------------------------------------------

    def law(self, z: Any) -> Any:
        """Faults of all rows against their law, and wrenches (6, N) on links.

        They are functions of ``z``: displacement and twist after the step of each link; the same two numbers of
        each row of a single joint; impulses; numbers.
        """
        links, joints, count = len(self.links), len(self.joints), len(self.impulses)
        moves, rest = z[: _LINK_SIZE * links].reshape(links, _LINK_SIZE), z[_LINK_SIZE * links :]
        single, rest = rest[: 2 * joints].reshape(joints, 2), rest[2 * joints :]
        impulses, own = rest[:count], rest[count:]
        problem, _ = self.source.problem(own)
        contact: Any = problem.contact
        sets, model, dt = list(contact.cones(self.model)), self.model, self.dt
        ground, axes, by_link = contact.ground(model), contact.axes(model), dict(zip(self.links, moves, strict=True))
        heights, after, points = list[Any](), list[Any](), list[Any]()
        for i, name in enumerate(contact.points):
            frame, around = model.frame(name), contact.radii[i]
            link = model.link_index(frame.link)
            move = by_link[link]
            back = -self.places[link].center
            H = self.state.pose @ self.links[link].pose @ (np.eye(4) + _SE3.hat(shift_motions(move[:6], back)))
            twist = shift_motions(move[6:], back)
            R, (_, radius) = H[:3, :3], radii_and_margin(around)
            center = frame.placement[:3, 3] + lowest_on_link(ground, H, frame.placement, around)
            site = ground.site(R @ center + H[:3, 3], radius)
            A = site.axes[axes[i][: sets[i].rows]] @ R
            place = center - radius * (site.axes[0] @ R) if radius else center
            heights.append(site.height)
            after.append(A @ (twist[:3] + cross(twist[3:], place)))
            points.append((link, A, place))
        for (_, sign, stop), row in zip(self.stops, single, strict=False):
            at = self.state.joints[stop.coordinate(model)]
            heights.append(sign * (at - stop.limit) + row[0])
            after.append(row[1:2])
        # heights that are rounding count as well: what follows from them is as steep as elsewhere
        part = dt / self.source.clock[-1]
        heights = [where(less(height, 0.0), part * height, height) for height in heights]
        asked = contact.wanted(heights, sets, self.start.kept.stretch, dt)
        for (place_, _), row in zip(self.joints[len(self.stops) :], single[len(self.stops) :], strict=True):
            sets.append(Bounded(self.limits[place_ - model.m] * dt))
            after.append(row[1:2])
            asked.append(np.zeros(1))
        soft = contact.softness(dt) or [0.0] * len(heights)
        soft = [*soft, *[0.0] * (len(sets) - len(soft))]
        reach = model.nominal.mass / len(sets) if hasattr(model, "nominal") else model.mass / len(sets)
        faults, wrenches, first = [], dict.fromkeys(self.links, np.zeros(6)), 0
        for i, one in enumerate(sets):
            x = impulses[first : first + one.rows]
            first += one.rows
            faults.append(x - one.nearest(x - scale(reach, after[i] - asked[i] + scale(soft[i], x))))
            if i < len(points):
                link, A, place = points[i]
                f = scale(1.0 / dt, A.T @ x)
                wrenches[link] = wrenches[link] + concatenate([f, cross(place, f)])
        loads = [wrenches[link][: place.rows] for link, place in self.places.items()]
        return concatenate([np.zeros(0), *faults, *loads])

    def contact(self) -> tuple[Any, Blocks, Any]:
        """:meth:`law` in the step, its derivatives (``u`` is the velocity after), and those by impulses."""
        model, nv, after = self.model, self.model.nv, self.velocity
        places = [slice(0, model.m), *(slice(model.m + at.start, model.m + at.stop) for at in model.v_slices)]
        parts = [concatenate([np.zeros(6), at.twist_at(after)]) for at in self.links.values()]
        single = [concatenate([np.zeros(1), sign * after[i : i + 1]]) for i, sign in self.joints]
        z = concatenate([np.zeros(0), *parts, *single, self.impulses, self.source.values])
        value, D = value_and_jacobian(self.law, z, self.kinds)
        q, by_after = (np.zeros((len(value), nv), dtype=object) for _ in range(2))
        moved = twists_by_configuration(self.motion, self.centers, after, places)
        parts = [D[:, _LINK_SIZE * k : _LINK_SIZE * (k + 1)] for k in range(len(self.links))]
        rows, links = [nonzero_rows(part) for part in parts], self.links.values()
        each = [part[own] for part, own in zip(parts, rows, strict=True)]
        blocks = map(_by_link, each, [at.J for at in links], moved)
        for own, at, found in zip(rows, links, blocks, strict=True):
            q, by_after = (plus(x, own, at.columns, y) for x, y in zip((q, by_after), found, strict=True))
        end = _LINK_SIZE * len(self.links)
        for i, sign in self.joints:
            for block, k in ((q, 0), (by_after, 1)):
                block[:, i] = block[:, i] + sign * D[:, end + k]
            end += 2
        count = len(self.impulses)
        by_x, by_numbers = D[:, end : end + count], D[:, end + count :]
        return value, Blocks(q, None, by_after, None, np.zeros((len(value), 0)), by_numbers), by_x

    # the step -------------------------------------------------------------------------------------------------

    def jacobian(self, whole: bool) -> StepJacobian:
        """Derivatives of the step."""
        model, nv, dt, count = self.model, self.model.nv, self.dt, len(self.impulses)
        value, contact, by_x = self.contact()
        laws, asked = self._laws()
        own_memory, tuned_ = sum(self.start.problem.sizes), len(self.source.wanted)
        contact_memory = len(self.memory) - own_memory
        kept = len(self.memory) if whole else 0
        widths, one = [nv, nv, kept, asked.shape[1], tuned_], np.eye(nv)
        start, before = columns(widths, {0: one}), columns(widths, {1: one})
        own = columns(widths, {4: np.eye(tuned_)}, tuned_)
        memory = columns(widths, {2: np.eye(kept)[contact_memory:]} if whole else {}, own_memory)
        q, v, K, loads, by_numbers = self._equations(value[count:], contact, by_x, laws)
        right = q @ start + v @ before + by_numbers @ own - laws.memory @ memory - columns(widths, {3: asked}, nv)
        eliminated = TreeElimination(K, places_above(model))
        pushed = -scale(dt, eliminated.solve(loads))
        by_q, by_after, by_own = (x[:count] for x in (contact.q, contact.u, contact.numbers))
        resist = solver(by_x[:count] + by_after @ pushed + RELATIVE_COMPLIANCE * np.eye(count)) if count else np.asarray
        end, D = self._end()

        def ended(right: Any, velocity: Any, place: Any, faults: Any) -> Any:
            """One column: configuration and velocity at the end, velocity before it turns, and impulses."""
            free = velocity - scale(dt, eliminated.solve(right))
            dx = -resist(faults + by_after @ free)
            after = free + pushed @ dx
            return concatenate([place + end.way(D[:nv] @ after), D[nv:] @ after, after, dx])

        found = columns_of(ended, right, before, end.start(start), by_q @ start + by_own @ own)
        after, dx = found[2 * nv : 3 * nv], found[3 * nv :]
        J = concatenate([found[: 2 * nv], *(self._kept(start, after, memory, own, dx) if whole else ())])
        ends = np.cumsum(widths)
        return (
            StepJacobian(J[:, : ends[2]], J[:, ends[2] : ends[3]], J[:, ends[3] :])
            if not whole
            else self._counted(J, ends)
        )

    def _counted(self, J: Any, ends: Any) -> StepJacobian:
        """With the counts of steps, which stay as they are."""
        k = len(COUNTED)
        state = side_by_side(J[:, : ends[2]], np.zeros((len(J), k)))
        state = concatenate([state, side_by_side(np.zeros((k, ends[2])), np.eye(k))])
        J = concatenate([J, np.zeros((k, J.shape[1]))])
        return StepJacobian(state, J[:, ends[2] : ends[3]], J[:, ends[3] :])

    def _equations(self, wrenches: Any, contact: Blocks, by_x: Any, laws: Blocks) -> tuple[Any, Any, Any, Any, Any]:
        """Derivatives of the equations of motion by configuration, velocity, acceleration, impulses and numbers."""
        model, count = self.model, len(self.impulses)
        needed, parts = list(self.motion.bias_forces), row_slices(self.places)
        for (link, place), part in zip(self.places.items(), parts, strict=True):
            load = wrench_to_parent(self.links[link].pose, place.wrench(wrenches[part]))
            needed[link] = needed[link] - load
        motion = self.motion._replace(bias_forces=needed)
        q, v = by_motion(motion, changes(model, self.state, motion, self.total)[1])
        M = mass_of(model, motion)
        turns = value_and_jacobian(lambda u: turning(model, u), self.state.velocity, self.kinds)[1]
        q, v, K = q - laws.q, v + M @ turns - laws.v, M - laws.a
        by_numbers = body_numbers(self.source, self.state, self.total, self.kinds) - laws.numbers
        loads = np.zeros((model.nv, count), dtype=object)
        for at, place, part in zip(
            self.links.values(), self.places.values(), row_slices(self.places, count), strict=True
        ):
            rows, lever = at.columns, at.J[: place.rows].T
            q = plus(q, rows, rows, -(lever @ contact.q[part][:, rows]))
            loads = plus(loads, rows, range(count), -(lever @ by_x[part]))
            by_numbers = plus(by_numbers, rows, range(by_numbers.shape[1]), -(lever @ contact.numbers[part]))
        for k, (i, sign) in enumerate(self.joints):
            loads[i, count - len(self.joints) + k] = -sign / self.dt
        return q, v, K, loads, by_numbers

    def _laws(self) -> tuple[Blocks, Any]:
        """Derivatives of the forces (nv) of laws and controller."""
        start, friction_law = self.start, dry_friction_law(self.start.problem)
        touching = start.contact.touched(self.memory)

        def linear_forces(problem: Any, state: Any, memory: Any, asked: Any) -> Any:
            name = friction_law.name if friction_law else None
            problem, change = problem.with_memory(memory)[0], scale(self.dt, self.a[self.model.m :])
            found = linearized_forces(problem, self.t, state, asked, touching, name, self.dt, speeds=True)
            drives = DriveSpeeds.begun(problem, state, found)
            return found if drives is None else drives.moved(change).limited(found)

        return law_forces(self.source, self.state, self.memory, self.a, linear_forces, self.kinds, self.dt)

    def _end(self) -> tuple[Displacement, Any]:
        """Displacement in the step, and derivatives of it and of the velocity at the end by the velocity after it."""
        model, nv = self.model, self.model.nv
        ends, D = value_and_jacobian(
            lambda u: concatenate([straight(model, u, self.dt), turned(model, u, self.dt)]), self.velocity, self.kinds
        )
        return Displacement.of(model, ends[:nv]), D

    def _kept(self, start: Any, after: Any, memory: Any, own: Any, dx: Any) -> list[Any]:
        """Memory at the end of the step: forces of contacts, the error of the law, and laws."""
        problem, width = self.start.problem, dx.shape[1]
        further = self.start.contact.further
        forces = np.zeros((len(self.start.kept.forces), width), dtype=object)
        places = [*self.start.rows.places, *range(len(forces) - further, len(forces))]
        for place, row in zip(places, scale(1.0 / self.dt, dx), strict=True):
            forces[place] = row
        others = np.zeros((len(self.memory) - sum(problem.sizes) - len(forces), width), dtype=object)
        if len(others):  # the largest error of the law in a run stays, unless this step has a larger one
            worst = less(self.start.kept.left[0], self.end.found.left)
            others[0, 2 * self.model.nv + len(forces)] = where(worst, 0.0, 1.0)
        by = law_memory(self.source, self.state, self.velocity, self.memory, self.t, self.kinds, self.dt)
        laws = by.q @ start + by.v @ after + by.memory @ memory + by.numbers @ own
        return [forces, others, laws]


def _by_link(D: Any, J: Any, V_q: Any) -> tuple[Any, Any]:
    """Chain rule: derivatives by configuration and by the velocity after the step."""
    d, V = D[:, :6], D[:, 6:]
    return d @ J + V @ V_q, V @ J
