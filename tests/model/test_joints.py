"""One body of laws, run on every kind of joint and on its other side."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from kinds import KINDS
from laws import generators

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.errors import ModelError
from fallingcat.lie import SE3
from fallingcat.model import Fixed, Helical, Joint, Limits, Revolute, Universal
from fallingcat.model.robots.random_tree import MOVING
from fallingcat.testing import check_joint
from fallingcat.testing.joints import SINGLE_JOINT

G = SE3()
every_kind = pytest.mark.parametrize("kind", [*MOVING, Fixed], ids=lambda kind: kind.name)
both_sides = pytest.mark.parametrize("turned", [False, True], ids=["inner", "outer"])


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def random_joint(rng, kind, turned=False):
    """A joint with random axes, placement and offset."""
    joint = Joint("j", kind.sample(rng), "a", "b", G.random(rng), G.random(rng))
    return joint.reversed() if turned else joint


@every_kind
@both_sides
@pytest.mark.parametrize("law", SINGLE_JOINT, ids=lambda law: law.name)
@given(rng=generators())
def test_laws_of_joints(kind, turned, law, rng):
    """Those that a user's own joints are held to."""
    assert law.residual(random_joint(rng, kind, turned), rng) <= law.tolerance


@every_kind
def test_robots_with_the_joint(kind):
    assert check_joint(kind, rounds=3).passed


@every_kind
def test_a_plain_joint_turned_twice_is_exact(kind):
    joint = Joint("j", kind.sample(np.random.default_rng(0)), "a", "b")
    again = joint.reversed().reversed()
    assert (again.placement == joint.placement).all()
    assert (again.offset == joint.offset).all()


@every_kind
@both_sides
@pytest.mark.parametrize("number", KINDS)
@settings(max_examples=2)
@given(rng=generators())
def test_every_kind_of_number(kind, turned, number, rng):
    joint = random_joint(rng, kind, turned)
    q, rates = joint.kind.group.random_coordinates(rng), rng.normal(size=joint.kind.nv)

    def everything(q, rates):
        S, dS = joint.motion_subspace(q), joint.motion_subspace_derivative(q, rates)
        parts = [joint.transform(q)[:3].reshape(-1), (S @ rates).reshape(-1), (dS @ rates).reshape(-1)]
        return concatenate(parts)

    close(KINDS[number](everything, q, rates), everything(q, rates), 1e-12)


@every_kind
def test_coordinates_are_named(kind):
    motion = kind.sample(np.random.default_rng(0))
    assert len(motion.group.coordinate_names) == motion.nq
    assert motion.nv <= motion.nq <= motion.nv + 1


def test_the_zeros_of_a_placed_hinge_stay_exact():
    joint = Joint("j", Revolute((0.0, 0.0, 1.0)), "a", "b")
    assert (joint.transform(np.array([0.3]))[2] == [0.0, 0.0, 1.0, 0.0]).all()
    assert (joint.motion_subspace(np.array([0.3])).T == [[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]).all()


def test_a_universal_joint_is_two_hinges():
    a, b, q = (1.0, 0.0, 0.0), (0.0, 0.6, 0.8), np.array([0.4, -0.7])
    two = Revolute(a).transform(q[:1]) @ Revolute(b).transform(q[1:])
    close(Universal(a, b).transform(q), two, 1e-15)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 0.0), (np.nan, 0.0, 1.0), (1.0, 0.0), (np.inf, 0.0, 0.0), "z", None])
def test_an_axis_that_is_none_is_refused(axis):
    with pytest.raises(ModelError, match="axis"):
        Revolute(axis)
    with pytest.raises(ModelError, match="axis"):
        Universal((1.0, 0.0, 0.0), axis)


@pytest.mark.parametrize("pitch", [np.nan, np.inf])
def test_a_pitch_is_finite(pitch):
    with pytest.raises(ModelError, match="pitch"):
        Helical((0.0, 0.0, 1.0), pitch)


def test_parallel_axes_make_no_universal_joint():
    with pytest.raises(ModelError, match="parallel"):
        Universal((1.0, 0.0, 0.0), (-2.0, 0.0, 0.0))


@pytest.mark.parametrize("part", ["placement", "offset"])
@pytest.mark.parametrize("H", [np.eye(3), 2.0 * np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0]), np.full((4, 4), np.nan)])
def test_a_placement_that_is_no_rigid_motion_is_refused_by_name(part, H):
    with pytest.raises(ModelError, match=rf"{part} of joint 'elbow'"):
        Joint("elbow", Revolute(), "a", "b", **{part: H})


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"lower": 1.0, "upper": 0.0}, "lies above"),
        ({"lower": np.nan}, "not a number"),
        ({"velocity": -1.0}, "not negative"),
        ({"effort": -1.0}, "not negative"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(limits, words):
    with pytest.raises(ModelError, match=words):
        Limits(**limits)


def test_axes_that_turn_need_their_rate():
    """Left out, the rate would be taken for zero, in silence."""
    with pytest.raises(ModelError, match="Saddle has axes of its own but not their rate: define motion_subspace_deriv"):

        class Saddle(Universal):
            def motion_subspace(self, q):
                return super().motion_subspace(q)


@every_kind
def test_fixed_axes_are_declared(kind):
    motion = kind.sample(np.random.default_rng(0))
    rng = np.random.default_rng(1)
    there, here = (motion.motion_subspace(motion.group.random_coordinates(rng)) for _ in range(2))
    assert motion.fixed_axes == (not np.any(there - here))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"damping": -1.0}, "the damping of a joint is not negative"),
        ({"friction": np.nan}, "the friction of a joint is a finite number"),
        ({"stiffness": "stiff"}, "the stiffness of a joint is a finite number"),
        ({"rest": np.inf}, "the rest of a joint is a finite number"),
    ],
)
def test_passive_forces_that_are_none(given, message):
    with pytest.raises(fc.ModelError, match=message):
        fc.model.Passive(**given)


def test_springs_and_dampers_are_data():
    """They change no force, stay with a joint that is seen from its other side, and leave with one that is welded."""
    plain, rng = fc.robots.cat(), np.random.default_rng(0)
    pulled = replace(
        plain, joints=tuple(replace(j, passive=fc.model.Passive(1.0, 2.0, 3.0, 0.1)) for j in plain.joints)
    )
    state = plain.random_state(rng)
    np.testing.assert_array_equal(fc.bias_forces(pulled, state), fc.bias_forces(plain, state))
    assert all(joint.passive.damping == 1.0 for joint in pulled.reroot("rear").joints)
    assert pulled.lock(pulled.joint_names[:1]).joints[0].passive == fc.model.Passive()
    with pytest.raises(fc.ModelError, match="passive of joint 'spine_side' is a Passive"):
        replace(plain.joints[0], passive=0.1)
