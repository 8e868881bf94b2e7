"""Odd arguments to tasks, limits and what solves them: an error of ours, or an answer without NaN."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import control
from fallingcat.errors import FallingCatError

ODD = [
    None, "ghost", "", 3, -1, np.nan, np.inf, True, [], {}, (), 1j, b"x", object(), np.zeros(0), np.zeros((2, 2)),
    np.eye(4), -np.eye(4), np.eye(6), np.array("a"), np.array([None] * 3), np.full(7, np.nan), lambda: 0, float, 1e308,
    1e-308, range(3), {"a": 1.0}, [[1.0], [1.0, 2.0]], np.float32(1.0), np.zeros(3, dtype=int), np.zeros((5, 4, 4)),
]  # fmt: skip
COMMON = ("velocity", "acceleration", "gain", "weight", "mask")
TASKS = {
    control.PoseTask: {"link": "link3", "goal": np.eye(4)},
    control.PositionTask: {"link": "link3", "goal": np.zeros(3)},
    control.RotationTask: {"link": "link3", "goal": np.eye(3)},
    control.PointTask: {"link": "link3", "goal": np.zeros(3), "point": np.zeros(3)},
    control.CenterOfMassTask: {"goal": np.zeros(3)},
    control.CentroidalMomentumTask: {"goal": None},
    control.JointsTask: {"goal": np.zeros(3), "joints": None},
    control.BaseTask: {"goal": np.eye(4)},
    control.RelativeTask: {"link": "link3", "other": "link1", "goal": np.eye(4)},
}
ARM = fc.robots.planar_arm(fc.lie.SE3())
AT = ARM.neutral()
TIP = control.PositionTask("link3", np.zeros(3))


def tried(call):
    try:
        found = call()
    except FallingCatError:
        return
    for x in found if isinstance(found, tuple) else vars(found).values():
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            assert np.isfinite(x).all()


@pytest.mark.parametrize("kind", TASKS, ids=lambda kind: kind.__name__)
def test_tasks(kind):
    for field in (*TASKS[kind], *COMMON):
        for odd in ODD:
            tried(lambda field=field, odd=odd: kind(**{**TASKS[kind], field: odd}).demand(ARM, AT))


@pytest.mark.parametrize("option", ["limits", "damping", "metric"])
def test_options_of_velocities(option):
    for odd in ODD:
        tried(lambda odd=odd: control.velocities(ARM, AT, [[TIP]], **{option: odd}))


@pytest.mark.parametrize("option", ["joint_limits", "tolerance", "iterations", "restarts", "seed"])
def test_options_of_inverse_kinematics(option):
    for odd in ODD:
        tried(lambda odd=odd: control.inverse_kinematics(ARM, [TIP], **{option: odd}))


def test_what_they_are_asked_about():
    reach = control.InverseKinematics(ARM, [TIP])
    limits = (control.JointLimits(), control.RateLimits(), control.SpeedLimit(TIP, 1.0))
    for odd in ODD:
        for call in (
            lambda odd=odd: control.velocities(odd, AT, [[TIP]]),
            lambda odd=odd: control.velocities(ARM, odd, [[TIP]]),
            lambda odd=odd: control.velocities(ARM, AT, odd),
            lambda odd=odd: control.velocities(ARM, AT, [odd]),
            lambda odd=odd: control.velocities(ARM, AT, [[odd]]),
            lambda odd=odd: control.inverse_kinematics(odd, [TIP]),
            lambda odd=odd: control.inverse_kinematics(ARM, odd),
            lambda odd=odd: control.inverse_kinematics(ARM, [odd]),
            lambda odd=odd: control.inverse_kinematics(ARM, [TIP], odd),
            lambda odd=odd: control.InverseKinematics(odd, [TIP]),
            lambda odd=odd: reach(odd, np.zeros(3)),
            lambda odd=odd: reach(AT, odd),
            lambda odd=odd: control.JointLimits(odd).rows(ARM, AT),
            lambda odd=odd: control.RateLimits(odd).rows(ARM, AT),
            lambda odd=odd: control.SpeedLimit(odd, 1.0).rows(ARM, AT),
            lambda odd=odd: control.SpeedLimit(TIP, odd).rows(ARM, AT),
            *(lambda odd=odd, limit=limit: limit.rows(odd, AT) for limit in limits),
            *(lambda odd=odd, limit=limit: limit.rows(ARM, odd) for limit in limits),
        ):
            tried(call)
