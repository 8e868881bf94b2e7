"""Which shapes push each other: who is left out, and that what is left out cannot touch."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import pushing_pairs
from fallingcat.dynamics.kinematics import world_poses
from fallingcat.errors import ModelError
from fallingcat.geometry import collision_pairs as pairs
from fallingcat.model.shapes import Capsule, Ellipsoid, Mesh, Sphere

BODY = fc.Body(1.0, (0.0, 0.0, 0.0), np.eye(3))
ALONG = np.eye(4)
ALONG[0, 3] = 1.0


def chain(count: int, kind: fc.joints.JointKind, *shapes: fc.Shape) -> fc.Model:
    """Links 1 m apart, each with these shapes."""
    links = [fc.Link(f"l{i}", BODY, collisions=shapes) for i in range(count)]
    joints = [fc.Joint(f"j{i}", kind, f"l{i - 1}", f"l{i}", placement=ALONG) for i in range(1, count)]
    return fc.Model("chain", fc.lie.SE3(), links, joints)


def test_neighbours_welds_and_overlaps_do_not_push():
    hinge, weld = fc.joints.Revolute((0.0, 0.0, 1.0)), fc.joints.Fixed()
    model = chain(4, hinge, Sphere(0.3))
    assert pushing_pairs(model).links(model) == (("l0", "l2"), ("l0", "l3"), ("l1", "l3"))
    assert pushing_pairs(chain(4, weld, Sphere(0.3))).pairs == ()
    links, (first, _, third) = model.links, model.joints
    through = fc.Model("through", fc.lie.SE3(), links, (first, fc.Joint("w", weld, "l1", "l2", placement=ALONG), third))
    assert pushing_pairs(through).links(through) == (("l0", "l3"),)  # one hinge moves l0 and l2, l1 and l3
    wide = chain(4, hinge, Sphere(1.2))
    found = pushing_pairs(wide)
    assert (found.links(wide), found.overlapping) == ((("l0", "l3"),), (("l0", "l2"), ("l1", "l3")))
    assert pushing_pairs(wide, [("l0", "l1")]).links(wide) == (("l0", "l1"),)  # what is named pushes


def test_what_has_no_closed_form_is_reported():
    model = chain(3, fc.joints.Revolute((0.0, 0.0, 1.0)), Sphere(0.1), Ellipsoid((0.1, 0.2, 0.3)), Mesh("a.stl"))
    found = pushing_pairs(model)
    assert (len(found.pairs), found.unknown) == (1, ("l0", "l1", "l2"))


@pytest.mark.parametrize("name", ["quadruped", "cat"])
def test_what_never_meets_does_not_meet(name):
    """The proof tried: shapes that are left out as out of reach are apart in random states."""
    model, rng = getattr(fc.robots, name)(), np.random.default_rng(0)
    sides = [side for i in range(len(model.links)) for side in pairs._sides(model, i)]
    apart = [
        pairs._ordered_pair(a, b)
        for a, b in combinations(sides, 2)
        if len(pairs.joints_between(model, a.link, b.link)) > 1
    ]
    never = [pair for pair in apart if not pairs.reachable(model, *pair)]
    assert len(never) >= pushing_pairs(model).unreachable > 0
    for _ in range(4):
        poses = world_poses(model, model.random_state(rng))
        assert min(met.distance for met in pairs.meetings(never, poses)) > 0.0


def test_out_of_reach_of_a_hinge_is_exact():
    """Balls of 0.1 m on two posts 1 m apart, on arms: they touch when the arms are 0.4 m long, and not below."""
    hinge, post = fc.joints.Revolute((0.0, 0.0, 1.0)), np.eye(4)
    for arm, meets in ((0.41, True), (0.39, False)):
        out = np.eye(4)
        out[0, 3], post = arm, post.copy()
        post[0, 3] = 1.0
        ball = Sphere(0.1, placement=out)
        links = [fc.Link("base", BODY), *(fc.Link(name, BODY, collisions=(ball,)) for name in ("a", "b"))]
        joints = [fc.Joint("to_a", hinge, "base", "a"), fc.Joint("to_b", hinge, "base", "b", placement=post)]
        found = pushing_pairs(fc.Model("posts", fc.lie.SE3(), links, joints))
        assert (len(found.pairs), found.unreachable) == ((1, 0) if meets else (0, 1))


def test_names_that_are_wrong():
    model = chain(3, fc.joints.Revolute((0.0, 0.0, 1.0)), Capsule(0.1, 0.2))
    for wrong, words in (
        ("l0", "pairs are pairs of names of links, not 'l0'"),
        ([("l0",)], "pairs are pairs of names"),
        ([("l0", "ghost")], "there is no link 'ghost'"),
        ([("l0", "l0")], "no joint moves 'l0' and 'l0' against each other"),
    ):
        with pytest.raises(ModelError, match=words):
            pushing_pairs(model, wrong)
    bare = chain(3, fc.joints.Revolute((0.0, 0.0, 1.0)), Ellipsoid((0.1, 0.2, 0.3)))
    with pytest.raises(ModelError, match="link 'l0' has no sphere, capsule, box or cylinder"):
        pushing_pairs(bare, [("l0", "l2")])
