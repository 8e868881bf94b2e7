"""Reorientation map of an astronaut: any rotation by arms, legs and waist alone, without thrusters and momentum."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, SupportsFloat

import numpy as np
from pydantic import Field

from ...errors import NumericsError
from ...lie.rotations import log
from ...model import Model, robots
from ...planning import Fourier, Reorientation, TimeParametrization, reorient, time_parametrization, tracker
from ...planning.righting.drop import momentum_scale
from ...simulation import MomentumRungeKutta, Trajectory, simulate
from ..kind import Parameters, Progress, study_kind
from ..simulated import SimulatedKind

MOVED_JOINTS = ("hip_roll", "hip_pitch", "knee", "waist", "shoulder_pitch", "shoulder_roll", "elbow")
"""Parts of the names of the joints of the sample humanoid that move: 14; the others are stiff."""
AXES = 100
"""Number of axes of the map, on a spiral over the sphere"""
SHARE = 0.9
"""Share of speeds and efforts that the plan uses; the tracking controller needs the rest."""
POINTS = 100
"""Grid points of a cycle"""
STEP = 1e-3
"""s: of the simulation"""
BELOW_HALF = np.pi * (1.0 - 1e-12)
"""rad: rotation vectors are rounded, and must not be longer than a half turn"""
GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
"""rad: between two points of the spiral"""


class AstronautParameters(Parameters):
    """Parameters of the rotation and of the search."""

    axis: Annotated[int, Field(ge=0, lt=AXES)] = 0
    """number of the axis, on a spiral from up to down"""
    angle: Annotated[float, Field(gt=0.0, le=180.0)] = 90.0
    """deg"""
    reach: Annotated[float, Field(gt=0.0, le=3.0)] = 1.2
    """rad: joints go no farther from the middle of their ranges"""


@dataclass(frozen=True, eq=False)
class AstronautResult:
    """Plan, its motion in the least time, and the simulated flight."""

    model: Model
    plan: Reorientation
    motion: TimeParametrization
    flight: Trajectory

    @property
    def effort(self) -> float:
        """Integral of the squared joint rates if the whole turn took one second (rad^2/s)."""
        rates = self.plan.gait(np.arange(256) / 256.0).dq
        return float(self.plan.cycles**2 * np.mean(np.sum(rates**2, axis=1)))

    @property
    def attitude_error(self) -> float:
        """Angle between the simulated attitude and the wanted one (deg)."""
        turned = self.flight.poses[0, :3, :3].T @ self.flight.poses[-1, :3, :3]
        wanted = np.linalg.matrix_power(self.plan.cycle.pose[:3, :3], self.plan.cycles)
        return float(np.degrees(np.linalg.norm(log(wanted.T @ turned)) + self.plan.error))

    @property
    def spin(self) -> float:
        """Largest angular momentum in flight, relative to what the joint rates alone carry."""
        return float(np.abs(self.flight.momenta("centroidal")[:, 3:]).max() / momentum_scale(self.flight))

    def limit_share(self, limit: str) -> float:
        """Largest share of a limit, ``"effort"`` or ``"velocity"``, in the simulated flight."""
        most = np.array([getattr(x, limit) for x in self.model.limits])
        seen = self.flight.rates if limit == "velocity" else self.flight.port_forces["controller"][:, self.model.m :]
        return float(np.max(np.abs(seen) / most))


@study_kind
class AstronautTurn(SimulatedKind[AstronautParameters, AstronautResult]):
    """Gait of least effort for a rotation, in the least time within limits, driven by torques in a simulated flight."""

    name, parameters = "astronaut-turn", AstronautParameters
    measures: Mapping[str, Callable[[AstronautResult], SupportsFloat]] = {
        "x": lambda seen: seen.plan.turn[0] / np.linalg.norm(seen.plan.turn),
        "y": lambda seen: seen.plan.turn[1] / np.linalg.norm(seen.plan.turn),
        "z": lambda seen: seen.plan.turn[2] / np.linalg.norm(seen.plan.turn),
        "cycles": lambda seen: seen.plan.cycles,
        "per_cycle": lambda seen: np.degrees(seen.plan.per_cycle),
        "effort": lambda seen: seen.effort,
        "time": lambda seen: seen.motion.duration,
        "planned_error": lambda seen: np.degrees(seen.plan.error),
        "missed": lambda seen: seen.attitude_error,
        "spin": lambda seen: seen.spin,
        "torque": lambda seen: seen.limit_share("effort"),
        "speed": lambda seen: seen.limit_share("velocity"),
        "reach": lambda seen: np.degrees(seen.plan.reach),
    }

    def run(self, parameters: AstronautParameters, progress: Progress) -> AstronautResult:
        """Plan, least time, simulated flight."""
        model = astronaut()
        middle = np.array([0.5 * (x.lower + x.upper) for x in model.limits])
        turn = min(np.radians(parameters.angle), BELOW_HALF) * axes()[parameters.axis]
        progress("planning", 0.0)
        plan = reorient(model, turn, origin=middle, reach=parameters.reach, harmonics=2)
        motion = time_parametrization(model, all_cycles(plan), share=SHARE, points=POINTS * plan.cycles)
        progress("turning", 0.5)
        start, T = model.state(joints=middle), motion.duration
        flight = simulate(
            model, start, T, tracker(model, motion), dt=T / np.ceil(T / STEP), every=16, progress=False,
            integrator=MomentumRungeKutta(),
        )  # fmt: skip
        if flight.status != "finished":
            raise NumericsError(f"the flight was not simulated to its end: {flight.status}")
        return AstronautResult(model, plan, motion, flight)

    def motion(self, seen: AstronautResult) -> Trajectory:
        """Flight of the astronaut."""
        return seen.flight


@functools.cache
def astronaut() -> Model:
    """Sample humanoid, of which hips, knees, waist, shoulders and elbows move; it touches nothing."""
    body = robots.humanoid()
    still = [name for name in body.joint_names if not any(part in name for part in MOVED_JOINTS)]
    return body.lock(still).merge_fixed()


def axes() -> np.ndarray:
    """``AXES x 3``: axes of rotation, evenly over the sphere."""
    k = np.arange(AXES)
    z = 1.0 - (2.0 * k + 1.0) / AXES
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(GOLDEN_ANGLE * k), ring * np.sin(GOLDEN_ANGLE * k), z], axis=1)


def all_cycles(plan: Reorientation) -> Fourier:
    """All cycles of a plan as one curve: the same waves, so many times as fast."""
    gait, N = plan.gait, plan.cycles
    cosines, sines = (np.zeros((N * len(gait.cosines), gait.size)) for _ in range(2))
    cosines[N - 1 :: N], sines[N - 1 :: N] = gait.cosines, gait.sines
    return Fourier(gait.mean, cosines, sines)
