"""A kind of study of one's own: an arm on a free base swings to a posture, and the base turns against it."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring
from fallingcat.studies import Found, Seen, StudyKind, Table, measure, study_kind

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


class Swing(Table):
    """What moves the arm."""

    duration: Positive
    """s"""
    stiffness: Positive
    """of all joints (N m/rad)"""
    damping: Positive
    """of all joints (N m s/rad)"""
    target: Annotated[list[float], Field(min_length=1)]
    """joint coordinates at which the springs are at rest (rad)"""


@study_kind
class SwingingArm(StudyKind):
    """From the neutral posture, at rest, in orbit."""

    name = "arm"
    parameters = Swing
    robots = ("orbital_arm",)

    def run(self, robot: str, parameters: Swing, tell: Any) -> Found:
        arm = getattr(fc.robots, robot)()
        laws = [JointSpring(parameters.stiffness, tuple(parameters.target)), JointDamper(parameters.damping)]
        tell("running", 0.0)
        return Found(Seen(fc.simulate(arm, arm.neutral(), parameters.duration, laws, dt=1e-3), parameters))


@measure
def base_turn(seen: Seen) -> float:
    """How far the base has turned (degrees)."""
    return float(np.degrees(np.linalg.norm(fc.lie.SO3().log(seen.run.poses[-1]))))


@measure
def momentum_left(seen: Seen) -> float:
    """Largest momentum; nothing pulls from outside (N s, N m s)."""
    return float(np.abs(seen.run.momenta()).max())


@measure
def connection_gap(seen: Seen) -> float:
    """Largest difference of the base's twist from what the connection says of arms without momentum, ``-A rates``."""
    run = seen.run
    gaps = [s.twist + fc.connection(run.model, s) @ s.rates for s in list(run.states)[::50]]
    return float(np.abs(gaps).max())


@measure
def far_from_target(seen: Seen) -> float:
    """At the end (rad)."""
    return float(np.abs(seen.run.joints[-1] - seen.parameters.target).max())
