"""A quadruped trots: whole-body control with two contact sets, and Raibert's foot placement.

Diagonal pairs of legs take turns. For each pair that stands, one compiled `WholeBody` problem finds joint torques that
carry the trunk forward and swing the other pair, within friction cones and torque limits.

    python examples/walking/trot.py [SPEED]
"""

from __future__ import annotations

import sys

import numpy as np

import fallingcat as fc
from fallingcat.control import BaseTask, JointsTask, PositionTask, TorqueLimits, WholeBody

PAIRS = (("front_left", "rear_right"), ("front_right", "rear_left"))
BENT = (0.0, 0.7, -1.4) * 4  # rad: roll, hip and knee of each leg
STANCE, LIFT = 0.2, 0.06  # s that a pair stands; m that the others swing above the ground
RAMP = 0.8  # s, until the robot has its speed


class Trot:
    """Joint torques at a time and state, for ``fc.control.SampledController``."""

    def __init__(self, dog: fc.Model, start: fc.State, speed: float, friction: float = 0.6) -> None:
        self.dog, self.start, self.speed = dog, start, speed
        self.trunk = BaseTask(start.pose, velocity=np.zeros(6), gain=12.0)
        self.posture = JointsTask(BENT, gain=5.0)
        self.swing = {leg: PositionTask(f"{leg}_foot", np.zeros(3), velocity=np.zeros(3), acceleration=np.zeros(3),
                                        gain=40.0, weight=10.0) for pair in PAIRS for leg in pair}  # fmt: skip
        self.home = {leg: fc.link_pose(dog, start, f"{leg}_foot")[:3, 3] - start.pose[:3, 3] for leg in self.swing}
        self.loops = [self.loop(stand, fly, friction) for stand, fly in (PAIRS, PAIRS[::-1])]
        self.step = -1

    def loop(self, stand: tuple[str, str], fly: tuple[str, str], friction: float) -> fc.control.WholeBodyLoop:
        tasks = [[self.trunk, *(self.swing[leg] for leg in fly)], [self.posture]]
        feet = [f"{leg}_foot" for leg in stand]
        return WholeBody(self.dog, tasks, feet, friction=friction, limits=[TorqueLimits()]).compile()

    def __call__(self, t: float, state: fc.State) -> np.ndarray:
        step = int(t / STANCE + 1e-9)
        loop, fly = self.loops[step % 2], PAIRS[1 - step % 2]
        if step != self.step:
            self.step, self.from_ = step, {leg: self.foot(state, leg) for leg in fly}
        phase = t / STANCE - step
        velocity = state.pose[:3, :3] @ state.twist[:3]
        wanted = np.array([self.speed * min(t / RAMP, 1.0), 0.0, 0.0])  # m/s
        goal = self.start.pose.copy()
        goal[0, 3] += self.speed * (0.5 * t**2 / RAMP if t < RAMP else t - 0.5 * RAMP)
        loop.change(self.trunk, goal=goal, velocity=np.append(wanted, np.zeros(3)))
        for leg in fly:  # Raibert: under the hip, half a stance ahead, further where the robot is too fast
            land = state.pose[:3, 3] + self.home[leg] + (1.0 - phase) * STANCE * velocity
            land += 0.5 * STANCE * velocity + 0.1 * (velocity - wanted)
            place, rate, acceleration = swing(self.from_[leg], np.append(land[:2], 0.0), phase)
            loop.change(self.swing[leg], goal=place, velocity=rate, acceleration=acceleration)
        return loop(t, state)

    def foot(self, state: fc.State, leg: str) -> np.ndarray:
        return fc.link_pose(self.dog, state, f"{leg}_foot")[:3, 3]


def swing(start: np.ndarray, end: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place (m), velocity and acceleration of a swinging foot at the share ``s`` of its way, at rest at both ends."""
    way, up = end - start, np.array([0.0, 0.0, LIFT])
    place = start + (3.0 - 2.0 * s) * s**2 * way + 16.0 * s**2 * (1.0 - s) ** 2 * up
    rate = 6.0 * s * (1.0 - s) * way + 32.0 * s * (1.0 - s) * (1.0 - 2.0 * s) * up
    acceleration = (6.0 - 12.0 * s) * way + 32.0 * (1.0 - 6.0 * s + 6.0 * s**2) * up
    return place, rate / STANCE, acceleration / STANCE**2


def trot(speed: float = 0.4, duration: float = 4.0) -> fc.Trajectory:
    """A run of ``duration`` (s) at ``speed`` (m/s) on compliant ground."""
    dog = fc.robots.quadruped()
    feet = tuple(frame.name for frame in dog.frames)
    ground = fc.contact.CompliantFloor(feet, stiffness=(2e4, 2e4), damping=(300.0, 300.0), friction=0.8)
    start = dog.standing(ground, BENT)
    controller = fc.control.SampledController(Trot(dog, start, speed), rate=500.0)
    return fc.simulate(dog, start, duration, controller, ground, dt=5e-4)


if __name__ == "__main__":
    run = trot(float(sys.argv[1]) if len(sys.argv) > 1 else 0.4)
    x, half = run.poses[:, 0, 3], len(run) // 2
    print(f"{run.status}: {(x[-1] - x[half]) / (run.times[-1] - run.times[half]):.2f} m/s in the second half")
    print(f"trunk: {run.poses[:, 2, 3].min():.3f} to {run.poses[:, 2, 3].max():.3f} m high")
    print(run.animate().write("trot.html"))
