"""Edited models are the same robot: nothing that can be measured from outside changes."""

import numpy as np
import pytest
from hypothesis import given
from laws import generators
from link_sums import link_poses, link_twists, mass_matrix, whole_body

from fallingcat.errors import ModelError
from fallingcat.lie import R3, SE2, SE3, SO3, Schoenflies, Trivial
from fallingcat.model import Body, Fixed, Frame, Joint, Link, Model, Prismatic, Revolute, Spherical, robots
from fallingcat.model.joints import Schoenflies as SchoenfliesJoint
from fallingcat.model.robots import random_tree
from fallingcat.model.robots.random_tree import random_body

G = SE3()


def close(a, b, tolerance=1e-11):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def by_name(model, state):
    """Coordinates and rates of the moving joints, by name."""
    joints = {j.name: state.joints[q] for j, q in zip(model.joints, model.q_slices, strict=True) if j.kind.nv}
    rates = {j.name: state.rates[v] for j, v in zip(model.joints, model.v_slices, strict=True) if j.kind.nv}
    return joints, rates


def carried_over(model, state, edited):
    """The state of the rerooted model in which every link is and moves as before."""
    joints, rates = by_name(model, state)
    base = edited.links[0].name
    twist = edited.base.coselection @ link_twists(model, state)[base]
    return edited.state(link_poses(model, state)[base], joints, twist, rates)


def same_robot(a, state_a, b, state_b):
    """Links that both have are at the same places and move alike; mass, center, inertia and energy are the same."""
    poses_a, poses_b = link_poses(a, state_a), link_poses(b, state_b)
    twists_a, twists_b = link_twists(a, state_a), link_twists(b, state_b)
    for name in poses_a.keys() & poses_b.keys():
        close(poses_a[name], poses_b[name])
        close(twists_a[name], twists_b[name])
    close(a.mass, b.mass)
    close(whole_body(a, state_a).spatial_inertia, whole_body(b, state_b).spatial_inertia, 1e-10)
    v_a, v_b = state_a.velocity, state_b.velocity
    close(v_a @ mass_matrix(a, state_a) @ v_a, v_b @ mass_matrix(b, state_b) @ v_b, 1e-10)
    assert (a.gravity == b.gravity).all()


# reroot -----------------------------------------------------------------------------------------------------------


@given(rng=generators())
def test_rerooted_anywhere_it_is_the_same_robot(rng):
    model = random_tree(rng, 6)
    state = model.random_state(rng)
    link = str(rng.choice(model.link_names))
    edited = model.reroot(link)
    assert edited.links[0].name == link
    assert sorted(edited.joint_names) == sorted(model.joint_names)
    same_robot(model, state, edited, carried_over(model, state, edited))


@given(rng=generators())
def test_rerooted_and_back_it_is_the_same_model(rng):
    model = random_tree(rng, 6)
    again = model.reroot(str(rng.choice(model.link_names))).reroot(model.links[0].name)
    assert again.links[0].name == model.links[0].name
    for joint in model.joints:
        other = again.joints[again.joint_index(joint.name)]
        assert (other.parent, other.child, other.kind, other.limits) == (
            joint.parent,
            joint.child,
            joint.kind,
            joint.limits,
        )
        close(other.placement, joint.placement, 1e-14)
        close(other.offset, joint.offset, 1e-14)


@given(rng=generators())
def test_rerooted_twice_is_rerooted_once(rng):
    model = random_tree(rng, 5)
    a, b = (str(name) for name in rng.choice(model.link_names, size=2))
    state = model.random_state(rng)
    once, twice = model.reroot(b), model.reroot(a).reroot(b)
    same_robot(once, carried_over(model, state, once), twice, carried_over(model, state, twice))


@given(rng=generators())
def test_a_planar_robot_stays_planar_on_any_base(rng):
    model = random_tree(rng, 5, planar=True)
    edited = model.reroot(str(rng.choice(model.link_names)))
    assert edited.base == SE2()
    state = model.random_state(rng)
    same_robot(model, state, edited, carried_over(model, state, edited))


def test_reroot_to_the_base_changes_nothing():
    model = robots.cat()
    assert [j.name for j in model.reroot("front").joints] == [j.name for j in model.joints]
    planar = robots.revolute_hopper()
    assert planar.reroot("thigh").joints == planar.joints
    fixed = robots.planar_arm()
    assert fixed.reroot("post").joints == fixed.joints


@pytest.mark.parametrize("base", [SE2(), SO3(), R3(), Schoenflies(), Trivial()], ids=str)
def test_a_link_that_leaves_the_base_group_is_no_base(base):
    model = random_tree(np.random.default_rng(2), 3, kinds=["revolute", "prismatic"], base=base)
    with pytest.raises(ModelError, match="cannot be the base"):
        model.reroot(model.link_names[-1])


