"""A quadruped stands, is pushed sideways, and recovers without a step: whole-body control as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...arrays import where
from ...contact import CompliantFloor
from ...control import (
    CenterOfMassTask,
    JointLimits,
    JointsTask,
    Law,
    Limit,
    RotationTask,
    SampledController,
    TorqueLimits,
    WholeBody,
)
from ...dynamics import center_of_mass, jacobian, link_pose
from ...model import Model, State, robots
from ...simulation import Trajectory, simulate
from ...visualization import Chart, Line
from ..kind import Figures, Parameters, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study

FEET: Final = tuple(f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right"))
BENT_LEGS: Final = np.tile([0.0, 0.7, -1.4], 4)
PUSH_TIME, PUSH_DURATION, DURATION = 0.2, 0.1, 2.0
"""s: when the push begins, how long it lasts, and the whole run"""


class PushedParameters(Parameters):
    """Parameters of the push, the ground and the controller."""

    impulse: Annotated[float, Field(ge=-40.0, le=40.0)] = 15.0
    """N s, sideways on the trunk, within 0.1 s"""
    friction: Annotated[float, Field(gt=0.0, le=2.0)] = 0.6
    """friction coefficient of the ground"""
    trusted: Annotated[float, Field(gt=0.0, le=2.0)] = 0.5
    """friction that the controller counts on"""
    gain: Annotated[float, Field(gt=0.0, le=50.0)] = 8.0
    """1/s"""
    rate: Annotated[float, Field(ge=50.0, le=5000.0)] = 500.0
    """ticks a second"""


@dataclass(frozen=True)
class Push(Law):
    """A sideways force on the base for a while."""

    force: float
    """N, along y of the world"""
    name: str = "push"
    commanded = False

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        """Generalized forces of the push (nv)."""
        pushing = where(t < PUSH_TIME, 0.0, where(t < PUSH_TIME + PUSH_DURATION, self.force, 0.0))
        return jacobian(model, state, model.link_names[0], "mixed")[1] * pushing


class PushResult(NamedTuple):
    """The motion, and what each tick planned."""

    run: Trajectory
    parameters: PushedParameters
    ticks: np.ndarray
    """``N`` (s)"""
    forces: np.ndarray
    """``N x 4 x 3``: planned contact forces (N)"""
    torques: np.ndarray
    """``N x 12`` (N m)"""
    optimality: np.ndarray
    rounds: np.ndarray

    @property
    def sway(self) -> np.ndarray:
        """Displacement of the center of mass from its start (m)."""
        centers = np.array([center_of_mass(self.run.model, state) for state in self.run.states])
        return np.asarray(centers - centers[0])

    @property
    def slip(self) -> np.ndarray:
        """Displacement of each foot along the ground (m)."""
        feet = np.array([[link_pose(self.run.model, s, foot)[:2, 3] for foot in FEET] for s in self.run.states])
        return np.asarray(np.linalg.norm(feet - feet[0], axis=2))

    @property
    def capture(self) -> float:
        """The impulse (N s) that takes the capture point, at the height where it stands, beyond its feet."""
        model, start = self.run.model, self.run.state(0)
        half, height = link_pose(model, start, FEET[0])[1, 3], center_of_mass(model, start)[2]
        return float(model.mass * half * np.sqrt(np.linalg.norm(model.gravity) / height))


def _share(forces: np.ndarray, friction: float) -> np.ndarray:
    """Share of the friction cone that is used; 0 where a foot hardly presses."""
    along, up = np.linalg.norm(forces[..., :2], axis=-1), forces[..., 2]
    return np.where(up > 1.0, along / (friction * np.maximum(up, 1.0)), 0.0)


@study_kind
class PushedDog(SimulatedKind[PushedParameters, PushResult]):
    """Center of mass and trunk first, then a posture, on four feet within their friction cones."""

    name, parameters = "pushed-dog", PushedParameters
    measures: Mapping[str, Callable[[PushResult], SupportsFloat]] = {
        "sway": lambda seen: np.abs(seen.sway[:, 1]).max(),
        "left": lambda seen: np.linalg.norm(seen.sway[-1]),
        "slip": lambda seen: seen.slip.max(),
        "planned_share": lambda seen: _share(seen.forces, seen.parameters.trusted).max(),
        "pull": lambda seen: -min(0.0, float(seen.forces[..., 2].min())),
        "torque_share": lambda seen: np.max(np.abs(seen.torques) / [x.effort for x in seen.run.model.limits]),
        "optimality": lambda seen: seen.optimality.max(),
        "first_guess": lambda seen: (seen.rounds == 1).mean(),
        "capture": lambda seen: seen.capture,
    }

    def run(self, parameters: PushedParameters, progress: Progress) -> PushResult:
        """Simulate the robot under the push."""
        dog, start = standing_dog()
        progress("compiling", 0.0)
        center = CenterOfMassTask(center_of_mass(dog, start), gain=parameters.gain)
        trunk = RotationTask("trunk", np.eye(3), gain=parameters.gain, weight=0.05)
        posture = JointsTask(BENT_LEGS, gain=parameters.gain)
        limits: list[Limit | TorqueLimits] = [TorqueLimits(), JointLimits()]
        loop = WholeBody(dog, [[center, trunk], [posture]], FEET, parameters.trusted, limits).compile()
        ticks: list[tuple[Any, ...]] = []

        def controller(t: float, state: State) -> np.ndarray:
            tau, found = loop(t, state), loop.found
            ticks.append((t, found.forces, tau, found.optimality, found.rounds))
            return tau

        floor = CompliantFloor(FEET, (5e4, 5e4), (5e2, 5e2), friction=parameters.friction)
        laws: list[Law | SampledController] = [
            SampledController(controller, rate=parameters.rate),
            Push(parameters.impulse / PUSH_DURATION),
        ]
        progress("standing", 0.3)
        run = simulate(dog, start, DURATION, laws, floor, dt=1e-3, every=5)
        return PushResult(run, parameters, *(np.array(column) for column in zip(*ticks, strict=True)))

    def motion(self, seen: PushResult) -> Trajectory:
        """Trajectory of the run."""
        return seen.run

    def figures(self, study: Study, seen: PushResult) -> Figures:
        """The robot in motion, where its center of mass goes, what its feet do."""
        times, sway = seen.run.times, seen.sway
        charts = (
            Chart("Center of mass", times, [Line(axis, sway[:, i]) for i, axis in enumerate("xyz")], "m"),
            Chart(
                "Planned normal forces", seen.ticks, [Line(f, seen.forces[:, i, 2]) for i, f in enumerate(FEET)], "N"
            ),
            Chart(
                "Share of the friction that the controller counts on",
                seen.ticks,
                [Line(f, share) for f, share in zip(FEET, _share(seen.forces, seen.parameters.trusted).T, strict=True)],
            ),
            Chart(
                "Torques of the front left leg",
                seen.ticks,
                [Line(n, seen.torques[:, i]) for i, n in enumerate(seen.run.model.joint_names[:3])],
                "N m",
            ),
        )
        return Figures((*seen.run.animate().blocks[:1], charts[0]), charts[1:])


def standing_dog() -> tuple[Model, State]:
    """The quadruped with bent legs on the ground."""
    dog = robots.quadruped()
    pose = np.eye(4)
    pose[2, 3] = -link_pose(dog, dog.state(joints=BENT_LEGS), FEET[0])[2, 3]
    return dog, dog.state(pose=pose, joints=BENT_LEGS)
