"""Trajectory optimisation with CasADi: an acrobat without angular momentum turns around in the air.

Multiple shooting over `fc.simulation.step`, the step of the simulator. It keeps linear and angular momentum to rounding
whatever the torques are, so the optimiser has to find a motion of the limbs that turns the body. With a step of Euler's
method, which does not keep momentum, it exploits the errors of the integrator instead.

    python examples/trajectory_optimization/flip.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import casadi
import numpy as np

import fallingcat as fc

T, N, TURN, REACH = 1.0, 25, np.radians(60.0), 2.6  # s, steps, rad of the body, rad of a joint


class Plan(NamedTuple):
    """A trajectory: flat coordinates, velocities and joint torques, one row a step."""

    q: np.ndarray
    v: np.ndarray
    torques: np.ndarray


def acrobat() -> fc.Model:
    """Trunk, arms and legs in the x-y plane, 60 kg: a free base and two hinges."""

    def rod(mass: float, length: float) -> fc.Body:
        return fc.Body(mass, (0.5 * length, 0.0, 0.0), np.diag([1e-3, 1.0, 1.0]) * mass * length**2 / 12.0)

    trunk = fc.Body(32.0, (0.0, 0.0, 0.0), np.diag([0.1, 1.2, 1.2]))
    links = (fc.Link("trunk", trunk), fc.Link("arms", rod(8.0, 0.7)), fc.Link("legs", rod(20.0, 0.9)))
    hinge, SE3 = fc.joints.Revolute((0.0, 0.0, 1.0)), fc.lie.SE3()
    shoulder, hip = SE3.exp([0.25, 0, 0, 0, 0, 0]), SE3.exp([-0.25, 0, 0, 0, 0, 0]) @ SE3.exp([0, 0, 0, 0, 0, np.pi])
    joints = (
        fc.Joint("shoulder", hinge, "trunk", "arms", shoulder),
        fc.Joint("hip", hinge, "trunk", "legs", hip),
    )
    return fc.Model("acrobat", fc.lie.SE3(), links, joints, gravity=(0.0, -9.81, 0.0))


def solve(model: fc.Model, step: Callable[..., Any], turn: float = TURN) -> Plan:
    """Least torques that turn the body by ``turn`` (rad) and bring the joints back to where they were, at rest."""
    problem = casadi.Opti()
    q, v, u = (problem.variable(n, m) for n, m in ((model.nq, N + 1), (model.nv, N + 1), (model.n, N)))
    for k in range(N):
        q_next, v_next = step(q[:, k], v[:, k], u[:, k])
        problem.subject_to(q[:, k + 1] == q_next)
        problem.subject_to(v[:, k + 1] == v_next)
    problem.subject_to(q[:, 0] == model.flatten(model.neutral())[0])
    problem.subject_to(v[:, 0] == 0)
    problem.subject_to(q[5, N] == np.sin(0.5 * turn))  # z of the quaternion x, y, z, w
    problem.subject_to(q[7:, N] == 0)
    problem.subject_to(v[6:, N] == 0)
    problem.subject_to(problem.bounded(-REACH, casadi.vec(q[7:, :]), REACH))
    problem.minimize(casadi.sumsqr(u) * T / N)
    s = np.linspace(0.0, 2.0 * np.pi, N + 1)
    half = 0.5 * turn * s / s[-1]
    problem.set_initial(q[5:7, :], np.stack([np.sin(half), np.cos(half)]))
    problem.set_initial(q[7:, :], np.stack([np.cos(s) - 1.0, np.sin(s)]))
    quiet = {"print_level": 0, "sb": "yes", "tol": 1e-6, "max_iter": 500, "hessian_approximation": "limited-memory"}
    problem.solver("ipopt", {"print_time": False}, quiet)
    found = problem.solve()
    return Plan(found.value(q).T, found.value(v).T, found.value(u).T)


def replay(model: fc.Model, plan: Plan) -> fc.Trajectory:
    """The plan's torques in a simulation with short steps: what the acrobat would really do."""
    held = fc.control.SampledController(lambda t, state: plan.torques[min(int(t * N / T + 1e-9), N - 1)], rate=N / T)
    return fc.simulate(model, model.state(), T, held, dt=T / N / 40)


def turned(q: np.ndarray) -> float:
    """Angle of the trunk (degrees)."""
    return float(np.degrees(2.0 * np.arctan2(q[5], q[6])))


def spin(model: fc.Model, plan: Plan) -> float:
    """Largest angular momentum about the center of mass in the plan (kg m^2/s): zero, if it is right."""
    states = [model.unflatten(q, v) for q, v in zip(plan.q, plan.v, strict=True)]
    return float(max(np.abs(fc.momentum(model, state, "centroidal")[3:]).max() for state in states))


def report(name: str, model: fc.Model, plan: Plan) -> str:
    there = turned(model.flatten(replay(model, plan).state(-1))[0])
    torque = np.abs(plan.torques).max()
    return f"{name:20} {turned(plan.q[-1]):5.1f} deg {there:8.1f} deg {spin(model, plan):9.0e} {torque:10.0f} N m"


if __name__ == "__main__":
    robot = acrobat()
    print("step                 planned    simulated   momentum   torque up to")
    exact = solve(robot, fc.simulation.step(robot, dt=T / N, target="casadi"))
    print(report("fc.simulation.step", robot, exact))
    euler = fc.simulation.step(robot, dt=T / N, integrator="semi_implicit", target="casadi")
    print(report("Euler", robot, solve(robot, euler)))
    print(replay(robot, exact).animate().write("flip.html"))
