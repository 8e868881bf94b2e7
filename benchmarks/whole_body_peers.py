"""The tick of benchmarks/whole_body.py with another library: ``python whole_body_peers.py robot.urdf problem.json``.

It runs in an environment that has placo or TSID (they do not share one with each other, nor with Pinocchio 4), and
prints one line of JSON for each: microseconds of processor time for each tick, and its largest torque.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def timed(tick: Callable[[np.ndarray, np.ndarray], np.ndarray], states: list[Any]) -> dict[str, Any]:
    times, largest = [], max(float(np.abs(tick(q, v)).max()) for q, v in states)
    for _ in range(15):
        begin = time.process_time()
        for q, v in states:
            tick(q, v)
        times.append((time.process_time() - begin) / len(states) * 1e6)
    return {"median_us": float(np.median(times)), "best_us": min(times), "largest_torque": largest}


def placo_tick(path: str, problem: dict[str, Any]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    import placo

    robot = placo.RobotWrapper(path, placo.Flags.ignore_collisions)
    place = {name: robot.get_joint_offset(name) for name in problem["joints"]}
    speed = {name: robot.get_joint_v_offset(name) for name in problem["joints"]}
    solver = placo.DynamicsSolver(robot)
    solver.gravity = np.array([0.0, 0.0, -9.81])
    solver.enable_torque_limits(True)
    solver.enable_joint_limits(False)
    solver.enable_velocity_limits(False)
    q0, v0 = robot.state.q.copy(), np.zeros_like(robot.state.qd)
    order = list(problem["joints"])

    def put(q: np.ndarray, v: np.ndarray) -> None:
        full, rate = q0.copy(), v0.copy()
        full[:7], rate[:6] = q[:7], v[:6]
        full[[place[name] for name in order]] = q[7:]
        rate[[speed[name] for name in order]] = v[6:]
        robot.state.q, robot.state.qd = full, rate
        robot.update_kinematics()

    put(np.array(problem["q"]), np.zeros(6 + len(order)))
    for sole in problem["soles"]:
        foot = solver.add_frame_task(sole, robot.get_T_world_frame(sole))
        foot.configure(sole, "hard", 1.0)
        contact = solver.add_planar_contact(foot)
        contact.length, contact.width = problem["foot"]
        contact.mu, contact.weight_forces, contact.weight_moments = problem["friction"], 1e-6, 1e-6
    com = solver.add_com_task(np.array(problem["com"]))
    com.configure("com", "soft", 1.0)
    torso = solver.add_orientation_task(problem["torso"], np.eye(3))
    torso.configure("torso", "soft", problem["torso_weight"])
    posture = solver.add_joints_task()
    posture.set_joints(dict(zip(order, problem["q"][7:], strict=True)))
    posture.configure("posture", "soft", problem["posture_weight"])
    for task, gain in ((com, 5.0), (torso, 5.0), (posture, 3.0)):
        task.kp, task.kd = gain**2, 2.0 * gain

    def tick(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        put(q, v)
        found = solver.solve()
        assert found.success
        return np.asarray(found.tau)

    return tick


def tsid_tick(path: str, problem: dict[str, Any]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    import pinocchio as pin
    import tsid

    robot = tsid.RobotWrapper(path, [""], pin.JointModelFreeFlyer(), False)
    model = robot.model()
    index = {name: model.getJointId(name) for name in problem["joints"]}
    order = list(problem["joints"])
    place = [model.joints[i].idx_q for i in index.values()]
    speed = [model.joints[i].idx_v for i in index.values()]

    def put(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        full, rate = pin.neutral(model), np.zeros(model.nv)
        full[:7], rate[:6] = q[:7], v[:6]
        full[place], rate[speed] = q[7:], v[6:]
        return full, rate

    q0, v0 = put(np.array(problem["q"]), np.zeros(6 + len(order)))
    dynamics = tsid.InverseDynamicsFormulationAccForce("talos", robot, False)
    dynamics.computeProblemData(0.0, q0, v0)
    x, y = np.array(problem["foot"]) / 2.0
    corners = np.array([[x, x, -x, -x], [y, -y, y, -y], [0.0, 0.0, 0.0, 0.0]])
    contacts = []
    for sole in problem["soles"]:
        normal = np.array([0.0, 0.0, 1.0])
        contact = tsid.Contact6d(sole, robot, sole, corners, normal, problem["friction"], 0.0, 1e4)
        contact.setKp(np.zeros(6))
        contact.setKd(np.zeros(6))
        contact.setReference(robot.framePosition(dynamics.data(), model.getFrameId(sole)))
        dynamics.addRigidContact(contact, 1e-6)
        contacts.append(contact)
    com = tsid.TaskComEquality("com", robot)
    com.setKp(25.0 * np.ones(3))
    com.setKd(10.0 * np.ones(3))
    com.setReference(tsid.TrajectoryEuclidianConstant("c", np.array(problem["com"])).computeNext())
    dynamics.addMotionTask(com, 1.0, 1, 0.0)
    torso = tsid.TaskSE3Equality("torso", robot, problem["torso"])
    torso.setKp(25.0 * np.ones(6))
    torso.setKd(10.0 * np.ones(6))
    torso.setMask(np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]))
    torso.setReference(tsid.TrajectorySE3Constant("t", pin.SE3.Identity()).computeNext())
    dynamics.addMotionTask(torso, problem["torso_weight"], 1, 0.0)
    posture = tsid.TaskJointPosture("posture", robot)
    posture.setKp(9.0 * np.ones(robot.nv - 6))
    posture.setKd(6.0 * np.ones(robot.nv - 6))
    posture.setReference(tsid.TrajectoryEuclidianConstant("q", q0[7:]).computeNext())
    dynamics.addMotionTask(posture, problem["posture_weight"], 1, 0.0)
    bounds = tsid.TaskActuationBounds("torques", robot)
    bounds.setBounds(-model.effortLimit[6:], model.effortLimit[6:])
    dynamics.addActuationTask(bounds, 1.0, 0, 0.0)
    solver = tsid.SolverHQuadProgFast("solver")
    solver.resize(dynamics.nVar, dynamics.nEq, dynamics.nIn)

    def tick(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        full, rate = put(q, v)
        data = dynamics.computeProblemData(0.0, full, rate)
        found = solver.solve(data)
        assert found.status == 0
        return np.asarray(dynamics.getActuatorForces(found))

    tick.kept = (robot, contacts, com, torso, posture, bounds)  # type: ignore[attr-defined]  # TSID borrows them

    return tick


def main() -> None:
    path, given = sys.argv[1:]
    with open(given, encoding="utf-8") as file:
        problem = json.load(file)
    states = [(np.array(q), np.array(v)) for q, v in problem["states"]]
    for name, make in (("placo", placo_tick), ("TSID", tsid_tick)):
        try:
            tick = make(path, problem)
        except ImportError:
            continue
        print(json.dumps({"name": name, **timed(tick, states)}))


if __name__ == "__main__":
    main()
