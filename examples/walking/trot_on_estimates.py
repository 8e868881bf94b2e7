"""A quadruped trots on estimates: its controller never sees the true state.

Gyroscope, accelerometer, encoders and foot switches are simulated with noise, biases and delays; the contact-aided
invariant Kalman filter estimates the base, and the walking controller receives what the filter believes.

    python examples/walking/trot_on_estimates.py [SPEED] [SEEDS]
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

import fallingcat as fc
from fallingcat.control import Push, SampledController
from fallingcat.estimation import IMU, ContactFilter, Encoders, EstimatedFeedback, FootSwitches
from fallingcat.locomotion import QuadrupedWalk, VelocityCommand, WalkingLoop

BENT = (0.0, 0.7, -1.4) * 4  # rad: roll, hip and knee of each leg
DELAY = 0.002  # s, of all sensors
NOISE = {"gyro": 2e-4, "accelerometer": 3e-3}  # rad/s/sqrt(Hz), m/s^2/sqrt(Hz)
BIAS = np.repeat([0.01, 0.1], 3)  # rad/s, m/s^2: standard deviations of the biases at the start
FALLEN = 30.0  # degrees of tilt


class Outcome(NamedTuple):
    """One run."""

    speed: float  # m/s forward, in the second half
    drift: float  # m of error of the estimated position for each meter walked
    heading: float  # degrees: error of the estimated heading at the end
    velocity: float  # m/s: root mean square of the error of the estimated velocity
    tilt: float  # degrees, largest


def controller(
    dog: fc.Model, feet: list[str], ground: fc.contact.Contact, loop: WalkingLoop, seed: int
) -> EstimatedFeedback:
    """The loop behind simulated sensors and a filter that does not know their biases."""
    filter = ContactFilter(dog, feet, IMU(**NOISE), Encoders())
    bias = BIAS * np.random.default_rng(seed).standard_normal(6)
    imu, encoders = IMU(**NOISE, delay=DELAY), Encoders(delay=DELAY)
    switches = FootSwitches(dog, feet, ground)
    return EstimatedFeedback(
        loop, filter, switches, imu=imu, encoders=encoders, contact_delay=DELAY, bias=bias, seed=seed
    )


def trot(speed: float, seed: int, duration: float = 6.0, pushed: bool = False, estimated: bool = True) -> Outcome:
    """A run on compliant ground; with five pushes of 8 N s from the side, 0.4 s apart, where ``pushed``."""
    dog = fc.robots.quadruped()
    feet = [frame.name for frame in dog.frames]
    ground = fc.contact.CompliantFloor(feet, stiffness=(2e4, 2e4), damping=(300.0, 300.0), friction=0.8)
    start = dog.standing(ground, BENT)
    loop = QuadrupedWalk(dog, feet, BENT).compile(VelocityCommand(speed))
    feedback = controller(dog, feet, ground, loop, seed)
    pushes = [Push("trunk", (0.0, 80.0, 0.0), start=1.5 + 0.4 * k, duration=0.1, name=f"push {k}") for k in range(5)]
    laws = [SampledController(feedback if estimated else loop, rate=500.0), *(pushes if pushed else ())]
    run = fc.simulate(dog, start, duration, laws, ground, dt=1e-3)
    return measured(run, feedback if estimated else None)


def measured(run: fc.Trajectory, feedback: EstimatedFeedback | None) -> Outcome:
    """Figures of a run."""
    half = run.times >= 0.5 * run.times[-1]
    forward = np.einsum("ti,ti->t", run.poses[half, :3, 0], np.gradient(run.poses[:, :3, 3], run.times, axis=0)[half])
    tilt = np.degrees(np.arccos(np.clip(run.poses[:, 2, 2], -1.0, 1.0))).max()
    if feedback is None:
        return Outcome(forward.mean(), 0.0, 0.0, 0.0, tilt)
    times, seen = feedback.history
    true = [run.at(t) for t in times[::10]]
    off = seen.pose[::10, :2, 3] - np.array([s.pose[:2, 3] for s in true])
    walked = np.linalg.norm(np.diff([s.pose[:2, 3] for s in true], axis=0), axis=1).sum()
    velocity = np.sqrt(np.mean((seen.twist[::10, :3] - np.array([s.twist[:3] for s in true])) ** 2))
    turned = true[-1].pose[:3, :3].T @ seen.pose[::10][-1, :3, :3]
    heading = np.degrees(np.arctan2(turned[1, 0], turned[0, 0]))
    return Outcome(forward.mean(), np.linalg.norm(off[-1] - off[0]) / walked, heading, velocity, tilt)


if __name__ == "__main__":
    speed, seeds = (float(sys.argv[1]) if len(sys.argv) > 1 else 0.5), (int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for name, options in (("", {}), (", pushed", {"pushed": True})):
        true = trot(speed, 0, estimated=False, **options)
        print(f"true state{name}: {true.speed:.3f} m/s, tilt {true.tilt:.1f} deg")
        runs = np.array([trot(speed, seed, **options) for seed in range(seeds)])
        found, worst = np.median(runs, axis=0), np.abs(runs).max(axis=0)
        print(f"estimates{name}: {found[0]:.3f} m/s ({runs[:, 0].min():.3f} to {runs[:, 0].max():.3f}),", end=" ")
        print(f"drift {100 * found[1]:.2f} % (largest {100 * worst[1]:.2f}), heading {worst[2]:.2f} deg,", end=" ")
        print(f"velocity {found[3]:.4f} m/s, tilt {worst[4]:.1f} deg, {(runs[:, 4] > FALLEN).sum()} of {seeds} fell")
