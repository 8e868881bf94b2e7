"""Any robot in free fall: by how much each cycle of its joints turns it, and the least drop in which it turns over."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Annotated, SupportsFloat

import numpy as np
from pydantic import Field

from ...caching import cached_property
from ...errors import ModelError, NumericsError
from ...io import FileWarning, load
from ...lie import SE3
from ...lie.rotations import log
from ...model import Model, State, robots
from ...planning import Curve, QuickRighting, displacement, largest_turn, quickest, tracker
from ...planning.righting.drop import momentum_scale
from ...planning.righting.plan import followed_turn
from ...simulation import Trajectory, simulate
from ..kind import Parameters, Progress, study_kind
from ..simulated import SimulatedKind

EARTH, MOON = 9.81, 1.62
"""m/s^2"""
MARGIN = 0.05
"""rad or m: of the posture from the ends of joints, where their range has it"""
FLIGHT_STEPS = 2048
"""Number of steps of the simulated flight."""
OVERLAP_SAMPLES = 80
"""Shapes of the motion at which overlaps of links are measured."""


class RobotRightingParameters(Parameters):
    """Parameters of the robot and of the search."""

    file: str = ""
    """file or name of a robot; the sample quadruped if empty"""
    seed: Annotated[int, Field(ge=0)] = 0
    """seed of the random motions at which the search begins"""


@dataclass(frozen=True, eq=False)
class RobotRightingResult:
    """Turns of one circle, and the fastest turn over with its flight; both None where the robot cannot turn over."""

    model: Model
    posture: np.ndarray
    """``n``: shape at the start and at the end"""
    circles: tuple[Curve | None, ...]
    """circle of the joints that turns the base most about each of its axes"""
    axis: int = -1
    """axis of the turn over: 0 for x, 1 for y; -1: none"""
    plan: QuickRighting | None = None
    flight: Trajectory | None = None
    reason: str = ""
    """the reason where there is none"""

    def per_circle(self, axis: int) -> float:
        """Turn about an axis by one circle (deg)."""
        circle = self.circles[axis]
        if circle is None:
            return 0.0
        return float(np.degrees(abs(followed_turn(displacement(self.model, circle).path)[axis])))

    @property
    def duration(self) -> float:
        """Least time of a turn by 180 degrees (s); NaN: it cannot."""
        return self.plan.motion.duration if self.plan else np.nan

    def height(self, gravity: float) -> float:
        """Height (m) that the center of mass falls in that time."""
        return 0.5 * gravity * self.duration**2

    @property
    def turn_error(self) -> float:
        """Angle between the simulated turn and the planned one (deg)."""
        if self.plan is None or self.flight is None:
            return np.nan
        turned = self.flight.poses[0, :3, :3].T @ self.flight.poses[-1, :3, :3]
        return float(np.degrees(np.linalg.norm(log(self.plan.moved.pose[:3, :3].T @ turned))))

    @property
    def spin(self) -> float:
        """Largest angular momentum in flight, relative to what the joint rates alone carry."""
        if self.flight is None:
            return np.nan
        return float(np.abs(self.flight.momenta("centroidal")[:, 3:]).max() / momentum_scale(self.flight))

    def limit_share(self, limit: str) -> float:
        """Largest share of a limit, ``"effort"`` or ``"velocity"``, in the simulated flight."""
        if self.flight is None:
            return np.nan
        most = np.array([getattr(x, limit) for x in self.model.limits])
        seen = self.flight.rates if limit == "velocity" else self.flight.port_forces["controller"][:, self.model.m :]
        return float(np.max(np.abs(seen) / np.where(most > 0.0, most, np.inf)))

    @cached_property
    def overlap(self) -> float:
        """Deepest overlap of links that are clear of each other in the posture (m); NaN without the extra ``coal``."""
        if self.plan is None or find_spec("coal") is None:
            return np.nan
        from ...geometry.distances import distances, self_pairs

        excluded = {frozenset(pair) for pair in self.model.contact_exclusions}
        start = distances(self.model, self._state_at(self.posture), self_pairs(self.model))
        clear = [x.links for x in start if x.distance > 0.0 and frozenset(x.links) not in excluded]
        shapes = self.plan.curve(np.linspace(0.0, 1.0, OVERLAP_SAMPLES)).q if clear else ()
        nearest = [min(x.distance for x in distances(self.model, self._state_at(q), clear)) for q in shapes]
        return float(max(0.0, -min(nearest, default=0.0)))

    def _state_at(self, joints: np.ndarray) -> State:
        return self.model.state(joints=joints)


@study_kind
class RobotRighting(SimulatedKind[RobotRightingParameters, RobotRightingResult]):
    """Search by curvature within the limits of the file, and simulate the flight."""

    name, parameters = "righting-robot", RobotRightingParameters
    measures: Mapping[str, Callable[[RobotRightingResult], SupportsFloat]] = {
        "mass": lambda seen: seen.model.mass,
        "joints": lambda seen: seen.model.n,
        "roll": lambda seen: seen.per_circle(0),
        "pitch": lambda seen: seen.per_circle(1),
        "yaw": lambda seen: seen.per_circle(2),
        "axis": lambda seen: seen.axis,
        "circles": lambda seen: seen.plan.curve.turns if seen.plan else np.nan,
        "time": lambda seen: seen.duration,
        "drop_earth": lambda seen: seen.height(EARTH),
        "drop_moon": lambda seen: seen.height(MOON),
        "missed": lambda seen: seen.turn_error,
        "spin": lambda seen: seen.spin,
        "effort": lambda seen: seen.limit_share("effort"),
        "speed": lambda seen: seen.limit_share("velocity"),
        "overlap": lambda seen: seen.overlap,
        "torque_limits": lambda seen: np.mean([np.isfinite(x.effort) and x.effort > 0.0 for x in seen.model.limits]),
        "speed_limits": lambda seen: np.mean([np.isfinite(x.velocity) and x.velocity > 0.0 for x in seen.model.limits]),
    }

    def run(self, parameters: RobotRightingParameters, progress: Progress) -> RobotRightingResult:
        """Widest circles about three axes, the least time to turn over, and its flight."""
        model = load_falling_robot(parameters.file)
        posture = within_limits(model)
        circles = []
        for k, axis in enumerate(np.eye(3)):
            progress("turning about each axis", 0.1 * k)
            circles.append(_circle(model, posture, axis, parameters.seed))
        progress("turning over", 0.3)
        found, why = _fastest(model, posture, circles[:2], parameters.seed)
        if found is None:
            return RobotRightingResult(model, posture, tuple(circles), reason=why)
        turned, plan = found
        progress("falling", 0.9)
        return RobotRightingResult(model, posture, tuple(circles), turned, plan, _flight(model, posture, plan))

    def motion(self, seen: RobotRightingResult) -> Trajectory:
        """Flight of the robot."""
        if seen.flight is None:
            raise ModelError(f"{seen.model.name!r} does not turn over: {seen.reason}")
        return seen.flight


def load_falling_robot(file: str) -> Model:
    """Robot of a file, or the sample quadruped, on a free base: an arm is thrown with its pedestal."""
    if not file:
        return robots.quadruped()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)  # what its file leaves out does not concern the flight
        model = load(file)
    return model if isinstance(model.base, SE3) else replace(model, base=SE3())


def within_limits(model: Model) -> np.ndarray:
    """Neutral joints (n), moved away from the ends of their ranges."""
    lower, upper = (np.array([getattr(x, side) for x in model.limits]) for side in ("lower", "upper"))
    margin = np.minimum(MARGIN, 0.5 * (upper - lower))
    return np.clip(np.asarray(model.neutral().joints, dtype=float), lower + margin, upper - margin)


def _circle(model: Model, posture: np.ndarray, axis: np.ndarray, seed: int) -> Curve | None:
    """Circle of all joints that turns the base most about an axis; None where nothing turns it."""
    try:
        return largest_turn(model, posture, axis=tuple(axis), seed=seed).circle
    except ModelError as error:
        if "no motion of its joints" not in str(error):
            raise
        return None


def _fastest(
    model: Model, posture: np.ndarray, circles: list[Curve | None], seed: int
) -> tuple[tuple[int, QuickRighting] | None, str]:
    """Axis and motion of the fastest turn by 180 degrees about a horizontal axis, or the reason why there is none."""
    found: list[tuple[int, QuickRighting]] = []
    why = "no motion of its joints turns it about a horizontal axis"
    for k, circle in enumerate(circles):
        if circle is not None:
            try:
                found.append((k, quickest(model, np.pi, posture, axis=np.eye(3)[k], period=None, seed=seed)))
            except ModelError as error:
                why = str(error)
    return min(found, key=lambda x: x[1].motion.duration, default=None), why


def _flight(model: Model, posture: np.ndarray, plan: QuickRighting) -> Trajectory:
    """Flight from rest under the torques that follow the plan."""
    time, start = plan.motion.duration, model.state(joints=posture)
    run = simulate(model, start, time, tracker(model, plan.motion), dt=time / FLIGHT_STEPS, progress=False)
    if run.status != "finished":
        raise NumericsError(f"the flight was not simulated to its end: {run.status}")
    return run
