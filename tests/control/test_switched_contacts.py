"""Whole-body control with a mask of contacts and a bounded number of solver rounds."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fallingcat as fc
from fallingcat import control
from fallingcat.control import LevelStatus
from fallingcat.errors import ModelError, NumericsError

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
BENT = np.tile([0.0, 0.7, -1.4], 4)


def walker():
    """Humanoid with four points under each sole, and its bent joints."""
    robot, points = fc.robots.humanoid(), ()
    for side in ("left", "right"):
        robot, sole = fc.contact.corners(robot, f"{side}_sole", (0.2, 0.1))
        points += tuple(sole)
    bend = {"hip_pitch": -0.2, "knee_pitch": 0.4, "ankle_pitch": -0.2}
    joints = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in bend.items()}
    return robot, points, robot.state(joints=joints).joints


def tasks_of(model, bent):
    com = control.CenterOfMassTask(np.zeros(3), velocity=np.zeros(3), gain=6.0)
    upright = control.RotationTask(model.link_names[0], np.eye(3), gain=8.0)
    return com, [[com], [upright], [control.JointsTask(bent, gain=5.0)]]


def random_state(model, bent, rng, speed, angle=0.1):
    return model.state(
        joints=bent + angle * rng.normal(size=model.n),
        twist=0.5 * speed * rng.normal(size=6),
        rates=speed * rng.normal(size=model.n),
        pose=fc.lie.SE3().exp(angle * rng.normal(size=6)),
    )


def of_dynamics(model, state, found, contacts):
    """Acceleration of the torques and forces of a result minus that of the result, relative."""
    J = [np.zeros((0, model.nv)), *(fc.jacobian(model, state, place, "mixed")[:3] for place in contacts)]
    forces = np.append(np.zeros(6), found.torques) + np.vstack(J).T @ found.forces.reshape(-1)
    a = fc.forward_dynamics(model, state, forces)
    size = 1.0 + max(np.abs(a).max(), np.abs(forces).max())
    return np.abs(found.acceleration - a).max() / size


# the mask ---------------------------------------------------------------------------------------------------------


def masked_is_compiled(model, contacts, bent, masks, rng):
    com, tasks = tasks_of(model, bent)
    limits = [control.TorqueLimits()]
    loop = control.WholeBody(model, tasks, contacts, limits=limits, switched=True).compile()
    for mask in masks:
        state = random_state(model, bent, rng, 0.3, 0.05)
        goal = fc.center_of_mass(model, state) + 0.05 * rng.normal(size=3)
        loop.change(com, goal=goal)
        loop.switch(mask)
        tau = loop(*model.flatten(state))
        closed = [place for place, on in zip(contacts, mask, strict=True) if on]
        own = [[com.replaced(goal=goal)], *tasks[1:]]
        expected = control.torques(model, state, own, contacts=closed, limits=limits)
        size = 1.0 + np.abs(expected.torques).max()
        assert_allclose(tau, expected.torques, rtol=0.0, atol=1e-9 * size)
        assert_allclose(loop.found.forces[list(mask)], expected.forces, rtol=0.0, atol=1e-9 * size * 10.0)
        assert_allclose(
            loop.found.forces[~np.array(mask)], 0.0, atol=1e-9 * size
        )  # N; size N m: rounding of the solver
        size += np.abs(expected.acceleration).max()
        assert_allclose(loop.found.acceleration, expected.acceleration, rtol=0.0, atol=1e-9 * size)
        assert loop.found.status == expected.status


def test_a_mask_is_the_problem_of_the_closed_contacts():
    rng = np.random.default_rng(0)
    masks = [[True] * 4, [True, False, False, True], [False, True, False, False], [False] * 4]
    masked_is_compiled(DOG, FEET, BENT, masks, rng)


SOLE, NO_SOLE = [True] * 4, [False] * 4


@pytest.mark.parametrize(
    "mask",
    [
        [*SOLE, True, True, False, False],
        *(
            pytest.param(mask, marks=pytest.mark.slow)
            for mask in (SOLE + SOLE, SOLE + NO_SOLE, [False, True, False, False, *NO_SOLE])
        ),
    ],
    ids=["edge and sole", "both soles", "one sole", "corner"],
)
def test_a_mask_of_points_of_soles(mask):
    robot, points, bent = walker()
    masked_is_compiled(robot, points, bent, [mask], np.random.default_rng(1))


@pytest.mark.slow
def test_all_masks_of_the_quadruped():
    rng = np.random.default_rng(2)
    masks = [[bool(i >> k & 1) for k in range(4)] for i in range(16)] * 6
    masked_is_compiled(DOG, FEET, BENT, masks, rng)


def test_forces_of_open_contacts_are_no_task():
    down = control.ForceTask(FEET[0], [0.0, 0.0, 60.0])
    loop = control.WholeBody(DOG, [[down]], FEET, switched=True).compile()
    q, v = DOG.flatten(DOG.state(joints=BENT))
    loop(q, v)
    assert loop.found.levels == (LevelStatus.MET,)
    loop.switch([False, True, True, True])
    loop(q, v)
    assert loop.found.levels == (LevelStatus.COMPROMISED,)
    assert_allclose(loop.found.forces[0], 0.0, atol=1e-9)  # N


def test_masks_are_checked():
    loop = control.WholeBody(DOG, tasks_of(DOG, BENT)[1], FEET, switched=True).compile()
    with pytest.raises(ModelError, match="a mask of contacts must be 4 truth values, got"):
        loop.switch([True, False])
    with pytest.raises(ModelError, match="a mask of contacts must be 4 truth values, got"):
        loop.switch([0.5, 1.0, np.nan, 1.0])
    with pytest.raises(ModelError, match=r"contacts of this loop are constant: make it by WholeBody\(..., switched"):
        control.WholeBody(DOG, tasks_of(DOG, BENT)[1], FEET).compile().switch([True] * 4)


# a bounded tick ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("robot", "rounds"), [("dog", 1), ("dog", 3), ("dog", 12), ("walker", 3)])
def test_an_interrupted_tick_fulfils_dynamics_and_torque_limits(robot, rounds):
    model, contacts, bent = (DOG, FEET, BENT) if robot == "dog" else walker()
    rng, most = np.random.default_rng(3), 0.8 * np.array([x.effort for x in model.limits])
    com, tasks = tasks_of(model, bent)
    limits = [control.JointLimits(), control.TorqueLimits(0.8), control.RateLimits()]
    loop = control.WholeBody(model, tasks, contacts, limits=limits, switched=True, rounds=rounds).compile()
    seen = set()
    for _ in range(60):
        state = random_state(model, bent, rng, rng.choice([0.0, 1.0, 5.0]), rng.choice([0.1, 0.5]))
        mask = rng.random(len(contacts)) < 0.7
        loop.switch(mask)
        loop.change(com, goal=fc.center_of_mass(model, state) + 0.5 * rng.normal(size=3))
        tau = loop(*model.flatten(state))
        found = loop.found
        assert (np.abs(tau) <= most * (1.0 + 1e-9)).all()
        assert of_dynamics(model, state, found, contacts) < 1e-9
        assert found.rounds <= rounds
        assert_allclose(found.forces[~mask], 0.0, atol=1e-9)
        seen |= set(found.levels)
        if found.status == "interrupted" and not found.conflicts:  # an iterate within all limits, not yet the best
            up, across = found.forces[:, 2], np.linalg.norm(found.forces[:, :2], axis=1)
            assert (across <= 0.6 * up + 1e-6).all()
    assert LevelStatus.INTERRUPTED in seen


def test_a_bounded_tick_that_ends_is_the_solution():
    rng = np.random.default_rng(4)
    com, tasks = tasks_of(DOG, BENT)
    exact, bounded = (
        control.WholeBody(DOG, tasks, FEET, limits=[control.TorqueLimits()], rounds=rounds).compile()
        for rounds in (None, 40)
    )
    for _ in range(20):
        state = random_state(DOG, BENT, rng, 0.5)
        for loop in (exact, bounded):
            loop.change(com, goal=fc.center_of_mass(DOG, state) + np.array([0.02, 0.0, 0.03]))
        q, v = DOG.flatten(state)
        assert_allclose(bounded(q, v), exact(q, v), atol=1e-9)
        assert bounded.found.levels == exact.found.levels
    assert bounded.found.levels[2] is LevelStatus.COMPROMISED


def test_levels_tell_apart_what_is_met():
    com, tasks = tasks_of(DOG, BENT)
    loop = control.WholeBody(DOG, tasks, FEET, limits=[control.TorqueLimits()], rounds=80).compile()
    state = DOG.state(joints=BENT + 0.1)
    loop.change(com, goal=fc.center_of_mass(DOG, state))
    loop(*DOG.flatten(state))
    assert loop.found.levels == (LevelStatus.MET, LevelStatus.MET, LevelStatus.COMPROMISED)
    loop.change(com, goal=fc.center_of_mass(DOG, state) + np.array([0.0, 0.6, 0.0]))
    loop(*DOG.flatten(state))
    assert loop.found.levels[0] is LevelStatus.COMPROMISED


def contradictory():
    """Dog whose passive front leg is a pair of contacts on one rigid link, and a contact on the trunk between feet."""
    dog = DOG.drive(list(DOG.joint_names[3:]))
    tasks = [[control.CenterOfMassTask(acceleration=np.zeros(3))]]
    return dog, tasks


def test_contradictory_contacts_are_left_out_of_a_bounded_tick():
    dog, tasks = contradictory()
    contacts = [*dog.link_names[:4], FEET[0]]
    state = random_state(dog, BENT, np.random.default_rng(5), 3.0)
    q, v = dog.flatten(state)
    with pytest.raises(NumericsError, match="contacts of 'quadruped'"):
        control.WholeBody(dog, tasks, contacts).compile()(q, v)
    loop = control.WholeBody(dog, tasks, contacts, limits=[control.TorqueLimits()], rounds=10).compile()
    tau = loop(q, v)
    assert np.abs(tau).max() <= 30.0 * (1.0 + 1e-9)
    assert_allclose(tau[:3], 0.0, atol=1e-7)  # these joints have no drive
    assert "contact of 'trunk'" in loop.found.conflicts


def test_copies_keep_rounds_and_mask():
    _com, tasks = tasks_of(DOG, BENT)
    loop = control.WholeBody(DOG, tasks, FEET, limits=[control.TorqueLimits()], switched=True, rounds=2).compile()
    loop.switch([True, False, True, True])
    q, v = DOG.flatten(random_state(DOG, BENT, np.random.default_rng(6), 2.0))
    other = copy.copy(loop)
    assert_allclose(other(q, v), loop(q, v), rtol=0.0, atol=0.0)
    assert other.found.rounds <= 2


def test_rounds_are_checked():
    tasks = tasks_of(DOG, BENT)[1]
    for wrong in (0, -1, 2.5, True, "many"):
        with pytest.raises(ModelError, match="rounds must be None or a positive integer, got"):
            control.WholeBody(DOG, tasks, FEET, rounds=wrong)
    coupled = DOG.drive([{"front_left_roll": 1.0, "front_left_knee": -0.5}, *DOG.joint_names[3:]])
    with pytest.raises(ModelError, match="rounds need drives of single joints; drives of 'quadruped' are coupled"):
        control.WholeBody(coupled, tasks, FEET, rounds=5)
