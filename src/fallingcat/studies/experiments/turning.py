"""An arm in orbit turns its spacecraft by a wanted rotation, without thrusters and without momentum, as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, SupportsFloat

import numpy as np
from pydantic import Field

from ...arrays import concatenate
from ...compiler import compile
from ...control import OutputFeedback, PeriodicReference, PoseSensor, SampledController
from ...dynamics import momentum
from ...formulations import reduced_equations
from ...lie.rotations import exp, log
from ...model import Model, State, robots
from ...simulation import Trajectory, simulate
from ...visualization import Chart, Line, Table
from ..kind import Figures, Parameters, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study

if TYPE_CHECKING:
    from ...planning import Fourier, Reorientation

STEP = 1e-3
"""s: at which the momentum stays zero to 1e-10"""
SETTLING_TIME = 4.0
"""s: for joints to settle after the gait"""
RATE = 100.0
"""1/s: at which the law looks, with slow poses"""
SAMPLES = 400
"""samples of the motion at which rates and torques are evaluated"""


class TurningParameters(Parameters):
    """Parameters of the turn, the joint limits and the tracking law."""

    turn: Annotated[list[float], Field(min_length=3, max_length=3)]
    """deg: rotation vector, in the frame of the spacecraft at the start; up to 180"""
    shape: Annotated[list[float], Field(min_length=7, max_length=7)]
    """deg: of the joints, at the start and at the end of each cycle"""
    reach: Annotated[float, Field(gt=0.0, le=170.0)] = 60.0
    """deg: how far joints may go from there"""
    most_rate: Annotated[float, Field(gt=0.0, le=360.0)] = 60.0
    """deg/s: the fastest that a joint may be"""
    most_torque: Annotated[float, Field(gt=0.0, le=1000.0)] = 5.0
    """N m: the largest torque"""
    frequency: Annotated[float, Field(gt=0.0, le=20.0)] = 4.0
    """rad/s: of the law that follows, critically damped"""
    pose_rate: Annotated[float, Field(gt=0.0, le=100.0)] = 10.0
    """poses a second, in the run with slow poses"""
    rotation_noise: Annotated[float, Field(ge=0.0, le=10.0)] = 0.2
    """deg"""
    position_noise: Annotated[float, Field(ge=0.0, le=1.0)] = 0.005
    """m"""


@dataclass(frozen=True, eq=False)
class TurningResult:
    """Observed plan, motion and runs."""

    model: Model
    plan: Reorientation
    motion: PeriodicReference
    law: OutputFeedback
    run: Trajectory
    noisy_run: Trajectory
    """with slow, late, noisy poses"""
    efforts: tuple[float, float]
    """rad^2/s over a cycle of 1 s: of the paper's circle, and of the gait of least effort near it for the same turn"""

    def attitude_error(self, run: Trajectory) -> float:
        """deg: the angle between the wanted attitude and that at the end."""
        return float(np.degrees(np.linalg.norm(log(np.asarray(exp(self.plan.turn)).T @ run.poses[-1, :3, :3]))))

    @property
    def torques(self) -> np.ndarray:
        """``N x n`` (N m): what the law asks for."""
        return np.asarray(self.run.port_forces[self.law.name][:, self.model.m :])

    @property
    def spin(self) -> float:
        """The largest angular momentum about the center of mass, relative to what its parts have."""
        h = [np.abs(momentum(self.model, state, frame="centroidal")[3:]).max() for state in list(self.run.states)[::40]]
        size = np.abs(self.run.rates).max() * reduced_equations(self.model, self.run.state(0)).Mb[5, 5]
        return float(max(h) / size)


