"""Step of :class:`.Implicit`, on any kind of number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ....arrays import concatenate, less, scale, where, while_loop
from ....contact.patches import guarded, summed
from ....contact.support_points import Support
from ....contact.theta_weights import ThetaWeights
from ....control import Law
from ....dynamics.forward import Response, resisting_mass, response
from ....model import Model, State
from ...problem.loop_closure import closing_forces
from ...problem.problem import Problem
from ...problem.robot_parameters import mobility_with
from ...problem.vector_field import layout_of
from ..drive_speeds import DriveSpeeds
from ..joint_friction import JointFriction
from ..linearized_forces import LinearizedForce, end_forces, linearized_forces
from ..step_arguments import StepArguments
from .coupled_links import CoupledLinks
from .points import PatchesInStep, Point, loads, points_of

FORCE_TOLERANCE = 1e-3
"""Mismatch between contact forces of a step and the law, relative to the normal forces: friction is right to 0.1 %."""
MAX_SWEEPS = 12
"""Sweeps of a step, at most; robots under random torques at 4 ms take 2 to 4 on average, long steps on floors that
shake a hundred times within them up to twelve."""
MAX_MISMATCH = 1e30
"""Mismatch of forces before the first sweep."""
GRAVITY = 9.81
"""m/s^2: forces below 1e-6 of the weight are not worth a sweep"""


class Start(NamedTuple):
    """Start of a step."""

    problem: Problem
    count: Any
    """number of steps before"""
    state: State
    """place of its middle, and velocity before"""
    middle: State
    """the same place, and the velocity that is foreseen there: products of velocities are those of it"""
    works: Any
    points: list[Point]
    patches: list[PatchesInStep]
    linear_forces: dict[str, LinearizedForce]
    coupled: CoupledLinks | None
    """links that springs couple, if there are any"""
    counts: Any
    """``3``: steps so far that did not converge, that were refined, and that stayed coarse"""
    dt: Any
    memory: Any
    """memory of contact and laws before the step"""

    def sweep(self, prediction: Prediction, newton: bool = False) -> Sweep:
        """Accelerations under contact forces that are linearized at a prediction; ``newton``: with all derivatives."""
        linearized = [
            (point.law.tangent if newton else point.law.support)(point, u, point.seen)
            for point, u in zip(self.points, self.end_velocity(prediction), strict=True)
        ]
        found, closing = _solve_accelerations(self, prediction, linearized, symmetric=not newton)
        joint_friction = prediction.joint_friction
        held = joint_friction.forces(found.joint_accelerations) if joint_friction else np.zeros(0)
        moves = {
            point.mover: point.end_velocity(found.links[point.link], self.dt)
            if point.patch is None
            else found.links[point.link]
            for point in self.points
        }
        drives = prediction.drives and prediction.drives.next(self.change(found.acceleration))[0]
        after = Prediction(
            moves, 1.0, joint_friction.next(found.joint_accelerations) if joint_friction else None, drives
        )
        contact_forces = [
            guarded(point.near, support.at(u))
            for point, support, u in zip(self.points, linearized, self.end_velocity(after), strict=True)
        ]
        return Sweep(found.acceleration, contact_forces, closing, held, moves, after)

    def change(self, acceleration: Any) -> Any:
        """``n``: of joint rates in the step, with an acceleration (nv)."""
        return scale(self.dt, acceleration[self.problem.model.m :])

    def limited_forces(self, prediction: Prediction) -> dict[str, LinearizedForce]:
        """Linearized forces of laws with the speed limits of drives."""
        drives = prediction.drives
        return self.linear_forces if drives is None else drives.limited(self.linear_forces)

    def end_velocity(self, prediction: Prediction) -> list[Any]:
        """``3`` each (m/s): velocities of points at the end of the step."""
        return [
            prediction.moves[point.mover]
            if point.patch is None
            else point.end_velocity(prediction.moves[point.mover], self.dt, prediction.turned)
            for point in self.points
        ]

    def summed(self, terms: list[Any], start: Any = 0.0) -> Any:
        """Sum of the terms of points."""
        return summed([point.near for point in self.points], terms, start)

    def mismatch(self, before: Prediction, now: Sweep) -> Any:
        """Squared difference between forces of a sweep and the contact law, relative to the normal forces.

        The law is that at the velocities of the sweep; 1 and more where dry friction does not hold the joints that it
        was taken to hold, or drives with speed limits are not in the range that they were taken to be in.
        """
        mass, end_velocity = self.problem.model.mass, self.end_velocity(Prediction(now.moves, 1.0, None))
        laws = [point.law.step_force(point, u, point.seen) for point, u in zip(self.points, end_velocity, strict=True)]
        errors = [law - force for law, force in zip(laws, now.contact_forces, strict=True)]
        missed = self.summed([error @ error for error in errors])
        # a millionth of the weight: without contact the quotient is zero, and not 0 / 0 (1e-30 for robots without mass)
        size = self.summed([law[0] * law[0] for law in laws], (1e-6 * GRAVITY * mass) ** 2 + 1e-30)
        if before.joint_friction is not None and now.prediction.joint_friction is not None:
            change = now.prediction.joint_friction.sticking - before.joint_friction.sticking
            missed = missed + size * (change @ change)
        if before.drives is not None:
            error = before.drives.next(self.change(now.acceleration))[1]
            missed = missed + size * (error @ error)
        return missed / size

    @property
    def newton(self) -> bool:
        """True if further sweeps are Newton's: friction follows normal forces, and each link responds by itself."""
        model = self.problem.model
        follows = self.problem.contact is not None and self.problem.contact.friction_follows
        return follows and not model.loops and not any(joint.mimic for joint in model.joints)


