"""Inverse kinematics as a plain call: prepared solvers of earlier calls change nothing but the time it takes."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import BaseTask, InverseKinematics, JointsTask, PoseTask, PositionTask, inverse_kinematics

ARM = fc.robots.planar_arm()
CAT = fc.robots.cat()
RNG = np.random.default_rng(5)


def place(model):
    return model.link_names[-1]


def goals(model, count):
    return [fc.link_pose(model, model.random_state(RNG), place(model)) for _ in range(count)]


def general(model, task, start, **options):
    """The same problem, in a writing for which no solver is kept: a weight for each row."""
    return inverse_kinematics(model, [task.replaced(weight=np.full(task.size(model), task.weight))], start, **options)


def assert_same(found, expected):
    assert found.status == expected.status
    assert found.iterations == expected.iterations
    for a, b in zip((*found.state, *found.errors), (*expected.state, *expected.errors), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("model", [ARM, CAT], ids=lambda model: model.name)
def test_calls_again_give_the_bits_of_calls_from_scratch(model):
    kinds = [
        (weight, gain, mask, options)
        for weight, gain, mask, options in product(
            (1.0, 0.3), (1.0, 2.0), (None, (True,) * 3 + (False,) * 3), ({}, {"tolerance": 1e-3}, {"restarts": 0})
        )
    ]
    start = model.random_state(RNG)
    for goal in goals(model, 2):
        for weight, gain, mask, options in kinds:  # in turns: none may keep the numbers of another
            task = PoseTask(place(model), goal, weight=weight, gain=gain, mask=mask)
            assert_same(inverse_kinematics(model, [task], start, **options), general(model, task, start, **options))


def test_priorities_and_several_tasks():
    start = CAT.random_state(RNG)
    hand, other = (CAT.link_names[i] for i in (-1, 4))
    for goal in goals(CAT, 3):
        first, second = PositionTask(hand, goal[:3, 3]), PositionTask(other, [0.0, 0.1, 0.0], weight=0.1)
        posture = JointsTask(np.zeros(CAT.n))
        for tasks in ([first, second], [[first], [second]], [[first], [second, posture]], [[first, second], [posture]]):
            nested = isinstance(tasks[0], list)
            rows = [
                [task.replaced(weight=np.full(task.size(CAT), task.weight)) for task in level]
                for level in (tasks if nested else [tasks])
            ]
            assert_same(inverse_kinematics(CAT, tasks, start), inverse_kinematics(CAT, rows, start))


def test_a_prepared_solver_agrees():
    reach, start = InverseKinematics(CAT, [PoseTask(place(CAT))]), CAT.neutral()
    for goal in goals(CAT, 3):
        assert_same(inverse_kinematics(CAT, [PoseTask(place(CAT), goal)], start), reach(start, goal))


def test_results_are_of_their_own():
    start, (a, b) = CAT.neutral(), goals(CAT, 2)
    first = inverse_kinematics(CAT, [PoseTask(place(CAT), a)], start)
    before = first.state.joints.copy()
    inverse_kinematics(CAT, [PoseTask(place(CAT), b)], start)
    np.testing.assert_array_equal(first.state.joints, before)


def test_a_task_keeps_its_goal():
    start, (goal, other) = CAT.neutral(), goals(CAT, 2)
    given = goal.copy()
    task = PoseTask(place(CAT), given)
    expected = inverse_kinematics(CAT, [task], start)
    given[:] = other
    assert_same(inverse_kinematics(CAT, [task], start), expected)


def test_threads_do_not_share_memory():
    start, aims = CAT.neutral(), goals(CAT, 24)
    expected = [general(CAT, PoseTask(place(CAT), goal), start) for goal in aims]
    with ThreadPoolExecutor(4) as pool:
        for found, same in zip(
            pool.map(lambda goal: inverse_kinematics(CAT, [PoseTask(place(CAT), goal)], start), 4 * aims),
            4 * expected,
            strict=True,
        ):
            assert_same(found, same)


def test_what_is_wrong_is_reported_after_calls_that_were_right():
    start, (goal,) = CAT.neutral(), goals(CAT, 1)
    task = PoseTask(place(CAT), goal)
    inverse_kinematics(CAT, [task], start, restarts=1, iterations=20)
    lost = start._replace(joints=np.full_like(start.joints, np.nan))
    for wrong, message in (
        (lambda: inverse_kinematics(CAT, [task], lost), "joints holds a number that is not finite"),
        (lambda: inverse_kinematics(CAT, [task], fc.robots.planar_arm().neutral()), "shape"),
        (lambda: inverse_kinematics(CAT, [task], start, restarts=True), "integers"),
        (lambda: inverse_kinematics(CAT, [task], start, iterations=20.0), "integers"),
        (lambda: inverse_kinematics(CAT, [task], start, joint_limits=1), "joint_limits must be True or False"),
        (lambda: inverse_kinematics(CAT, [task], start, tolerance=[1e-6]), "tolerance"),
        (lambda: inverse_kinematics(CAT, [task], start, tolerance=np.nan), "tolerance"),
        (lambda: inverse_kinematics(CAT, [PoseTask("nowhere", goal)], start), "nowhere"),
        (lambda: inverse_kinematics(CAT, [PositionTask(place(CAT), goal[:2, 3])], start), "must have shape"),
        (lambda: inverse_kinematics(CAT, [], start), "at least one task"),
        (lambda: inverse_kinematics(CAT, [task, "hand"], start), "at least one task"),
        (lambda: inverse_kinematics(None, [task], start), "Model"),
        (lambda: PoseTask(place(CAT), 2.0 * goal), "must be a pose"),
        (lambda: PoseTask(place(CAT), goal, gain=-1.0), "not be negative"),
        (lambda: PoseTask(place(CAT), goal, weight=None), "not be negative"),
        (lambda: PoseTask(place(CAT), goal, velocity=np.zeros((2, 2))), "one number or a row"),
        (lambda: PoseTask(place(CAT), goal, gain=np.inf), "must be real, finite"),
    ):
        with pytest.raises(fc.ModelError, match=message):
            wrong()


def test_unusual_tasks_take_the_general_way():
    start, aims = CAT.neutral(), goals(CAT, 3)
    many = inverse_kinematics(CAT, [PoseTask(place(CAT), np.array(aims))], start)
    for i, goal in enumerate(aims):
        found = inverse_kinematics(CAT, [PoseTask(place(CAT), goal)], start)
        assert many.status[i] == found.status == "converged"
    held = inverse_kinematics(CAT, [PoseTask(place(CAT), aims[0]), BaseTask(start.pose)], start)
    assert held.note == ""
    stays = inverse_kinematics(CAT, [PoseTask(place(CAT))], start)
    assert stays.converged
    assert stays.iterations == 0
