"""Links and joints in any order become one tree in one order, or an error that says why not."""

import re

import numpy as np
import pytest
from hypothesis import given
from laws import generators

from fallingcat.errors import ModelError
from fallingcat.lie import SE3
from fallingcat.model import Body, Fixed, Frame, Joint, Link, Model, Revolute
from fallingcat.model.robots import random_tree

BODY = Body(1.0, np.zeros(3), np.eye(3))


def tree(*edges, links=None):
    """The model with a hinge `parent-child` for every edge."""
    joints = tuple(Joint(edge, Revolute(), *edge.split("-")) for edge in edges)
    names = links or sorted({name for edge in edges for name in edge.split("-")})
    return Model("tree", SE3(), tuple(Link(name, BODY) for name in names), joints)


def depth_first(model, joints):
    """The order of the tree by definition, recursively: each joint, then all that its child carries."""

    def below(link):
        for joint in joints:
            if joint.parent == link:
                yield joint.name
                yield from below(joint.child)

    return list(below(model.links[0].name))


def test_depth_first_children_as_given():
    model = tree("a-b", "a-c", "b-d", "c-e", "b-f")
    assert [j.name for j in model.joints] == ["a-b", "b-d", "b-f", "a-c", "c-e"]
    assert model.link_names == ("a", "b", "d", "f", "c", "e")
    assert model.parents == (0, 1, 1, 0, 4)


def test_the_order_of_siblings_is_the_order_of_the_file():
    assert tree("a-c", "a-b").link_names == ("a", "c", "b")
    assert tree("a-b", "a-c").link_names == ("a", "b", "c")


@given(rng=generators())
def test_joints_in_any_order_make_the_tree(rng):
    model = random_tree(rng, 9)
    shuffled = [model.joints[i] for i in rng.permutation(9)]
    links = tuple(model.links[i] for i in rng.permutation(10))
    again = Model("again", model.base, links, tuple(shuffled))
    assert [j.name for j in again.joints] == depth_first(again, shuffled)
    assert set(again.link_names) == set(model.link_names)
    assert again.links[0].name == model.links[0].name
    for i, joint in enumerate(again.joints):
        assert again.links[i + 1].name == joint.child
        assert again.links[again.parents[i]].name == joint.parent
        assert again.parents[i] <= i


@given(rng=generators())
def test_places_cover_the_vectors(rng):
    model = random_tree(rng, 7)
    q = np.concatenate([np.arange(model.nq - model.base.nq)[place] for place in model.q_slices])
    v = np.concatenate([np.arange(model.n)[place] for place in model.v_slices])
    assert (q == np.arange(model.nq - model.base.nq)).all()
    assert (v == np.arange(model.n)).all()
    assert model.nv == model.m + model.n


def test_a_long_chain_needs_no_recursion():
    model = tree(*(f"{i}-{i + 1}" for i in range(3000)), links=[str(i) for i in range(3001)])
    assert model.n == 3000


@pytest.mark.parametrize(
    ("edges", "links", "words"),
    [
        (["a-b", "b-c", "c-a"], None, "cycle"),
        (["a-b", "c-d", "d-c"], None, "cycle: 'c', 'd' cannot be reached"),
        (["a-b", "c-d"], None, "2 pieces, with the roots 'a', 'c'"),
        (["a-b"], ["a", "b", "c"], "2 pieces, with the roots 'a', 'c'"),
        (["a-b", "c-b"], None, "link 'b' is the child of 2 joints: 'a-b', 'c-b'"),
        (["a-b"], ["a"], "joint 'a-b' joins the link 'b', which does not exist"),
        (["b-a"], ["a"], "joint 'b-a' joins the link 'b', which does not exist"),
        (["a-b"], ["a", "a", "b"], "2 links are called 'a'"),
        (["a-a"], None, "cycle"),
        ([], ["a", "b"], "2 pieces"),
    ],
)
def test_what_is_no_tree(edges, links, words):
    with pytest.raises(ModelError, match=re.escape(words)):
        tree(*edges, links=links)


def test_a_robot_has_a_link():
    with pytest.raises(ModelError, match="at least one link"):
        Model("empty", SE3(), ())


def test_joints_have_names_of_their_own():
    joint = Joint("j", Revolute(), "a", "b")
    with pytest.raises(ModelError, match="2 joints are called 'j'"):
        Model("twins", SE3(), tuple(map(Link, "abc")), (joint, Joint("j", Revolute(), "a", "c")))
    with pytest.raises(ModelError, match="a joint has an empty name"):
        Model("nameless", SE3(), tuple(map(Link, "ab")), (Joint("", Revolute(), "a", "b"),))
    with pytest.raises(ModelError, match="a link has an empty name"):
        Model("nameless", SE3(), (Link(""),))


def test_names_are_found_and_guessed():
    model = tree("shoulder-elbow", "elbow-wrist")
    assert model.link_index("wrist") == 2
    assert model.joint_index("elbow-wrist") == 1
    with pytest.raises(ModelError, match="no link 'elbo'; do you mean 'elbow'"):
        model.link_index("elbo")
    with pytest.raises(ModelError, match=r"no joint 'knee'$"):
        model.joint_index("knee")


def test_fixed_joints_have_no_name_among_those_that_move():
    links = tuple(map(Link, "abc"))
    model = Model("m", SE3(), links, (Joint("weld", Fixed(), "a", "b"), Joint("hinge", Revolute(), "b", "c")))
    assert model.joint_names == ("hinge",)
    assert model.joint_index("weld") == 0


def test_frames():
    H = np.eye(4)
    H[0, 3] = 0.5
    model = Model("m", SE3(), (Link("a"),), frames=(Frame("tip", "a", H),))
    assert model.frame("tip").placement[0, 3] == 0.5
    assert (model.frame("a").placement == np.eye(4)).all()
    assert model.frame("a", H, name="other").name == "other"
    with pytest.raises(ModelError, match="no link or frame 'b'"):
        model.frame("b")
    with pytest.raises(ModelError, match="frame 'x' is fixed to the link 'b'"):
        Model("m", SE3(), (Link("a"),), frames=(Frame("x", "b"),))
    with pytest.raises(ModelError, match="has the name of a link"):
        Model("m", SE3(), (Link("a"),), frames=(Frame("a", "a"),))
    with pytest.raises(ModelError, match="2 frames are called 'x'"):
        Model("m", SE3(), (Link("a"),), frames=(Frame("x", "a"), Frame("x", "a")))
    with pytest.raises(ModelError, match="placement of frame 'x' is not a rigid"):
        Frame("x", "a", 2.0 * H)


def test_a_model_is_frozen_and_hashable():
    model = tree("a-b")
    with pytest.raises(AttributeError):
        model.name = "other"
    with pytest.raises(ValueError, match="read-only"):
        model.gravity[2] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        model.joints[0].placement[0, 3] = 1.0
    assert hash(model) == hash(model)
    assert model != tree("a-b")
    with pytest.raises(ModelError, match="gravity"):
        Model("m", SE3(), (Link("a"),), gravity=np.array([0.0, np.nan, 0.0]))


def test_repr_says_what_it_is():
    assert repr(tree("a-b")) == "<Model 'tree': base SE(3), 2 links, 1 joint dof, 2 kg>"
