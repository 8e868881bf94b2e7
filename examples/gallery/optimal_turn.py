"""Optimal control: a satellite turns by 30 degrees with the least torques.

Differential dynamic programming over the steps of the simulator: momentum and center of mass are conserved to rounding
for any torques, so the arm has to draw a loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.visualization import Chart, Line, Page, Scene, appearance

T, N, WANTED, REACH = 4.0, 40, np.radians(30.0), 2.5  # s, steps, rad, rad


def satellite() -> fc.Model:
    """A body with an arm of two links that move in its x-y plane, no gravity."""
    turns, at = fc.joints.Revolute((0.0, 0.0, 1.0)), fc.lie.SE3().exp([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    bodies = [fc.Body(8.0, (0.0, 0.0, 0.0), 0.4 * np.eye(3))]
    bodies += [fc.Body(2.0, (0.25, 0.0, 0.0), np.diag([1e-3, 0.04, 0.04]))] * 2
    links = tuple(fc.Link(name, body) for name, body in zip(("body", "upper", "lower"), bodies, strict=True))
    joints = tuple(fc.Joint(name, turns, a, b, at) for name, a, b in
                   (("shoulder", "body", "upper"), ("elbow", "upper", "lower")))  # fmt: skip
    return fc.Model("satellite", fc.lie.SE3(), links, joints, np.zeros(3))


def turn(model: fc.Model) -> tuple[fc.optimal.Problem, fc.State]:
    """The problem, and a guess of its states, which is no motion: the arm draws a circle."""
    start = model.state(joints=[0.5, 1.0])

    def effort(model: fc.Model, state: fc.State, forces: Any, data: Any) -> Any:
        return np.sqrt(2.0 * T / N) * forces

    def missed(model: fc.Model, state: fc.State, forces: Any, data: Any) -> Any:
        turned = np.reshape(state.pose[1, 0] - np.sin(WANTED), 1)
        return concatenate([turned, state.joints - start.joints, state.rates])

    def beyond(model: fc.Model, state: fc.State, forces: Any, data: Any) -> Any:
        return concatenate([state.joints - REACH, -REACH - state.joints])

    steps, free = fc.simulation.step_derivatives(model, dt=T / N), (-np.inf, np.inf)
    problem = fc.optimal.Problem(
        steps, start, N, effort, inequality=beyond, final_equality=missed, final_inequality=beyond, force_limits=free
    )
    way, angle = 2.0 * np.pi * np.arange(N + 1) / N, 0.5 * WANTED * np.arange(N + 1) / N
    q = np.tile(model.flatten(start)[0], (N + 1, 1))
    q[:, 7:] += np.stack([np.cos(way) - 1.0, -np.sin(way)], axis=1)
    q[:, 5:7] = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    return problem, model.unflatten(q, np.zeros((N + 1, model.nv)))


def page() -> Page:
    model = satellite()
    problem, guess = turn(model)
    found = fc.optimal.solve(problem, states=guess, iterations=500)
    states = [found.states.at(i) for i in range(N + 1)]
    angle = np.degrees(np.arctan2(found.states.pose[:, 1, 0], found.states.pose[:, 0, 0]))
    spin = max(np.abs(fc.momentum(model, s, "centroidal")).max() for s in states)
    print(f"{found.status.value}: turned by {angle[-1]:.2f} degrees, with momentum below {spin:.0e}")
    poses = {name: np.array([fc.link_pose(model, s, name) for s in states]) for name in model.link_names}
    scene = Scene(
        found.times, poses, appearance(model).shapes, floor=False, ghosts=(0.0,), azimuth=-90.0, elevation=80.0
    )
    lines = [Line(name, found.forces[:, i]) for i, name in enumerate(model.joint_names)]
    torques, way = Chart("Torques", found.times[:-1], lines, "N m"), [Line("body", angle)]
    turned = Chart("Turn of the body", found.times, way, "degrees")
    about = "A satellite turns with the least torques", "differential dynamic programming"
    return Page(*about, blocks=(scene, turned, torques))


if __name__ == "__main__":
    print(page().write("optimal_turn.html"))