class Prediction(NamedTuple):
    """Velocities and held joints by which a step finds what will lift off and slide."""

    moves: dict[Any, Any]
    """by :attr:`.Point.mover`: velocities (3) of points at the end of the step, or accelerations (6) of links whose
    points are many, from which these follow"""
    turned: Any
    """part of the acceleration towards axes of rotation in the velocities that follow"""
    joint_friction: JointFriction | None
    """joints that dry friction holds"""
    drives: DriveSpeeds | None = None
    """drives with speed limits"""

    @property
    def flat(self) -> Any:
        """All numbers that sweeps find."""
        turned = np.reshape(self.turned, 1)[: self._links]
        own = [np.zeros(0), *self.moves.values(), turned]
        held = (self.joint_friction.sticking, self.joint_friction.direction) if self.joint_friction else ()
        return concatenate([*own, *held, *((self.drives.at,) if self.drives else ())])

    @property
    def _links(self) -> int:
        """1 if there are accelerations of links, else 0."""
        return int(any(kind == "link" for kind, _ in self.moves))

    def read(self, flat: Any) -> Prediction:
        """The same with other numbers."""
        moves, rest = _read(self.moves, flat)
        dry = len(self.joint_friction.rates) if self.joint_friction else 0
        turned, sticking, direction, at = np.split(rest, np.cumsum([self._links, dry, dry]))
        friction, drives = self.joint_friction, self.drives
        friction = friction._replace(sticking=sticking, direction=direction) if friction else None
        return Prediction(
            moves, turned[0] if len(turned) else 1.0, friction, drives._replace(at=at) if drives else None
        )

    def halfway(self, other: Prediction, condition: Any) -> Prediction:
        """The same, where a condition holds half way from the ``other``."""
        moves = {key: where(condition, 0.5 * (other.moves[key] + x), x) for key, x in self.moves.items()}
        return self._replace(moves=moves, turned=where(condition, 0.5 * (other.turned + self.turned), self.turned))


def _read(moves: dict[Any, Any], flat: Any) -> tuple[dict[Any, Any], Any]:
    """Vectors of the same sizes out of ``flat`` numbers, and the rest of these."""
    *parts, rest = np.split(flat, np.cumsum([len(x) for x in moves.values()]))
    return dict(zip(moves, parts, strict=True)), rest


