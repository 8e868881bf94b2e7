"""A trotting quadruped is pushed: predictive control beside whole-body control, as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...contact import CompliantFloor
from ...control import Push, SampledController
from ...errors import FallingCatError
from ...locomotion import PredictiveWalk, QuadrupedWalk, VelocityCommand, trot
from ...model import State, robots
from ...simulation import Trajectory, simulate
from ...visualization import Chart, Line
from ..kind import Figures, Parameters, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study

BENT_LEGS: Final = (0.0, 0.7, -1.4) * 4
STEP: Final = 1e-3
"""s: of the simulation; with 0.1 ms joints differ by 10 mrad and the trunk by 1 mm at most"""
FRICTION: Final = 0.8
"""Coefficient of the ground; controllers assume 0.6"""
PUSH_DURATION, RECOVERY = 0.1, 1.5
"""s: how long a push lasts, and the time after it in which a robot falls or does not"""
LOWEST, STEEPEST = 0.15, 0.5
"""Height of the trunk (m) and cosine of its tilt below which the robot has fallen"""
DIRECTIONS: Final = {"forward": (1.0, 0.0, 0.0), "left": (0.0, 1.0, 0.0), "backward": (-1.0, 0.0, 0.0)}
PHASES: Final = (0.0, 0.25)
"""Shares of the stride, after 4 strides, at which pushes begin: one of each half that are mirror images of each other
but for their direction"""


class PushedTrotParameters(Parameters):
    """Parameters of the trot and of its pushes."""

    speed: Annotated[float, Field(ge=0.0, le=1.5)] = 0.5
    """m/s"""
    impulse: Annotated[float, Field(ge=0.0, le=100.0)] = 20.0
    """N s: sideways in the run that is shown, within 0.1 s"""
    increment: Annotated[float, Field(gt=0.0, le=20.0)] = 5.0
    """N s: by which pushes grow until the robot falls"""
    rate: Annotated[float, Field(ge=50.0, le=1000.0)] = 250.0
    """ticks a second of the predictive controller; whole-body control has 500"""


class PushedTrotResult(NamedTuple):
    """The run that is shown, and the largest pushes."""

    run: Trajectory
    whole_body_run: Trajectory
    """the same push under whole-body control"""
    largest_impulses: Mapping[str, Mapping[str, float]]
    """N s: by controller and direction, of the worse of two phases"""
    parameters: PushedTrotParameters

    @property
    def speed(self) -> float:
        """Speed (m/s) over the last stride of the run."""
        return _speed(self.run)


def _speed(run: Trajectory) -> float:
    last = int(np.searchsorted(run.times, run.times[-1] - trot().period))
    return float((run.poses[-1, 0, 3] - run.poses[last, 0, 3]) / (run.times[-1] - run.times[last]))


def tilt(run: Trajectory) -> np.ndarray:
    """Tilt (rad) of the trunk."""
    return np.asarray(np.arccos(np.clip(run.poses[:, 2, 2], -1.0, 1.0)))


def has_fallen(run: Trajectory) -> bool:
    """True if the trunk was too low or too steep."""
    return bool(run.poses[:, 2, 3].min() < LOWEST or run.poses[:, 2, 2].min() < STEEPEST)


class Trotting:
    """A quadruped that trots under one of two controllers and is pushed.

    Args:
        parameters: Parameters of the study.
    """

    def __init__(self, parameters: PushedTrotParameters) -> None:
        self.dog = robots.quadruped()
        self.feet = tuple(frame.name for frame in self.dog.frames)
        self.ground = CompliantFloor(self.feet, (2e4, 2e4), (300.0, 300.0), friction=FRICTION)
        self.start: State = self.dog.standing(self.ground, BENT_LEGS)
        command = VelocityCommand(parameters.speed)
        predictive = PredictiveWalk(self.dog, self.feet, BENT_LEGS, rate=parameters.rate).compile(command)
        plain = QuadrupedWalk(self.dog, self.feet, BENT_LEGS).compile(command)
        self.controllers: dict[str, SampledController] = {
            "predictive": SampledController(predictive, rate=parameters.rate),
            "plain": SampledController(plain, rate=500.0),
        }

    def run(self, controller: str, direction: str, impulse: float, phase: float = 0.0) -> Trajectory:
        """Run with a push (N s) that begins after 4 strides and a share of the next."""
        begins = (4.0 + phase) * trot().period
        force: Any = tuple(impulse / PUSH_DURATION * np.array(DIRECTIONS[direction]))
        laws = [self.controllers[controller], Push(self.dog.link_names[0], force, begins, PUSH_DURATION)]
        return simulate(self.dog, self.start, begins + PUSH_DURATION + RECOVERY, laws, self.ground, dt=STEP, every=10)

    def largest(self, controller: str, direction: str, increment: float) -> float:
        """Largest impulse (N s) that the robot survives at both phases, as all smaller ones."""
        impulse = 0.0
        while self._stays_up(controller, direction, impulse + increment):
            impulse += increment
        return impulse

    def _stays_up(self, controller: str, direction: str, impulse: float) -> bool:
        try:
            return not any(has_fallen(self.run(controller, direction, impulse, phase)) for phase in PHASES)
        except FallingCatError:  # a motion that is no longer finite
            return False


@study_kind
class PushedTrot(SimulatedKind[PushedTrotParameters, PushedTrotResult]):
    """A quadruped that trots, under two controllers, and is pushed harder and harder."""

    name, parameters = "pushed-trot", PushedTrotParameters
    measures: Mapping[str, Callable[[PushedTrotResult], SupportsFloat]] = {
        "speed": lambda seen: seen.speed,
        "tilt": lambda seen: np.degrees(tilt(seen.run).max()),
        "tilt_plain": lambda seen: np.degrees(tilt(seen.whole_body_run).max()),
        "height": lambda seen: seen.run.poses[:, 2, 3].min(),
        "predictive_left": lambda seen: seen.largest_impulses["predictive"]["left"],
        "predictive_forward": lambda seen: seen.largest_impulses["predictive"]["forward"],
        "predictive_backward": lambda seen: seen.largest_impulses["predictive"]["backward"],
        "plain_left": lambda seen: seen.largest_impulses["plain"]["left"],
        "plain_forward": lambda seen: seen.largest_impulses["plain"]["forward"],
        "plain_backward": lambda seen: seen.largest_impulses["plain"]["backward"],
    }

    def run(self, parameters: PushedTrotParameters, progress: Progress) -> PushedTrotResult:
        """Push harder and harder; then the run that is shown."""
        trotting, survived = Trotting(parameters), dict[str, dict[str, float]]()
        for i, controller in enumerate(trotting.controllers):
            survived[controller] = {}
            for j, direction in enumerate(DIRECTIONS):
                progress(f"{controller} control, pushed {direction}", (3 * i + j) / 7)
                survived[controller][direction] = trotting.largest(controller, direction, parameters.increment)
        progress("the run that is shown", 6 / 7)
        shown, plain = (trotting.run(x, "left", parameters.impulse) for x in trotting.controllers)
        return PushedTrotResult(shown, plain, survived, parameters)

    def motion(self, seen: PushedTrotResult) -> Trajectory:
        """Trajectory of the run."""
        return seen.run

    def figures(self, study: Study, seen: PushedTrotResult) -> Figures:
        """The robot in motion, its trunk and torques, and the trunk under whole-body control."""
        run, plain = seen.run, seen.whole_body_run
        side = [Line("predictive", run.poses[:, 1, 3]), Line("whole-body", plain.poses[:, 1, 3])]
        lean = [Line("predictive", np.degrees(tilt(run))), Line("whole-body", np.degrees(tilt(plain)))]
        height = [Line("predictive", run.poses[:, 2, 3]), Line("whole-body", plain.poses[:, 2, 3])]
        charts = (
            Chart("Trunk, sideways", run.times, side, "m"),
            Chart("Tilt of the trunk", run.times, lean, "deg"),
            Chart("Height of the trunk", run.times, height, "m"),
        )
        return Figures((*run.animate().blocks[:1], charts[0]), charts[1:])
