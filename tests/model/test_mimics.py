"""Joints that follow others, as data: what they may follow, who restricts whom, who is refused by name."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.lie import SE3
from fallingcat.model.joints import Fixed, Prismatic, Revolute, Spherical

BODY = fc.Body(1.0, [0.1, 0.0, 0.2], np.diag([0.1, 0.1, 0.1]))


def hand(*joints, bodies=None):
    """A palm with the given fingers: (name, kind, mimic) or joints."""
    built = [j if isinstance(j, fc.Joint) else fc.Joint(j[0], j[1], "palm", f"of {j[0]}", mimic=j[2]) for j in joints]
    bodies = bodies or [BODY] * len(built)
    links = [fc.Link("palm", BODY), *(fc.Link(j.child, body) for j, body in zip(built, bodies, strict=True))]
    return fc.Model("hand", SE3(), tuple(links), tuple(built))


GRIPPER = hand(("left", Revolute(), None), ("right", Revolute(), fc.model.Mimic("left", -2.0, 0.1)))


def test_what_follows_a_follower_follows_its_leader():
    chain = [(f"j{i}", Revolute(), fc.model.Mimic(f"j{i + 1}", 1.0, 1.0)) for i in range(2000)]
    model = hand(*chain, ("j2000", Prismatic(), None))
    assert model.joint_names == ("j2000",)
    assert model.joints[0].mimic == fc.model.Mimic("j2000", 1.0, 2000.0)
    model = hand(
        ("a", Revolute(), fc.model.Mimic("b", 2.0, 1.0)),
        ("b", Revolute(), fc.model.Mimic("c", 3.0, 5.0)),
        ("c", Revolute(), None),
    )
    assert [joint.mimic for joint in model.joints] == [
        fc.model.Mimic("c", 6.0, 11.0),
        fc.model.Mimic("c", 3.0, 5.0),
        None,
    ]
    assert model.leaders == (2, 2, 2)


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ([("a", Revolute(), fc.model.Mimic("ghost"))], "'a' follows the joint 'ghost', which does not exist"),
        ([("a", Revolute(), fc.model.Mimic("a"))], "follow each other in a circle: 'a', 'a'"),
        (
            [("a", Revolute(), fc.model.Mimic("b")), ("b", Revolute(), fc.model.Mimic("a"))],
            "in a circle: 'a', 'b', 'a'",
        ),
        (
            [("a", Spherical(), None), ("b", Revolute(), fc.model.Mimic("a"))],
            "'b' follows 'a', which has not one coordinate but 4",
        ),
        (
            [("a", Fixed(), None), ("b", Revolute(), fc.model.Mimic("a"))],
            "'b' follows 'a', which has not one coordinate but 0",
        ),
    ],
)
def test_what_cannot_lead(joints, message):
    with pytest.raises(fc.ModelError, match=message):
        hand(*joints)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fc.model.Mimic("a", 0.0), "at the ratio 0 stands still"),
        (lambda: fc.model.Mimic("a", np.nan), "ratio at which a joint follows 'a' is a number, not nan"),
        (lambda: fc.model.Mimic("a", 1.0, np.inf), "offset at which"),
        (lambda: fc.model.Mimic("a", True), "ratio at which"),
        (lambda: fc.model.Mimic(3), "the leader of a joint is the name of a joint, not 3"),
        (
            lambda: fc.Joint("b", Spherical(), "p", "c", mimic=fc.model.Mimic("a")),
            "only a joint of one coordinate follows",
        ),
        (lambda: fc.Joint("b", Revolute(), "p", "c", mimic="a"), "mimic of joint 'b' is a Mimic"),
        (lambda: GRIPPER.state(joints={"right": 0.1}), "'right' has no coordinate: it follows 'left'"),
        (lambda: GRIPPER.state(rates={"right": 0.1}), "'right' has no coordinate: it follows 'left'"),
        (lambda: GRIPPER.lock(["right"]), "'right' has no coordinate: it follows 'left'"),
        (lambda: GRIPPER.state(joints=[0.1, 0.2]), r"joints must have shape \(1,\)"),
        (
            lambda: fc.control.JointSpring(1.0, only=("right",)).forces(GRIPPER, 0.0, GRIPPER.neutral(), frozenset()),
            "'right' has no coordinate",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(fc.ModelError, match=message):
        make()


def test_followers_restrict_their_leader():
    left, right = GRIPPER.joints
    stops = (
        replace(left, limits=fc.model.Limits(-1.0, 1.0, 4.0, 9.0)),
        replace(right, limits=fc.model.Limits(-0.5, 3.0, 3.0, 1.0)),
    )
    model = replace(GRIPPER, joints=stops)
    (limits,) = model.limits
    assert (limits.lower, limits.upper) == pytest.approx((-1.0, 0.3))
    assert (limits.velocity, limits.effort) == (1.5, 9.0)
    away = replace(GRIPPER, joints=(left, replace(right, limits=fc.model.Limits(1.1, 3.0))))
    assert away.neutral().joints == pytest.approx([-0.5])  # where the follower meets its stop
    with pytest.raises(fc.ModelError, match="'right', which follows 'left', leave that one no room"):
        replace(GRIPPER, joints=(stops[0], replace(right, limits=fc.model.Limits(5.0, 6.0))))


def test_limits_that_say_nothing_restrict_nothing():
    """A speed of 0, and stops at the same place, as many files have them."""
    left, right = GRIPPER.joints
    mine = replace(left, limits=fc.model.Limits(-1.0, 1.0, 4.0, 9.0))
    model = replace(GRIPPER, joints=(mine, replace(right, limits=fc.model.Limits(0.0, 0.0, 0.0, 0.0))))
    (limits,) = model.limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1.0, 1.0, 4.0, 9.0)


def test_locking_a_leader_welds_its_followers():
    drives = (fc.model.Actuator("motor", "left"), fc.model.Actuator("brake", "right"))
    model = replace(GRIPPER, actuators=drives)
    locked = model.lock({"left": 0.3})
    assert (locked.n, locked.actuators) == (0, ())
    poses = fc.forward_kinematics(model, model.state(joints=[0.3]))
    for name, H in fc.forward_kinematics(locked, locked.neutral()).items():
        np.testing.assert_allclose(H, poses[name], atol=1e-15)


def test_a_massless_follower_moves_with_its_leader_and_massless_pairs_do_not_move():
    joints = [("left", Revolute(), None), ("right", Revolute(), fc.model.Mimic("left", -1.0))]
    light = fc.Body()
    assert not hand(*joints, bodies=[BODY, light]).kinematic
    assert not hand(*joints, bodies=[light, BODY]).kinematic
    nothing = hand(*joints, bodies=[light, light])
    assert nothing.idle_links == ("of left", "of right")
    with pytest.raises(fc.ModelError, match="kinematic model"):
        fc.mass_matrix(nothing, nothing.neutral())
    thin = fc.Body(1.0, [0.0, 0.0, 0.3], np.zeros((3, 3)))  # a point on the axis of its hinge
    model = hand(*joints, bodies=[thin, thin])
    with pytest.raises(fc.NumericsError, match=r"left.*moves nothing that has inertia"):
        fc.forward_dynamics(model, model.neutral(), np.zeros(7))


def test_loops_see_where_a_follower_is():
    third = fc.Joint("third", Revolute(), "palm", "of third")
    model = hand(*GRIPPER.joints, third).close_loops(fc.model.Couple("gear", "third", "right", (0.5, 3.0)))
    state = fc.constraints.assemble(model, model.state(joints={"left": 0.2}, rates={"left": 1.0}), held=["left"])
    np.testing.assert_allclose(state.joints, [0.2, 0.5 + 3.0 * (-2.0 * 0.2 + 0.1)], atol=1e-14)
    np.testing.assert_allclose(state.rates, [1.0, -6.0], atol=1e-14)


@pytest.mark.parametrize("library", ["mujoco", "ros"])
def test_other_libraries_have_coordinates_for_followers(library):
    names = ["right", "left"]
    there = fc.exchange.mujoco(GRIPPER) if library == "mujoco" else fc.exchange.ros(GRIPPER, names)
    q, v = GRIPPER.flatten(GRIPPER.state(joints=[0.2], rates=[3.0]))
    theirs, rates = there.to(q, v)
    order = [0, 1] if library == "mujoco" else [1, 0]
    np.testing.assert_allclose(theirs[7:][order], [0.2, -0.3], atol=1e-15)
    np.testing.assert_allclose(rates[6:][order], [3.0, -6.0], atol=1e-15)
    np.testing.assert_allclose(there.from_(theirs, rates)[0], q, atol=1e-15)
    np.testing.assert_allclose(there.from_(theirs, rates)[1], v, atol=1e-15)
    if library == "ros":  # a message without the follower will do
        alone = fc.exchange.ros(GRIPPER, ["left"])
        np.testing.assert_array_equal(alone.to(q, v)[0][7:], [0.2])
