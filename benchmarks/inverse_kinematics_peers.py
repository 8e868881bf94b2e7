"""Inverse kinematics by other libraries: attempts of 100 steps towards a pose, within the limits of the joints."""

from __future__ import annotations

import importlib.metadata
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

import fallingcat as fc

STEPS, ARRIVED = 100, 1e-6
Attempt = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, bool]]


class Peer(NamedTuple):
    """One library: from joints and a goal to joints, and whether they arrived."""

    what: str
    poses: int
    attempt: Attempt


def reduced(file: str) -> Any:
    """Pinocchio's model without fingers."""
    import pinocchio

    whole = pinocchio.buildModelFromUrdf(file)
    fingers = [whole.getJointId(name) for name in whole.names if "finger" in name]
    return pinocchio.buildReducedModel(whole, fingers, pinocchio.neutral(whole))


def bare(file: str) -> str:
    """The file's robot without shapes, its fingers welded."""
    tree = ElementTree.parse(file).getroot()
    for link in tree.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    for joint in tree.iter("joint"):
        if "finger" in joint.get("name", ""):
            joint.set("type", "fixed")
            for mimic in joint.findall("mimic"):
                joint.remove(mimic)
    return ElementTree.tostring(tree, encoding="unicode")


def by_hand(file: str, model: fc.Model, hand: str) -> Peer:
    """A damped step with the Jacobian of Pinocchio's body error, clipped to the limits."""
    import pinocchio

    robot = reduced(file)
    data, frame = robot.createData(), robot.getFrameId(hand)
    lower, upper = robot.lowerPositionLimit, robot.upperPositionLimit

    def attempt(q: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, bool]:
        aim = pinocchio.SE3(goal)
        for _ in range(STEPS):
            pinocchio.forwardKinematics(robot, data, q)
            pinocchio.updateFramePlacement(robot, data, frame)
            error = pinocchio.log6(data.oMf[frame].actInv(aim))
            if np.abs(error.vector).max() < ARRIVED:
                return q, True
            moves = pinocchio.computeFrameJacobian(robot, data, q, frame, pinocchio.LOCAL)
            J = -pinocchio.Jlog6(aim.actInv(data.oMf[frame])) @ moves
            v = -J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error.vector)
            q = np.clip(pinocchio.integrate(robot, q, v), lower, upper)
        return q, False

    return Peer(f"Pinocchio {pinocchio.__version__}, a step by hand", 200, attempt)


def pinks(file: str, model: fc.Model, hand: str) -> Peer:
    """pink's differential inverse kinematics, steps of a second."""
    import pink
    import pinocchio
    from pink.tasks import FrameTask

    robot = reduced(file)

    def attempt(q: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, bool]:
        task = FrameTask(hand, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)
        task.set_target(pinocchio.SE3(goal))
        at = pink.Configuration(robot, robot.createData(), q)
        for _ in range(STEPS):
            if np.abs(task.compute_error(at)).max() < ARRIVED:
                return np.array(at.q), True
            at.integrate_inplace(pink.solve_ik(at, [task], 1.0, solver="daqp", safety_break=False), 1.0)
        return np.array(at.q), False

    return Peer(f"pink {importlib.metadata.version('pin-pink')}, daqp", 100, attempt)


def minks(file: str, model: fc.Model, hand: str) -> Peer:
    """mink's differential inverse kinematics on MuJoCo, steps of a second."""
    import mink
    import mujoco

    spec = mujoco.MjSpec.from_string(bare(file))
    spec.compiler.fusestatic = False
    robot = spec.compile()
    limits = [mink.ConfigurationLimit(robot)]

    def attempt(q: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, bool]:
        task = mink.FrameTask(hand, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)
        task.set_target(mink.SE3.from_matrix(goal))
        at = mink.Configuration(robot, q=q)
        for _ in range(STEPS):
            if np.abs(task.compute_error(at)).max() < ARRIVED:
                return np.array(at.q), True
            v = mink.solve_ik(at, [task], 1.0, solver="daqp", damping=1e-12, limits=limits)
            at.integrate_inplace(v, 1.0)
        return np.array(at.q), False

    return Peer(f"mink {importlib.metadata.version('mink')}, daqp", 100, attempt)


def placos(file: str, model: fc.Model, hand: str) -> Peer:
    """placo's kinematics solver."""
    import placo

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_text(bare(file), encoding="utf-8")
        robot = placo.RobotWrapper(str(path), placo.Flags.ignore_collisions)
    solver = placo.KinematicsSolver(robot)
    solver.mask_fbase(True)
    solver.enable_joint_limits(True)
    task = solver.add_frame_task(hand, np.eye(4))
    task.configure(hand, "soft", 1.0, 1.0)
    names = model.joint_names

    def attempt(q: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, bool]:
        for name, angle in zip(names, q, strict=True):
            robot.set_joint(name, float(angle))
        task.T_world_frame = goal
        for _ in range(STEPS):
            robot.update_kinematics()
            arrived = bool(np.abs(robot.get_T_world_frame(hand) - goal).max() < ARRIVED)
            if arrived:
                break
            solver.solve(True)
        return np.array([robot.get_joint(name) for name in names]), arrived

    return Peer(f"placo {importlib.metadata.version('placo')}", 200, attempt)


PEERS: tuple[Callable[[str, fc.Model, str], Peer], ...] = (by_hand, pinks, minks, placos)
