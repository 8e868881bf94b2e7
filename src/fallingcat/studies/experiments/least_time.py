"""A cat turns over in the least time that its joints allow, beside the manoeuvre that curvature plans, as a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, SupportsFloat

import numpy as np
from pydantic import Field

from ...compiler import compile
from ...lie.rotations import log
from ...model import Model, robots
from ...simulation import Trajectory, simulate
from ..kind import Figures, Parameters, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study

if TYPE_CHECKING:
    from ...planning import Curve, Gait, LeastTime, Manoeuvre, Planner

UPWARD = np.array([0.0, 0.0, 1.0])
STEPS = 4096
"""Steps of a run, at least; a whole number in every interval, so that forces jump between steps."""
START_CHANGE = 0.3
"""rad: of the joints of starts that are changed at random"""
SAME_TIME = 0.01
"""Relative difference of times below which starts count as leading to the same optimum."""


class LeastTimeParameters(Parameters):
    """Parameters of the turn and of the search."""

    turn: Annotated[float, Field(gt=0.0, le=180.0)] = 180.0
    """deg: by which the cat shall turn over"""
    intervals: Annotated[int, Field(ge=4, le=256)] = 16
    """intervals of the spline with which every start is tried"""
    doublings: Annotated[int, Field(ge=0, le=4)] = 1
    """doublings of the intervals, for the best"""
    starts: Annotated[int, Field(ge=1, le=1000)] = 3
    """the planned manoeuvre; then by turns a random change of it, and a plan that carries the bend around otherwise"""
    joints: Literal["planned", "all"] = "planned"
    """those that the plan moves, or all of the cat's"""


@dataclass(frozen=True, eq=False)
class RightingResult:
    """Observed motions: the plan and the fastest one, each with its joint forces alone as inputs."""

    model: Model
    """robot whose motion is optimized"""
    plan: Manoeuvre
    least_time: LeastTime
    planned_run: Trajectory
    run: Trajectory

    @property
    def turn(self) -> np.ndarray:
        """Wanted rotation vector (rad), ``3``."""
        return np.asarray(log(self.plan.pose[:3, :3]))

    @property
    def shares(self) -> dict[str, np.ndarray]:
        """``N x n`` each: joints, rates and torques of the run, relative to their limits."""
        low, high, speed, effort = (
            np.array([getattr(x, name) for x in self.model.limits]) for name in ("lower", "upper", "velocity", "effort")
        )
        middle, half, run = 0.5 * (low + high), 0.5 * (high - low), self.run
        torques = run.forces[:, self.model.m :]
        return {"joints": (run.joints - middle) / half, "speeds": run.rates / speed, "torques": torques / effort}

    def attitude_error(self, run: Trajectory) -> float:
        """deg: the angle between upright and the attitude at the end."""
        return float(np.degrees(np.linalg.norm(log(run.poses[-1, :3, :3]))))

    def spin(self, run: Trajectory) -> np.ndarray:
        """``N``: angular momentum about the center of mass, relative to what the joints move."""
        from ...planning.righting.drop import momentum_scale

        return np.asarray(np.linalg.norm(run.momenta("centroidal")[:, 3:], axis=1) / momentum_scale(run))

    @property
    def equal_starts(self) -> int:
        """Starts that lead to the best time that was found, within 1 %."""
        tried = np.array(self.least_time.tried)
        return int(np.sum(tried <= (1.0 + SAME_TIME) * np.nanmin(tried)))


