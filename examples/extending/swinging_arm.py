"""A kind of study of one's own: an arm on a free base swings to a posture, and the base turns against it."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring
from fallingcat.studies import Parameters, Progress, SimulatedKind, study_kind

Positive = Annotated[float, Field(gt=0.0)]


class Swing(Parameters):
    """What moves the arm."""

    robot: Literal["orbital_arm"]
    duration: Positive
    """s"""
    stiffness: Positive
    """of all joints (N m/rad)"""
    damping: Positive
    """of all joints (N m s/rad)"""
    target: Annotated[list[float], Field(min_length=7, max_length=7)]
    """joint coordinates at which the springs are at rest (rad)"""


def base_turn(run: fc.Trajectory) -> float:
    """How far the base has turned (degrees)."""
    return float(np.degrees(np.linalg.norm(fc.lie.SO3().log(run.poses[-1]))))


def momentum_left(run: fc.Trajectory) -> float:
    """Largest momentum; nothing pulls from outside (N s, N m s)."""
    return float(np.abs(run.momenta()).max())


def connection_gap(run: fc.Trajectory) -> float:
    """Largest difference of the base's twist from what the connection says of arms without momentum, ``-A rates``."""
    gaps = [s.twist + fc.connection(run.model, s) @ s.rates for s in list(run.states)[::50]]
    return float(np.abs(gaps).max())


def far_from_target(run: fc.Trajectory) -> float:
    """At the end (rad)."""
    return float(np.abs(run.joints[-1] - run.problem.laws[0].rest).max())


@study_kind
class SwingingArm(SimulatedKind[Swing, fc.Trajectory]):
    """From the neutral posture, at rest, in orbit: what is seen is the trajectory."""

    name, parameters = "arm", Swing
    measures = {f.__name__: f for f in (base_turn, momentum_left, connection_gap, far_from_target)}  # noqa: RUF012

    def run(self, parameters: Swing, progress: Progress) -> fc.Trajectory:
        arm = getattr(fc.robots, parameters.robot)()
        laws = [JointSpring(parameters.stiffness, tuple(parameters.target)), JointDamper(parameters.damping)]
        progress("running", 0.0)
        return fc.simulate(arm, arm.neutral(), parameters.duration, laws, dt=1e-3)

    def motion(self, seen: fc.Trajectory) -> fc.Trajectory:
        return seen
