"""Processor time of one iteration of optimal control: quadruped, 20 nodes, contact; and of one predictive tick.

python benchmarks/optimal.py
"""

from __future__ import annotations

import statistics
import time

import numpy as np

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.optimal import MPC, Problem, solve

REPEATS = 7
POSTURE = np.array([0.0, 0.6, -1.2] * 4)


def moving(model, state, forces, data):
    place = state.pose[:3, 3] - data
    return concatenate([0.02 * forces, 0.1 * state.rates, state.joints - POSTURE, 10.0 * place, 0.3 * state.twist])


def main() -> None:
    dog = fc.robots.quadruped()
    feet = [frame.name for frame in dog.frames]
    for make in (fc.contact.CompliantFloor, fc.contact.HardContacts):
        ground = make(feet, friction=0.8)
        start = dog.standing(ground, POSTURE)
        began = time.process_time()
        step = fc.simulation.step_derivatives(dog, contact=ground, dt=0.01, state=start)
        goal = start.pose[:3, 3] + np.array([0.02, 0.0, -0.05])
        problem = Problem(step, start, 20, moving, moving, data=goal)
        found = solve(problem, iterations=30)
        first = time.process_time() - began
        times, ticks = [], []
        for _ in range(REPEATS):
            began = time.process_time()
            found = solve(problem, iterations=30)
            times.append((time.process_time() - began) / found.iterations)
        mpc = MPC(problem)
        mpc.result = mpc.tick(start)
        for _ in range(REPEATS):
            began = time.process_time()
            mpc.tick(start)
            ticks.append(time.process_time() - began)
        per, tick = (1e3 * statistics.median(x) for x in (times, ticks))
        print(f"{make.__name__}: {per:.2f} ms an iteration, {tick:.2f} ms a tick, first call {first:.1f} s")


if __name__ == "__main__":
    main()
