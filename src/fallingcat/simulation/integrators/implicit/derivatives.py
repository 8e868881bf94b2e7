"""Derivatives of steps of :class:`.Implicit`, through their solution.

The acceleration ``a`` of a step solves ``R = ID(q, u, a) - f(q, v, a) - sum J' w = 0`` at its middle, with the forces
``f`` of laws and the contact wrenches ``w`` on links.  So ``da = -(dR/da)^-1 dR``, whatever iterations found it.  The
derivatives of the inverse dynamics are those of :mod:`fallingcat.dynamics.derivatives`; a wrench is a function of the
motion of its link (:mod:`fallingcat.dynamics.link_derivatives`), small enough to be differentiated entry by entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays import concatenate, less, scale, where
from ....arrays.differentiate import value_and_jacobian
from ....arrays.map import columns as columns_of
from ....arrays.tree_elimination import TreeElimination
from ....dynamics.derivative_sweeps import changes, motion_of
from ....dynamics.derivatives import by_motion, mass_of
from ....dynamics.link_derivatives import link_derivatives, shift_motions, twists_by_configuration
from ....dynamics.spatial import wrench_to_parent
from ....dynamics.sweeps import places_above
from ....errors import ModelError
from ....lie import SE3
from ..drive_speeds import DriveSpeeds
from ..law_jacobian import body_numbers, law_forces, law_memory
from ..linearized_forces import linearized_forces
from ..step_arguments import StepArguments, of_arguments
from ..step_jacobian import (
    Blocks,
    Displacement,
    StepJacobian,
    chained,
    check_differentiable,
    columns,
    contact_places,
    nonzero_rows,
    padded,
    plus,
    row_slices,
    side_by_side,
    with_laws,
)
from .end import late_part, next_memory
from .points import Step, points_in
from .step import Start, Sweep, begin_step, carried, converged, theta_weights

DERIVATIVE_MISMATCH = 1e-10
"""Mismatch between contact forces and the law at which derivatives are taken, relative to the normal forces."""
_LINK_SIZE = 21
"""Numbers of the motion of a link: displacement and twist before (6 each), spin (3) and acceleration (6)."""
_MATRICES = 2, 4, 6, 7
"""Fields of :class:`.LinkDerivatives`: the Jacobian, and derivatives of twist and acceleration."""
_SE3 = SE3()


@of_arguments
def step_jacobian(source: StepArguments, *, sweeps: int | None, whole: bool = True) -> StepJacobian:
    """Derivatives of the step from ``x = [count; packed]``, by the ``wanted`` numbers too.

    Where it is not the ``whole`` state, memory and what the method carries are constant.
    """
    check_differentiable(source.model, "implicit")
    start, prediction = begin_step(source)
    if start.coupled is not None:
        raise ModelError("derivatives of steps with springs between moving bodies: take target='jax'")
    last = converged(start, prediction, DERIVATIVE_MISMATCH)
    return _ConvergedStep(start, last, source._replace(carried=carried(source.model))).jacobian(whole)


class _ConvergedStep:
    """A step that has converged."""

    def __init__(self, start: Start, last: Sweep, source: StepArguments) -> None:
        self.start, self.last, self.source = start, last, source
        self.model, self.dt, self.a = start.problem.model, start.dt, last.acceleration
        self.kinds = [start.state.pose, self.a, source.numbers]
        """arrays of numbers of the kind of the step"""
        self.motion = motion_of(self.model, start.middle)
        self.moves = changes(self.model, start.middle, self.motion, self.a)[1]
        self.places = contact_places(self.model, start.problem.contact)
        self.centers = {link: place.center for link, place in self.places.items()}
        found = link_derivatives(self.model, self.motion, self.moves, self.a, self.centers)
        self.links = dict(zip(self.places, found, strict=True))

    # contact --------------------------------------------------------------------------------------------------

    def contact_forces(self, z: Any) -> Any:
        """Loads on links, part of the step that is late, and memory of points afterwards.

        They are functions of ``z``: displacement, twist before, spin and acceleration of each link about its
        :class:`Place`, memory of points, numbers.
        """
        if self.start.problem.contact is None:
            return np.zeros(1)  # nothing is late
        links = len(self.links)
        moves, rest = z[: _LINK_SIZE * links].reshape(links, _LINK_SIZE), z[_LINK_SIZE * links :]
        memory, own = rest[: self._anchors], rest[self._anchors :]
        problem, numbers = self.source.problem(own)
        start, dt = self.start, self.dt
        poses: list[Any] = [start.state.pose] * len(self.model.links)
        twists, spins = [np.zeros(6)] * len(poses), [np.zeros(3)] * len(poses)
        for move, (link, at) in zip(moves, self.links.items(), strict=True):
            back = -self.places[link].center
            moved = np.eye(4) + _SE3.hat(shift_motions(move[:6], back))  # derivatives are those of the exponential
            poses[link] = start.state.pose @ at.pose @ moved
            twists[link], spins[link] = shift_motions(move[6:12], back), move[12:15]
        step = Step(self.model, start.state, start.middle, dt, poses, twists, spins)
        found, _, _ = points_in(step, problem.contact, memory, theta_weights(self.source, problem.contact, numbers))
        points = [point._replace(near=None) for point in found]  # those that are not near feel nothing
        accelerations = {
            link: shift_motions(move[15:], -self.places[link].center)
            for move, link in zip(moves, self.links, strict=True)
        }
        end_velocity = [point.end_velocity(accelerations[point.link], dt) for point in points]
        forces = [point.law.step_force(point, u, point.seen) for point, u in zip(points, end_velocity, strict=True)]
        wrenches = dict.fromkeys(self.links, np.zeros(6))
        for point, force in zip(points, forces, strict=True):
            wrenches[point.link] = wrenches[point.link] + point.wrench(force)
        late = late_part(points, forces)
        kept = next_memory(points, end_velocity, forces, 0.5 + late, memory, dt)
        loads = [wrenches[link][: place.rows] for link, place in self.places.items()]
        return concatenate([np.zeros(0), *loads, np.reshape(late, 1), kept])

    @property
    def _anchors(self) -> int:
        """Numbers that points remember."""
        return len(self.start.memory) - sum(self.start.problem.sizes)

    def contact(self) -> tuple[Any, Blocks]:
        """:meth:`contact_forces` in the step, and its derivatives."""
        start, nv, anchors = self.start, self.model.nv, self._anchors
        places = [
            slice(0, self.model.m),
            *(slice(self.model.m + v.start, self.model.m + v.stop) for v in self.model.v_slices),
        ]
        own = self.source.values
        before = start.state.velocity
        parts = [
            concatenate([np.zeros(6), at.twist_at(before), at.twist[3:], at.acceleration]) for at in self.links.values()
        ]
        z = concatenate([np.zeros(0), *parts, start.memory[:anchors], own])
        value, D = value_and_jacobian(self.contact_forces, z, self.kinds)
        q, v, u, a = (np.zeros((len(value), nv), dtype=object) for _ in range(4))
        moved = twists_by_configuration(self.motion, self.centers, before, places)
        parts = [D[:, _LINK_SIZE * k : _LINK_SIZE * (k + 1)] for k in range(len(self.links))]
        rows, links = [nonzero_rows(part) for part in parts], self.links.values()
        each = [part[own] for part, own in zip(parts, rows, strict=True)]
        blocks = map(_by_link, each, *([at[i] for at in links] for i in _MATRICES), moved)
        for own, at, found in zip(rows, links, blocks, strict=True):
            q, v, u, a = (plus(x, own, at.columns, y) for x, y in zip((q, v, u, a), found, strict=True))
        ends = _LINK_SIZE * len(self.links), _LINK_SIZE * len(self.links) + anchors
        return value, Blocks(q, v, u, a, D[:, ends[0] : ends[1]], D[:, ends[1] :])

    # laws -----------------------------------------------------------------------------------------------------

    def laws(self) -> tuple[Blocks, Any]:
        """Derivatives of the forces (nv) of laws and controller, and those by joint forces (nv x n)."""
        start, dt, touching, joint_friction = self.start, self.dt, self._touching, self.last.prediction.joint_friction

        def linear_forces(problem: Any, state: Any, memory: Any, asked: Any) -> Any:
            half = problem.later(memory, start.count * dt, state, 0.5 * dt)  # laws act in the middle
            problem, t = problem.with_memory(with_laws(memory, half))[0], (start.count + 0.5) * dt
            name = joint_friction.name if joint_friction else None
            found = linearized_forces(problem, t, state, asked, touching, name, dt, True, True)
            drives = DriveSpeeds.begun(problem, state, found)
            return found if drives is None else drives.moved(start.change(self.a)).limited(found)

        return law_forces(self.source, start.state, start.memory, self.a, linear_forces, self.kinds, dt)

    @property
    def _touching(self) -> dict[str, Any]:
        names = self.start.problem.contact.points if self.start.problem.contact is not None else ()
        return {name: less(point.height, 0.0) for name, point in zip(names, self.start.points, strict=True)}

    # the step -------------------------------------------------------------------------------------------------

    def jacobian(self, whole: bool) -> StepJacobian:
        """Derivatives of the step."""
        model, nv, dt, anchors = self.model, self.model.nv, self.dt, self._anchors
        contact_forces, contact = self.contact()
        wrenches = sum(place.rows for place in self.places.values())
        laws, asked = self.laws()
        equations = self._equations(contact_forces[:wrenches], contact, laws)
        half = Displacement.of(model, scale(0.5 * dt, self.start.state.velocity))  # of the state before, as it moved on
        kept, tuned_ = self._kept(anchors), len(self.source.wanted)
        widths = [nv, nv, kept if whole else 0, nv if whole else 0, asked.shape[1], tuned_]
        one = np.eye(nv)
        mid = columns(widths, {0: half.start(one), 1: scale(0.5 * dt, half.way(one))})
        before = columns(widths, {1: one})
        middle = columns(widths, {1: one, 3: scale(0.5 * dt, one)}) if whole else before
        memory = columns(widths, {2: np.eye(kept)} if whole else {}, kept)
        own = columns(widths, {5: np.eye(tuned_)}, tuned_)
        right = chained(equations, mid, before, middle, memory, own) - columns(widths, {4: asked}, nv)
        K, right = self._held(equations.a, right, before)
        eliminated = TreeElimination(K, places_above(model))
        by_place, by_velocity, by_middle, by_a = (x[wrenches:] for x in contact[:4])
        by_memory, by_numbers = padded(contact.memory[wrenches:], kept), contact.numbers[wrenches:]
        outcome = Blocks(by_place, by_velocity, by_middle, by_a, by_memory, by_numbers)
        late, change = contact_forces[wrenches], scale(dt, self.a)
        moves = 0.5 + late
        end = Displacement.of(model, scale(0.5 * dt, self.start.state.velocity) + scale(moves * dt, change))

        def ended(right: Any, place: Any, velocity: Any, later: Any) -> Any:
            """One column: configuration and velocity at the end, and acceleration."""
            da = -eliminated.solve(right)
            longer = later[0] + outcome.a[0] @ da
            dway = scale(moves * dt * dt, da) + scale(dt, change).reshape(-1, *[1] * np.ndim(longer)) * longer
            return concatenate([place + end.way(dway), velocity + scale(dt, da), da])

        held = chained(Blocks(*(x[:1] for x in outcome)), mid, before, middle, memory, own)
        found = columns_of(ended, right, end.start(mid) + end.way(scale(0.5 * dt, before)), before, held)
        rows, da = [found[: 2 * nv]], found[2 * nv :]
        if whole:
            mean, t = self.start.state.velocity + scale(0.5 * dt, self.a), (self.start.count + 0.5) * dt
            by = law_memory(self.source, self.start.state, mean, self.start.memory, t, self.kinds, dt)
            moved = by.v @ (before + scale(0.5 * dt, da))
            after = chained(Blocks(*(x[1:] for x in outcome)), mid, before, middle, memory, own, da)
            rows += [after, by.q @ mid + moved + by.memory @ memory[anchors:] + by.numbers @ own, da]
        J = concatenate(rows)
        ends = np.cumsum(widths)
        state = J[:, : ends[3]]
        if whole:  # counts of steps stay as they are
            k = len(self.start.counts)
            state = concatenate(
                [side_by_side(state, np.zeros((len(J), k))), side_by_side(np.zeros((k, ends[3])), np.eye(k))]
            )
            J = concatenate([J, np.zeros((k, J.shape[1]))])
        return StepJacobian(state, J[:, ends[3] : ends[4]], J[:, ends[4] :])

    def _kept(self, anchors: int) -> int:
        return anchors + sum(self.start.problem.sizes)

    def _equations(self, wrenches: Any, contact: Blocks, laws: Blocks) -> Blocks:
        """Derivatives of ``R``."""
        needed, parts = list(self.motion.bias_forces), row_slices(self.places)
        for (link, place), part in zip(self.places.items(), parts, strict=True):
            load = wrench_to_parent(self.links[link].pose, place.wrench(wrenches[part]))
            needed[link] = needed[link] - load
        motion = self.motion._replace(bias_forces=needed)
        q, u = by_motion(motion, changes(self.model, self.start.middle, motion, self.a)[1])
        nv, sizes = self.model.nv, sum(self.start.problem.sizes)
        found = [q - laws.q, -laws.v, u, mass_of(self.model, motion) - laws.a]
        by_memory = np.zeros((nv, self._anchors))
        by_numbers = body_numbers(self.source, self.start.middle, self.a, self.kinds) - laws.numbers
        levers = [at.J[: place.rows].T for at, place in zip(self.links.values(), self.places.values(), strict=True)]
        own = [
            [y[part][:, at.columns] for y in contact[:4]] for at, part in zip(self.links.values(), parts, strict=True)
        ]
        loads = map(lambda lever, loads: [-(lever @ load) for load in loads], levers, own)
        for at, lever, part, load in zip(self.links.values(), levers, parts, loads, strict=True):
            rows = at.columns
            found = [plus(x, rows, rows, y) for x, y in zip(found, load, strict=True)]
            by_memory = plus(by_memory, rows, range(self._anchors), -(lever @ contact.memory[part]))
            by_numbers = plus(by_numbers, rows, range(by_numbers.shape[1]), -(lever @ contact.numbers[part]))
        q, v, u, a = found
        return Blocks(q, v, u, a, side_by_side(by_memory, -laws.memory.reshape(nv, sizes)), by_numbers)

    def _held(self, K: Any, right: Any, before: Any) -> tuple[Any, Any]:
        """Equations in which joints that dry friction holds stop: ``a = -v / dt``."""
        joint_friction = self.last.prediction.joint_friction
        if joint_friction is None:
            return K, right
        K, right = np.array(K, dtype=object), np.array(right, dtype=object)
        for place, sticking in zip(self.model.m + joint_friction.rates, joint_friction.sticking, strict=True):
            stops = less(0.5, sticking)
            K[place] = where(stops, np.eye(self.model.nv)[place] + 0.0 * K[place], K[place])
            right[place] = where(stops, scale(1.0 / self.dt, before[place]) + 0.0 * right[place], right[place])
        return K, right


def _by_link(D: Any, J: Any, twist_by_q: Any, by_q: Any, by_v: Any, V_q: Any) -> tuple[Any, ...]:
    """Chain rule: derivatives by configuration, velocity before, velocity in the middle and acceleration."""
    d, V, w, A = (D[:, i:j] for i, j in ((0, 6), (6, 12), (12, 15), (15, 21)))
    return d @ J + V @ V_q + w @ twist_by_q[3:] + A @ by_q, V @ J, w @ J[3:] + A @ by_v, A @ J