def begin_step(source: StepArguments, friction: bool = True) -> tuple[Start, Prediction]:
    """Start of a step: velocities of points, and joints that dry friction could stop if no other force acted."""
    x, dt = source.x, source.clock[0]
    problem, numbers = source._replace(carried=carried(source.model)).problem()
    model, contact, layout = problem.model, problem.contact, layout_of(problem, source.memory)
    follow = {"stiffness", "damping"} & {*source.varied}  # weights do not follow friction
    seen = theta_weights(source, contact if follow else source.contact, numbers)
    (state, before, works), (last, counts) = layout.unpack(x[1:]), np.split(layout.carried_of(x[1:]), [model.nv])
    # half of the way before the velocity changes, half after: second order with one evaluation of the dynamics
    state = model.configuration.displace(state, scale(0.5 * dt, state.velocity))
    middle = moving(state, state.velocity + scale(0.5 * dt, last))
    size_of_laws, half = sum(problem.sizes), problem.later(before, x[0] * dt, state, 0.5 * dt)
    whole = concatenate([before[: source.memory - size_of_laws], half])
    problem, anchors = problem.with_memory(whole)  # laws act in the middle
    none: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    touches = contact is not None and contact.parts
    points, pairs, patches = points_of(model, contact, state, anchors, dt, middle, seen) if touches else none
    coupled = CoupledLinks.of(model, middle, [point.link for point in points], pairs) if pairs else None
    joint_friction = _joint_friction(problem, state, dt) if friction else None
    touching, name = _touching(problem, points), joint_friction.name if joint_friction else None
    at = (x[0] + 0.5) * dt
    linear_forces = linearized_forces(problem, at, state, source.forces, touching, name, dt, True, friction)
    start = Start(problem, x[0], state, middle, works, points, patches, linear_forces, coupled, counts, dt, before)
    # at the velocities before: the accelerations of links are relative to those of free fall
    moves = {
        point.mover: point.velocity
        if point.patch is None
        else concatenate([-(point.axes.T @ point.gravity), np.zeros(3)])
        for point in points
    }
    drives = DriveSpeeds.begun(problem, state, linear_forces) if friction else None
    return start, Prediction(moves, 0.0, joint_friction, drives)


def theta_weights(source: StepArguments, contact: Any, numbers: Any) -> list[ThetaWeights]:
    """Weights of the step of each part of the contact."""
    found = []
    for part in () if contact is None else contact.parts:
        K, D = part.point_impedance(source.model)
        whole = part if part.pairs else contact.on_ground
        gives = mobility_with(source.model, whole, source.varied, numbers)
        found.append(ThetaWeights.of(K, D, gives, source.clock[0]))
    return found


def moving(state: State, velocity: Any) -> State:
    """The same place, with another velocity (nv)."""
    m = len(state.twist)
    return state._replace(twist=velocity[:m], rates=velocity[m:])


def carried(model: Model) -> int:
    """Numbers that a step gives to the next one beside the state: its acceleration (nv), and :attr:`Start.counts`."""
    return model.nv + 3


class Sweep(NamedTuple):
    """Solution of the linear equations of a step, and what the next sweep is linearised at."""

    acceleration: Any
    """``nv``"""
    contact_forces: list[Any]
    """``3`` each (N): contact forces along normal and tangents"""
    closing: Any
    """``nv``: forces of loops, or none"""
    held: Any
    """``nv``: forces of dry friction, or none"""
    moves: dict[Any, Any]
    """see :attr:`Prediction.moves`"""
    prediction: Prediction
    """those at which the next sweep is linearized"""
    mismatch: Any = 0.0
    """see :meth:`Start.mismatch`; of steps with a given number of sweeps it is not known"""

    @property
    def settled(self) -> Any:
        """Positive where the forces are those of the law."""
        return FORCE_TOLERANCE**2 - self.mismatch

    @property
    def flat(self) -> Any:
        """All numbers."""
        contact, mismatch = (*self.contact_forces, *self.moves.values()), np.reshape(self.mismatch, 1)
        return concatenate([self.acceleration, *contact, self.closing, self.held, self.prediction.flat, mismatch])

    def read(self, flat: Any) -> Sweep:
        """The same with other numbers."""
        ends = np.cumsum([len(self.acceleration), 3 * len(self.contact_forces)])
        acceleration, contact_forces, rest = np.split(flat, ends)
        moves, rest = _read(self.moves, rest)
        closing, held, prediction = np.split(rest, np.cumsum([len(self.closing), len(self.held)]))
        read = self.prediction.read(prediction[:-1])
        return Sweep(acceleration, [*contact_forces.reshape(-1, 3)], closing, held, moves, read, prediction[-1])

    def safeguarded(self, start: Start, before: Sweep) -> Sweep:
        """Sweep with its mismatch.

        The next sweep begins half way from the one ``before`` unless this one has halved the mismatch: points that
        would turn round with every sweep stop.
        """
        mismatch = start.mismatch(before.prediction, self)
        slow = less(0.25 * before.mismatch, mismatch)
        return self._replace(prediction=self.prediction.halfway(before.prediction, slow), mismatch=mismatch)