@study_kind
class Turning(SimulatedKind[TurningParameters, TurningResult]):
    """Plan by curvature, follow by the law of [Mishra] V-A."""

    name, parameters = "orbital-turn", TurningParameters
    measures: Mapping[str, Callable[[TurningResult], SupportsFloat]] = {
        "cycles": lambda seen: seen.plan.cycles,
        "per_cycle": lambda seen: np.degrees(seen.plan.per_cycle),
        "planned_error": lambda seen: np.degrees(seen.plan.error),
        "missed": lambda seen: seen.attitude_error(seen.run),
        "missed_slow": lambda seen: seen.attitude_error(seen.noisy_run),
        "time": lambda seen: seen.motion.duration,
        "peak_torque": lambda seen: np.abs(seen.torques).max(),
        "peak_rate": lambda seen: np.degrees(np.abs(seen.run.rates).max()),
        "spin": lambda seen: seen.spin,
        "effort_circle": lambda seen: seen.efforts[0],
        "effort_ours": lambda seen: seen.efforts[1],
        "reach": lambda seen: np.degrees(seen.plan.reach),
    }

    def run(self, parameters: TurningParameters, progress: Progress) -> TurningResult:
        """Plan the turn, time it within the limits, and simulate it with perfect and with slow poses."""
        from ...planning import Fourier, reorient
        from ...planning.gaits.orbital_example import orbital_example

        p, arm = parameters, robots.orbital_arm()
        q, reach = np.radians(p.shape), float(np.radians(p.reach))
        progress("planning", 0.0)
        plan = reorient(arm, np.radians(p.turn), origin=q, reach=reach)
        motion = time_parametrization(arm, plan, np.radians(p.most_rate), p.most_torque)
        rel = reduced_equations(arm, arm.state(joints=q))
        w, weights = p.frequency, (tuple(np.diag(rel.Lq)), tuple(np.diag(rel.Mb)))
        law = OutputFeedback(
            w * w, 2.0 * w, weights[0], compensation="curvature", pose_gain=2.0, locked_gain=1.0,
            base_weights=weights[1], motion=motion,
        )  # fmt: skip
        progress("turning", 0.3)
        start, duration = arm.state(joints=q), motion.duration + SETTLING_TIME
        run = simulate(arm, start, duration, law, dt=STEP, every=10, progress=False)
        progress("turning with slow poses", 0.6)
        sensor = PoseSensor(p.pose_rate, 0.5 / p.pose_rate, float(np.radians(p.rotation_noise)), p.position_noise)
        noisy = SampledController(replace(law, sensor=sensor), RATE, seed=1)
        slow = simulate(arm, start, duration, noisy, dt=1.0 / RATE, integrator="rkmk4", progress=False)
        progress("comparing", 0.9)
        example = orbital_example(points=3)
        circle = Fourier.through(example.plane.curve(example.circle)(np.arange(16) / 16.0).q)
        same = reorient(arm, log(example.integrated.pose[:3, :3]), reach=1.7, start=circle)
        efforts = effort(circle), same.cycles**2 * effort(same.gait)
        return TurningResult(arm, plan, motion, law, run, slow, efforts)

    def motion(self, seen: TurningResult) -> Trajectory:
        """Trajectory with perfect poses."""
        return seen.run

    def figures(self, study: Study, seen: TurningResult) -> Figures:
        """The arm in motion; attitude, joints, torques."""
        run = seen.run
        at = np.linspace(0, len(run) - 1, min(len(run), 900)).astype(int)
        slow_at = np.linspace(0, len(seen.noisy_run) - 1, min(len(seen.noisy_run), 900)).astype(int)
        turned = np.degrees([log(R) for R in run.poses[at, :3, :3]])
        left = [np.asarray(exp(seen.plan.turn)).T @ R for R in seen.noisy_run.poses[slow_at, :3, :3]]
        attitude = [Line(axis, turned[:, k]) for k, axis in enumerate("xyz")]
        joints = [Line(name, np.degrees(run.joints[at, i])) for i, name in enumerate(seen.model.joint_names)]
        torques = [Line(name, seen.torques[at, i]) for i, name in enumerate(seen.model.joint_names)]
        away = [Line("angle", np.degrees([np.linalg.norm(log(R)) for R in left]))]
        rows = [
            ("circle of the paper, joints 2, 3 and 4", "13.77", f"{seen.efforts[0]:.2f}"),
            ("least effort near it, seven joints", "13.77", f"{seen.efforts[1]:.2f}"),
        ]
        header = ("gait", "deg per cycle", "effort (rad²/s)")
        return Figures(
            (run.animate("joints").blocks[0], Chart("Attitude of the spacecraft", run.times[at], attitude, "deg")),
            (
                Chart("Joints", run.times[at], joints, "deg"),
                Chart("WholeBodyResult", run.times[at], torques, "N m"),
                Chart("Left to turn, with slow poses", seen.noisy_run.times[slow_at], away, "deg"),
                Table("Effort of one cycle", header, rows, note="Squares of joint rates over a cycle of one second."),
            ),
        )


def time_parametrization(model: Model, plan: Reorientation, most_rate: float, most_torque: float) -> PeriodicReference:
    """Gait as a motion in the least time within limits (rad/s, N m).

    Without momentum, rates go with ``1 / T`` and torques with ``1 / T^2``.
    """
    gait = plan.gait
    one = PeriodicReference(tuple(gait.mean), gait.cosines, gait.sines, plan.cycles, 1.0)  # type: ignore[arg-type]
    kernel = compile(model, rates_and_torques, inputs={"clock": 1}, motion=one)
    found = np.asarray(kernel(np.linspace(0.0, 1.0, SAMPLES * plan.cycles)[:, None]))
    rate, torque = np.abs(found[:, : model.n]).max(), np.abs(found[:, model.n :]).max()
    T = float(max(rate / most_rate, np.sqrt(torque / most_torque)))
    return PeriodicReference(one.mean, one.cosines, one.sines, plan.cycles, T)


def rates_and_torques(model: Model, clock: Any, *, motion: PeriodicReference) -> Any:
    """Rates and torques (n each) of a motion without momentum, at ``clock = [t]``."""
    wanted = motion(clock[0])
    still = State(np.eye(4), wanted.joints, np.zeros(model.m), wanted.rates)
    rel = reduced_equations(model, still)
    return concatenate([wanted.rates, rel.Lq @ wanted.accelerations + rel.Gamma @ wanted.rates])


def effort(gait: Fourier) -> float:
    """Squares of rates over a cycle of 1 s (rad^2/s)."""
    return float(np.mean(np.sum(gait(np.arange(256) / 256.0).dq ** 2, axis=1)))
