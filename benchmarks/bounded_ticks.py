"""Processor time of random whole-body ticks with switched contacts and a bounded number of solver rounds.

States from rest to 5 rad/s, tilted by up to 0.6 rad, masks from no contact to all of them, goals up to 0.5 m away,
limits of torques, joints and rates that often contradict each other; the quadruped on points and the humanoid on soles
of four points.  Each tick starts from what the last one held.  The processor time of a tick is the least of three
equal ones, so that interrupts of the operating system do not count.

    python benchmarks/bounded_ticks.py [TICKS]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.control import CenterOfMassTask, JointLimits, JointsTask, RateLimits, RotationTask, TorqueLimits

RESULT = Path(__file__).parent / "results" / "bounded_ticks.json"
ROUNDS = 12


def quadruped() -> tuple[fc.Model, list[str], np.ndarray]:
    """Robot, contacts, bent joints."""
    dog = fc.robots.quadruped()
    return dog, [frame.name for frame in dog.frames], np.tile([0.0, 0.7, -1.4], 4)


def humanoid() -> tuple[fc.Model, list[str], np.ndarray]:
    """Robot, contacts, bent joints."""
    robot, points = fc.robots.humanoid(), list[str]()
    for side in ("left", "right"):
        robot, sole = fc.contact.corners(robot, f"{side}_sole", (0.2, 0.1))
        points += sole
    bend = {"hip_pitch": -0.2, "knee_pitch": 0.4, "ankle_pitch": -0.2}
    joints = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in bend.items()}
    return robot, points, robot.state(joints=joints).joints


def measure(model: fc.Model, contacts: list[str], bent: np.ndarray, ticks: int) -> dict[str, Any]:
    """Times (us), rounds and outcomes of random ticks."""
    com = CenterOfMassTask(np.zeros(3), velocity=np.zeros(3), gain=6.0)
    tasks = [[com], [RotationTask(model.link_names[0], np.eye(3), gain=8.0)], [JointsTask(bent, gain=5.0)]]
    limits = [TorqueLimits(), JointLimits(), RateLimits()]
    loop = fc.control.WholeBody(model, tasks, contacts, limits=limits, switched=True, rounds=ROUNDS).compile()
    rng, most = np.random.default_rng(0), np.array([x.effort for x in model.limits])
    times, rounds, interrupted, beyond = np.zeros(ticks), np.zeros(ticks, int), 0, 0.0
    for k in range(ticks):
        speed, angle = rng.choice([0.0, 0.1, 1.0, 5.0]), rng.choice([0.0, 0.1, 0.6])
        state = model.state(
            joints=bent + angle * rng.normal(size=model.n),
            twist=0.5 * speed * rng.normal(size=6),
            rates=speed * rng.normal(size=model.n),
            pose=fc.lie.SE3().exp(angle * rng.normal(size=6)),
        )
        loop.switch(rng.random(len(contacts)) < rng.choice([0.0, 0.3, 0.7, 1.0]))
        loop.change(com, goal=fc.center_of_mass(model, state) + rng.choice([0.0, 0.02, 0.5]) * rng.normal(size=3))
        q, v = model.flatten(state)
        held, times[k] = loop._solver.solution.active_sides.copy(), np.inf
        for _ in range(3):
            loop._solver.solution.active_sides[:] = held
            start = time.thread_time_ns()
            tau = loop(q, v)
            times[k] = min(times[k], 1e-3 * (time.thread_time_ns() - start))
        rounds[k] = loop._answer.rounds
        interrupted += loop._answer.interrupted
        beyond = max(beyond, float((np.abs(tau) / most).max()))
    return {
        "ticks": ticks,
        "median_us": float(np.median(times)),
        "percentile_99_us": float(np.percentile(times, 99)),
        "worst_us": float(times.max()),
        "worst_over_median": float(times.max() / np.median(times)),
        "median_rounds": float(np.median(rounds)),
        "interrupted": interrupted / ticks,
        "largest_torque_over_limit": beyond,
    }


if __name__ == "__main__":
    ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    found = {robot.__name__: measure(*robot(), ticks) for robot in (quadruped, humanoid)}
    if ticks >= 100_000:
        RESULT.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))