def predicted(start: Start, prediction: Prediction, sweeps: int) -> Prediction:
    """Velocities at which the last of so many sweeps is linearized."""
    for _ in range(sweeps - 1):
        prediction = start.sweep(prediction).prediction
    return prediction


def converged(start: Start, prediction: Prediction, tolerance: float = FORCE_TOLERANCE) -> Sweep:
    """Sweeps until contact forces are those of the law at the end of the step, but for a ``tolerance``.

    That is one where nothing begins to slide, stick, lift off or land.  Where friction follows normal forces, all that
    come after the first are steps of Newton's method.
    """
    model = start.problem.model
    if not (start.points or prediction.joint_friction or prediction.drives):
        return start.sweep(prediction)
    loops, friction = (np.zeros(model.nv if needed else 0) for needed in (model.loops, prediction.joint_friction))
    none, moves = [np.zeros(3) for _ in start.points], {key: 0.0 * x for key, x in prediction.moves.items()}
    before = Sweep(np.zeros(model.nv), none, loops, friction, moves, prediction, MAX_MISMATCH)
    # where further sweeps are other code, the first one is no part of the loop
    first = start.sweep(prediction).safeguarded(start, before) if start.newton else before

    def again(flat: Any) -> Iterator[tuple[Any, Any]]:
        now = before.read(flat)
        if start.newton:
            yield now.flat, tolerance**2 - now.mismatch
        now = start.sweep(now.prediction, start.newton).safeguarded(start, now)
        yield now.flat, tolerance**2 - now.mismatch

    return before.read(while_loop(again, first.flat + 0.0 * start.dt, MAX_SWEEPS))


def _joint_friction(problem: Problem, state: State, dt: Any) -> JointFriction | None:
    law = dry_friction_law(problem)
    return None if law is None else JointFriction.at_start(law, problem.model, state, dt)


def dry_friction_law(problem: Problem) -> Law | None:
    """The first law of dry friction; beside loops, which may hold the same joints, it is a law as others are."""
    if problem.model.loops:
        return None
    return next((law for law in problem.laws if law.dry_friction(problem.model) is not None), None)


def _touching(problem: Problem, points: list[Point]) -> dict[str, Any]:
    """Conditions that points touch, by name."""
    names = problem.contact.points if problem.contact is not None else ()
    return {name: less(point.height, 0.0) for name, point in zip(names, points, strict=True)}


def _solve_accelerations(
    start: Start, prediction: Prediction, supports: list[Support], symmetric: bool
) -> tuple[Response, Any]:
    """The accelerations of a step on given supports, and the forces (nv) that close loops."""
    model, state, dt = start.problem.model, start.middle, start.dt
    joint_friction, none = prediction.joint_friction, np.zeros(0)
    forces, armature = end_forces(model, start.state, start.linear_forces, dt)
    if prediction.drives is not None:
        lost = prediction.drives.taken()
        forces, armature = forces + lost.forces, armature + scale(dt, lost.gain)
    wrenches, resisting = loads(start.points, supports, dt)
    given = None if joint_friction is None else joint_friction.given
    if joint_friction is not None:
        forces = forces + joint_friction.sliding - concatenate([np.zeros(model.m), armature * joint_friction.given])
        armature = armature + joint_friction.armature
    if start.coupled is not None:
        return start.coupled.response(forces, wrenches, resisting, armature, given, symmetric), none
    found = response(model, state, forces, wrenches, resisting, armature, given, symmetric)
    if joint_friction is not None or not model.loops:
        return found, none
    mass = resisting_mass(model, state, resisting, armature)
    closing = closing_forces(model, start.state, found.acceleration, mass, dt)
    return response(model, state, forces + closing, wrenches, resisting, armature), closing