@pytest.mark.parametrize(
    ("base", "kind"),
    [(R3(), Prismatic((1.0, 2.0, 3.0))), (SO3(), Spherical()), (Schoenflies(), SchoenfliesJoint())],
    ids=["R^3", "SO(3)", "X(z)"],
)
def test_a_link_that_stays_in_the_base_group_can_be_the_base(base, kind):
    rng = np.random.default_rng(3)
    links = (Link("a", random_body(rng)), Link("b", random_body(rng)))
    model = Model("m", base, links, (Joint("j", kind, "a", "b"),))
    state, edited = model.random_state(rng), model.reroot("b")
    same_robot(model, state, edited, carried_over(model, state, edited))


# lock, merge ------------------------------------------------------------------------------------------------------


@given(rng=generators())
def test_locked_where_it_is_it_is_the_same_robot(rng):
    model = random_tree(rng, 6)
    state = model.random_state(rng)
    joints, rates = by_name(model, state)
    locked = [name for name in joints if rng.random() < 0.5]
    edited = model.lock({name: joints[name] for name in locked})
    free = [name for name in joints if name not in locked]
    assert [j.name for j in edited.joints] == [j.name for j in model.joints]
    assert edited.joint_names == tuple(name for name in model.joint_names if name in free)
    for name in locked:
        rates[name] = 0.0 * rates[name]
    still = model.state(state.pose, joints, state.twist, rates)
    other = edited.state(state.pose, {n: joints[n] for n in free}, state.twist, {n: rates[n] for n in free})
    same_robot(model, still, edited, other)


@given(rng=generators())
def test_merged_it_is_the_same_robot(rng):
    model = random_tree(rng, 8, fixed=0.4)
    state = model.random_state(rng)
    edited = model.merge_fixed()
    assert not any(isinstance(j.kind, Fixed) for j in edited.joints)
    assert edited.joint_names == model.joint_names
    same_robot(model, state, edited, edited.state(*state))
    poses, old = link_poses(edited, edited.state(*state)), link_poses(model, state)
    assert {f.name for f in edited.frames} | set(edited.link_names) == set(model.link_names)
    for frame in edited.frames:  # what was a link is a frame at the same place
        close(poses[frame.link] @ frame.placement, old[frame.name])


@given(rng=generators())
def test_lock_all_and_merge_is_one_body(rng):
    model = random_tree(rng, 5)
    state = model.random_state(rng)
    joints, _ = by_name(model, state)
    lump = model.lock(joints).merge_fixed()
    assert len(lump.links) == 1
    body = lump.links[0].body
    close(body.moved(state.pose).spatial_inertia, whole_body(model, state).spatial_inertia, 1e-10)


@given(rng=generators())
def test_reroot_and_merge_commute(rng):
    model = random_tree(rng, 6, fixed=0.4)
    state = model.random_state(rng)
    merged = model.merge_fixed()
    link = str(rng.choice(merged.link_names))
    a, b = merged.reroot(link), model.reroot(link).merge_fixed()
    assert a.links[0].name == b.links[0].name == link
    same_robot(a, carried_over(model, state, a), b, carried_over(model, state, b))


def test_frames_move_along_with_what_carries_them():
    H = G.random(np.random.default_rng(0))
    links = tuple(map(Link, "ab"))
    model = Model("m", SE3(), links, (Joint("weld", Fixed(), "a", "b", placement=H),), frames=(Frame("tip", "b", H),))
    merged = model.merge_fixed()
    close(merged.frame("tip").placement, H @ H)
    close(merged.frame("b").placement, H)
    assert merged.frame("tip").link == "a"


def test_lock_by_name_is_at_neutral():
    model = robots.two_cylinder_cat()
    locked = model.lock(["spine_z"])
    assert locked.joint_names == ("spine_y",)
    close(locked.joints[0].placement, model.joints[0].placement, 0.0)
    with pytest.raises(ModelError, match="no joint 'spine_x'"):
        model.lock(["spine_x"])
    with pytest.raises(ModelError, match="joints of 'spine_z'"):
        model.lock({"spine_z": [1.0, 2.0]})
    assert model.lock("spine_z").joint_names == ("spine_y",)


# replace_body -----------------------------------------------------------------------------------------------------


@given(rng=generators())
def test_replace_body_replaces_one(rng):
    model, body = random_tree(rng, 4), random_body(rng)
    link = str(rng.choice(model.link_names))
    edited = model.replace_body(link, body)
    close(edited.mass - model.mass, body.mass - model.links[model.link_index(link)].body.mass)
    for old, new in zip(model.links, edited.links, strict=True):
        assert new.body is (body if old.name == link else old.body)
    assert edited.joints == model.joints


def test_edits_leave_the_model_alone():
    model = robots.cat()
    before = (model.links, model.joints, model.frames)
    model.reroot("rear"), model.lock(["neck"]), model.merge_fixed(), model.replace_body("head", Body(1.0))
    assert (model.links, model.joints, model.frames) == before


def test_edits_name_what_is_not_there():
    model = robots.cat()
    for edit in (lambda: model.reroot("haed"), lambda: model.replace_body("haed", Body())):
        with pytest.raises(ModelError, match="no link 'haed'; do you mean 'head'"):
            edit()


def test_a_hinge_seen_from_its_other_side_is_a_hinge():
    rear = robots.cat().reroot("rear")
    assert all(isinstance(j.kind, Revolute) for j in rear.joints)
