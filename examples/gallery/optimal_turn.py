"""Optimal control on the manifold with CasADi: a satellite in the plane turns by 30 degrees with the least torques.

Multiple shooting over a compiled step: states are flat, steps go through the group (`model.integrate`), so that there
are no angles to unwrap and no constraints to keep a base on its group. Momentum stays zero; the arm has to draw a loop.
"""

from __future__ import annotations

import casadi
import numpy as np

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.views import Chart, Line, Page, Scene, looks

T, N, WANTED, REACH = 4.0, 60, np.radians(30.0), 2.5  # s, steps, rad, rad


def satellite() -> fc.Model:
    """A body with an arm of two links, in the x-y plane, no gravity."""
    turns, at = fc.joints.Revolute((0.0, 0.0, 1.0)), fc.lie.SE3().exp([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    bodies = [fc.Body(8.0, (0.0, 0.0, 0.0), 0.4 * np.eye(3))]
    bodies += [fc.Body(2.0, (0.25, 0.0, 0.0), np.diag([1e-3, 0.04, 0.04]))] * 2
    links = tuple(fc.Link(name, body) for name, body in zip(("body", "upper", "lower"), bodies, strict=True))
    joints = tuple(fc.Joint(name, turns, a, b, at) for name, a, b in
                   (("shoulder", "body", "upper"), ("elbow", "upper", "lower")))  # fmt: skip
    return fc.Model("satellite", fc.lie.SE2(), links, joints, np.zeros(3))


def step(model, q, v, u):
    """A semi-implicit step of T / N."""
    dt = T / N
    a = fc.forward_dynamics(model, model.unflatten(q, v), concatenate([np.zeros(model.m), u]))
    v = v + dt * a
    return model.integrate(q, dt * v), v


def solve(model: fc.Model) -> tuple[np.ndarray, np.ndarray]:
    f = fc.compile(model, step, target="casadi", inputs={"q": model.nq, "v": model.nv, "u": model.n})
    problem = casadi.Opti()
    Q, V, U = (problem.variable(size, count) for size, count in ((model.nq, N + 1), (model.nv, N + 1), (model.n, N)))
    for k in range(N):
        q, v = f(Q[:, k], V[:, k], U[:, k])
        problem.subject_to(Q[:, k + 1] == q)
        problem.subject_to(V[:, k + 1] == v)
    start = np.array([0.0, 0.0, 0.0, 0.5, 1.0])
    problem.subject_to(Q[:, 0] == start)
    problem.subject_to(V[:, 0] == 0)
    problem.subject_to(Q[2:, N] == start[2:] + np.array([WANTED, 0.0, 0.0]))
    problem.subject_to(V[model.m :, N] == 0)
    problem.subject_to(problem.bounded(-REACH, casadi.vec(Q[3:, :]), REACH))
    problem.minimize(casadi.sumsqr(U) * T / N)
    way = 2.0 * np.pi * np.arange(N + 1) / N
    problem.set_initial(Q[3:, :], start[3:, None] + np.stack([np.cos(way) - 1.0, -np.sin(way)]))
    problem.set_initial(Q[2, :], WANTED * np.arange(N + 1) / N)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 500})
    found = problem.solve()
    return found.value(Q).T, found.value(U).T


def page() -> Page:
    model = satellite()
    Q, U = solve(model)
    print(
        f"turned by {np.degrees(Q[-1, 2]):.2f} degrees, joints back within {np.abs(Q[-1, 3:] - Q[0, 3:]).max():.0e} rad"
    )
    times = np.linspace(0.0, T, N + 1)
    states = [model.unflatten(q, np.zeros(model.nv)) for q in Q]
    poses = {name: np.array([fc.link_pose(model, s, name) for s in states]) for name in model.link_names}
    scene = Scene(times, poses, looks(model).shapes, floor=False, ghosts=(0.0,), azimuth=-90.0, elevation=80.0)
    torques = Chart("Torques", times[:-1], [Line(n, U[:, i]) for i, n in enumerate(model.joint_names)], "N m")
    turn = Chart("Turn of the body", times, [Line("body", np.degrees(Q[:, 2]))], "degrees")
    return Page("A satellite turns with the least torques", "CasADi, multiple shooting", blocks=(scene, turn, torques))


if __name__ == "__main__":
    print(page().write("optimal_turn.html"))
