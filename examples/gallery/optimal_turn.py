"""Optimal control with CasADi: a satellite turns by 30 degrees with the least torques.

Multiple shooting over `fc.simulation.step`: momentum and center of mass are conserved to rounding for any torques, so
the arm has to draw a loop. Quaternions need no constraint.
"""

from __future__ import annotations

import casadi
import numpy as np

import fallingcat as fc
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


def solve(model: fc.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    f = fc.simulation.step(model, dt=T / N, target="casadi")
    problem = casadi.Opti()
    Q, V, U = (problem.variable(size, count) for size, count in ((model.nq, N + 1), (model.nv, N + 1), (model.n, N)))
    for k in range(N):
        q, v = f(Q[:, k], V[:, k], U[:, k])
        problem.subject_to(Q[:, k + 1] == q)
        problem.subject_to(V[:, k + 1] == v)
    start = model.flatten(model.state(joints=[0.5, 1.0]))[0]
    problem.subject_to(Q[:, 0] == start)
    problem.subject_to(V[:, 0] == 0)
    problem.subject_to(Q[5, N] == np.sin(0.5 * WANTED))  # z of the quaternion
    problem.subject_to(Q[7:, N] == start[7:])
    problem.subject_to(V[model.m :, N] == 0)
    problem.subject_to(problem.bounded(-REACH, casadi.vec(Q[7:, :]), REACH))
    problem.minimize(casadi.sumsqr(U) * T / N)
    way = 2.0 * np.pi * np.arange(N + 1) / N
    problem.set_initial(Q[7:, :], start[7:, None] + np.stack([np.cos(way) - 1.0, -np.sin(way)]))
    angle = WANTED * np.arange(N + 1) / N
    problem.set_initial(Q[5:7, :], np.stack([np.sin(0.5 * angle), np.cos(0.5 * angle)]))
    quiet = {"print_level": 0, "sb": "yes", "tol": 1e-6, "hessian_approximation": "limited-memory"}
    problem.solver("ipopt", {"print_time": False}, quiet)
    found = problem.solve()
    return found.value(Q).T, found.value(V).T, found.value(U).T


def page() -> Page:
    model = satellite()
    Q, V, U = solve(model)
    angle, times = np.degrees(2.0 * np.arctan2(Q[:, 5], Q[:, 6])), np.linspace(0.0, T, N + 1)
    states = [model.unflatten(q, v) for q, v in zip(Q, V, strict=True)]
    spin = max(np.abs(fc.momentum(model, s, "centroidal")).max() for s in states)
    print(f"turned by {angle[-1]:.2f} degrees, with momentum below {spin:.0e}")
    poses = {name: np.array([fc.link_pose(model, s, name) for s in states]) for name in model.link_names}
    scene = Scene(times, poses, appearance(model).shapes, floor=False, ghosts=(0.0,), azimuth=-90.0, elevation=80.0)
    torques = Chart("WholeBodyResult", times[:-1], [Line(n, U[:, i]) for i, n in enumerate(model.joint_names)], "N m")
    turn = Chart("Turn of the body", times, [Line("body", angle)], "degrees")
    return Page("A satellite turns with the least torques", "CasADi, multiple shooting", blocks=(scene, turn, torques))


if __name__ == "__main__":
    print(page().write("optimal_turn.html"))
