"""A free-flying arm learns its own masses: least squares on a motion, over bodies that can exist.

The motion is simulated, forces are measured with noise, and the robot starts from a guess that is half as heavy. What
motions show, the base parameters, is found to a percent; every body on the way could exist.
"""

from __future__ import annotations

import numpy as np

import fallingcat as fc
from fallingcat.visualization import Chart, Line, Page

NOISE = 0.01  # N, N m
SAMPLES = (10, 20, 40, 80, 160)


def excited(t: float, state: fc.State) -> np.ndarray:
    """Torques of the joints that move everything."""
    return 0.2 * np.sin(np.array([2.0, 3.0, 5.0]) * t + np.arange(3))


def measured(robot: fc.Model, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The regressor along a motion, and the forces that were measured."""
    compiled = fc.compile(robot, fc.dynamics.inverse_dynamics_regressor)
    start = robot.state(twist=0.2 * rng.normal(size=robot.m))
    run = fc.simulate(robot, start, 6.0, lambda t, s: excited(t, s), integrator="rkmk4")
    rows = []
    for k in np.linspace(0, len(run.times) - 1, count).astype(int):
        state = run.state(k)
        forces = np.concatenate([np.zeros(robot.m), excited(run.times[k], state)])
        q, v = robot.flatten(state)
        rows.append(compiled(q, v, fc.forward_dynamics(robot, state, forces)))
    Y = np.concatenate(rows)
    return Y, Y @ fc.dynamics.inertial_parameters(robot) + NOISE * rng.normal(size=len(Y))


def page(samples: tuple[int, ...] = SAMPLES) -> Page:
    robot, rng = fc.robots.planar_arm(base=fc.lie.SE3()), np.random.default_rng(0)
    truth, base = fc.dynamics.inertial_parameters(robot), fc.dynamics.base_parameters(robot)
    guess = fc.dynamics.with_inertial_parameters(robot, 0.5 * truth)
    Y, forces = measured(robot, max(samples), rng)
    errors = []
    for count in samples:
        rows = count * robot.nv
        found = fc.identify(guess, Y[:rows], forces[:rows])
        assert not any(link.body.problems() for link in found.model.links)  # bodies that can exist
        off = np.abs(base.P @ (found.parameters - truth)) / np.abs(base.P @ truth).max()
        errors.append(100.0 * off.max())
        print(f"{count:4d} samples: base parameters at most {errors[-1]:6.3f} % off, forces {found.residual:.4f} N m")
    line = Line("largest error of a base parameter", errors)
    chart = Chart("What is learnt", list(samples), [line], "%", x_label="samples")
    return Page("A robot learns its masses", f"{len(base.names)} base parameters of {len(truth)}", (), (chart,))


if __name__ == "__main__":
    print(page().write("identify.html"))