@study_kind
class LeastTimeCat(SimulatedKind[LeastTimeParameters, RightingResult]):
    """Plan by curvature; then direct collocation from there; then the fall with the torques that were found."""

    name, parameters = "least-time", LeastTimeParameters
    resolution = frozenset({"intervals", "doublings", "starts"})
    measures: Mapping[str, Callable[[RightingResult], SupportsFloat]] = {
        "planned_time": lambda seen: seen.plan.shortest,
        "least_time": lambda seen: seen.least_time.time,
        "saved": lambda seen: 100.0 * (1.0 - seen.least_time.time / seen.plan.shortest),
        "refined": lambda seen: 100.0 * (seen.least_time.refined[0][1] / seen.least_time.time - 1.0),
        "starts": lambda seen: len(seen.least_time.tried),
        "same": lambda seen: seen.equal_starts,
        "optimal": lambda seen: seen.least_time.optimal,
        "error": lambda seen: np.degrees(seen.least_time.error),
        "missed": lambda seen: seen.attitude_error(seen.run),
        "spin": lambda seen: seen.spin(seen.run).max(),
        "excess": lambda seen: max(0.0, *(np.abs(share).max() - 1.0 for share in seen.shares.values())),
        "at_angles": lambda seen: 100.0 * seen.least_time.at_limits[0].max(),
        "at_speeds": lambda seen: 100.0 * seen.least_time.at_limits[1].max(),
        "at_torques": lambda seen: 100.0 * seen.least_time.at_limits[2].max(),
    }

    def run(self, parameters: LeastTimeParameters, progress: Progress) -> RightingResult:
        """Plan the turn, minimize its time, and simulate both motions."""
        from ...planning import Planner, bendings, fastest_bending, least_time

        p = parameters
        progress("planning", 0.0)
        bending, plan = fastest_bending(bendings(robots.cat()), float(np.radians(p.turn)), UPWARD)
        planner = Planner(bending.model, bending.first, bending.second, bending.tuck)
        starts, model = list(islice(beginnings(planner, plan, p.intervals), p.starts)), bending.model
        if p.joints == "all":
            model = robots.cat()
            places = [model.joint_names.index(name) for name in bending.model.joint_names]
            starts = [start.embedded(np.eye(model.n)[:, places]) for start in starts]
        grids = [p.intervals * 2**k for k in range(p.doublings + 1)]
        progress("searching", 0.1)
        found = least_time(model, log(plan.pose[:3, :3]), starts, intervals=grids)
        progress("falling", 0.8)
        planned = simulate_fall(bending.model, plan.pose, plan.gait(plan.shortest), STEPS)
        run = simulate_fall(model, plan.pose, found.gait, grids[-1] * -(-STEPS // grids[-1]))
        return RightingResult(model, plan, found, planned, run)

    def motion(self, seen: RightingResult) -> Trajectory:
        """The quickest."""
        return seen.run

    def figures(self, study: Study, seen: RightingResult) -> Figures:
        """Animation of both cats, and charts."""
        from .least_time_page import figures  # drawing waits until it is asked for

        return figures(seen)


def beginnings(planner: Planner, plan: Manoeuvre, intervals: int) -> Iterator[Curve]:
    """The plan, then random changes of it and plans with another number of turns, by turns."""
    from ...planning.righting.plan import TURN_CANDIDATES

    others = (
        planner.search(min(plan.turn, np.pi), [turns])[0] for turns in TURN_CANDIDATES if turns != plan.curve.turns
    )
    yield plan.curve
    for seed in count():
        yield perturb_curve(plan.curve, intervals, seed)
        other = next((x for x in others if x is not None), None)
        if other is not None:
            yield other.curve


def perturb_curve(curve: Curve, intervals: int, seed: int) -> Curve:
    """The curve and random hills of three lengths, ``a_k sin^2(pi k s)``, that leave its ends at rest."""
    from ...planning import Fourier, Spline

    hills = 0.5 * START_CHANGE * np.random.default_rng(seed).normal(size=(3, curve.size))
    added = Spline.along(Fourier(hills.sum(axis=0), -hills, np.zeros_like(hills)), intervals)
    plain = Spline.along(curve, intervals)
    return Spline(plain.points + added.points, plain.slopes + added.slopes)


def simulate_fall(model: Model, pose: np.ndarray, gait: Gait, steps: int) -> Trajectory:
    """A fall from rest that ends upright, if ``gait`` moves the base by ``pose``; its joint forces are all there is.

    No force depends on what the robot does, and no stop acts: joints have to stay within their limits by themselves.
    """
    from ...planning.reorientation.collocation import joint_forces

    kernel = compile(model, joint_forces, inputs=dict.fromkeys(("joints", "slopes", "bends"), model.n))
    start = np.eye(4)
    start[:3, :3] = pose[:3, :3].T

    @lru_cache(maxsize=1)  # the integrator asks several times at each
    def desired_joints(t: float) -> Any:
        return kernel(*(x[0] for x in gait(t)))

    how: dict[str, Any] = {"integrator": "momentum", "dt": gait.duration / steps, "passive": False, "progress": False}
    return simulate(
        model, model.state(pose=start, joints=gait(0.0).q[0]), gait.duration, lambda t, state: desired_joints(t), **how
    )
