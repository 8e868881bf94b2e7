"""Many states in one record: made, flattened, taken apart, taken by compiled functions; refused where one is meant."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from laws import GROUPS, name

import fallingcat as fc
from fallingcat.arrays.vectorize import SAMPLES_PER_RUN, vectorize
from fallingcat.errors import ModelError
from fallingcat.lie import SE2, SE3, SO3, Product
from fallingcat.model import State, robots
from fallingcat.model.robots import random_tree

BASES = [group for group in GROUPS if not isinstance(group, Product)]
CAT = robots.two_cylinder_cat()


def same(a, b, tolerance=1e-13):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def singles(states):
    return [states.at(index) for index in np.ndindex(states.batch)]


@pytest.mark.parametrize("base", BASES, ids=name)
def test_a_batch_is_its_states_side_by_side(base):
    rng = np.random.default_rng(1)
    model = random_tree(rng, 6, base=base)
    states = model.random_state(rng, 2, 3)
    assert states.batch == (2, 3)
    q, v = model.flatten(states)
    assert (q.shape, v.shape) == ((2, 3, model.nq), (2, 3, model.nv))
    for index in np.ndindex(2, 3):
        one = states.at(index)
        assert one.batch == ()
        assert model.base.contains(one.pose)
        same(model.flatten(one), (q[index], v[index]))
    same(model.unflatten(q, v), states)
    same(model.state(*states), states)
    same(State.stack(singles(states)), (x.reshape(6, *x.shape[2:]) for x in states), 0.0)


def test_random_batches_keep_joint_limits_and_empty_ones_are_empty():
    dog = robots.quadruped()
    joints = dog.random_state(np.random.default_rng(0), 1000).joints
    lower, upper = ([getattr(limits, end) for limits in dog.limits] for end in ("lower", "upper"))
    assert (joints >= lower).all()
    assert (joints <= upper).all()
    assert joints.std(axis=0).min() > 0.1
    none = dog.random_state(np.random.default_rng(0), 0)
    assert dog.flatten(none)[0].shape == (0, dog.nq)
    assert dog.unflatten(*dog.flatten(none)).batch == (0,)
    assert fc.compile(dog, fc.center_of_mass)(none).shape == (0, 3)


def test_what_is_given_once_is_the_same_for_all():
    states = CAT.state(joints=np.linspace(0.0, 1.0, 10).reshape(5, 2), twist=[0, 0, 0, 0, 0, 1])
    assert states.batch == (5,)
    states.pose[2, 0, 3] = 7.0  # their own memory
    assert states.pose[1, 0, 3] == 0.0
    same(states.at(3), CAT.state(joints=states.joints[3], twist=[0, 0, 0, 0, 0, 1]))
    q, v = CAT.flatten(states.at(0))
    assert CAT.unflatten(np.tile(q, (4, 1)), v).batch == CAT.unflatten(q, np.tile(v, (4, 1))).batch == (4,)
    assert not CAT.unflatten(np.tile(q, (4, 1))).twist.any()


def test_compiled_functions_take_a_batch_and_a_single_state():
    rng = np.random.default_rng(2)
    states, a = CAT.random_state(rng, 4), rng.normal(size=(4, CAT.nv))
    forces = [fc.inverse_dynamics(CAT, one, x) for one, x in zip(singles(states), a, strict=True)]
    kernel = fc.compile(CAT, fc.inverse_dynamics)
    same(kernel(states, a), forces, 1e-12)
    same(kernel(states, acceleration=a), forces, 1e-12)
    np.testing.assert_array_equal(kernel(states.at(1), a[1]), kernel(*CAT.flatten(states), a)[1])
    out = np.empty((4, CAT.nv))
    assert kernel(states, a, out=out) is out
    mass = fc.compile(CAT, fc.mass_matrix)
    np.testing.assert_array_equal(mass(states), mass(*CAT.flatten(states)))
    by_fields = fc.compile(CAT, fc.link_pose, state=["joints", "pose"], link="rear")
    same(by_fields(states), [fc.link_pose(CAT, one, "rear") for one in singles(states)])


def test_a_state_of_lists_is_taken_as_one_of_arrays():
    state = CAT.random_state(np.random.default_rng(6))
    lists = State(*(x.tolist() for x in state))
    same(CAT.flatten(lists), CAT.flatten(state), 0.0)
    by_fields = fc.compile(CAT, fc.link_pose, state=["joints", "pose"], link="rear")
    np.testing.assert_array_equal(by_fields(lists), by_fields(state))


def test_jax_takes_a_batch():
    body = robots.free_body()
    states = body.random_state(np.random.default_rng(3), 3)
    energies = [fc.kinetic_energy(body, one) for one in singles(states)]
    of_jax = State(*map(jnp.asarray, states))
    same(jax.vmap(lambda state: fc.kinetic_energy(body, state))(of_jax), energies, 1e-5)
    kernel = fc.compile(body, fc.kinetic_energy, target="jax")
    same(kernel(states), energies, 1e-5)
    q, v = body.flatten(states)
    same(kernel(v=v, q=q), energies, 1e-5)
    with pytest.raises(ModelError, match="takes q, v, each once; given are q, w"):
        kernel(q, w=v)
    with pytest.raises(ModelError, match=r"jax\.vmap\(model\.flatten\)"):
        body.flatten(of_jax)
    with pytest.raises(ModelError, match=r"jax\.vmap\(model\.state\)"):
        body.state(twist=of_jax.twist)


def test_a_rollout_starts_from_a_batch_that_is_looked_at():
    hopper = robots.revolute_hopper()
    states = hopper.state(joints=np.full((3, 1), 0.5), rates=np.ones((3, 1)))
    assert fc.rollout(hopper, states, 1e-3).joints.shape == (2, 3, 1)
    states.pose[1] = SE3().element(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))  # turned out of the plane
    with pytest.raises(ModelError, match=r"state 1: pose is no element of the base group SE\(2\)"):
        fc.rollout(hopper, states, 1e-3)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (lambda s: fc.mass_matrix(CAT, s), r"5 states of 'two_cylinder_cat' at once: this takes one, states\.at\(i\)"),
        (lambda s: fc.simulate(CAT, s, 0.1), "a run starts from one state, not from 5: rollout"),
        (lambda s: CAT.flatten(s._replace(twist=s.twist[0])), r"twist must have shape \(5, 6\) .*, got \(6,\)"),
        (lambda s: CAT.state(joints=np.where(np.eye(5, 2), np.nan, 0.0)), "state 0: joints holds a number that is not"),
        (lambda s: CAT.state(pose=s.pose * [[[1.0]]] * 2), "state 0: pose is no element"),
        (lambda s: CAT.state(joints=s.joints, rates=s.rates[:4]), r"different numbers of states: .*rates \(4, 2\)"),
        (lambda s: CAT.state(joints=s.rates.T), r"joints must have shape \(2, 2\), got \(2, 5\)"),
        (lambda s: CAT.unflatten(np.zeros((5, CAT.nq))), r"state 0: q \(base\): the quaternion xyzw has length 0"),
        (lambda s: CAT.unflatten(np.zeros((5, 3))), r"q must have shape \(9,\) .* got \(5, 3\)"),
        (lambda s: CAT.random_state(np.random.default_rng(0), -1), "whole number, zero or above, not -1"),
        (lambda s: CAT.random_state(np.random.default_rng(0), 2.5), "whole number, zero or above, not 2.5"),
        (lambda s: fc.compile(CAT, fc.inverse_dynamics)(s), r"takes 3 arguments \(q, v, acceleration\), not 2"),
    ],
)
def test_wrong_batches_are_named(wrong, rule):
    with pytest.raises(ModelError, match=rule):
        wrong(CAT.random_state(np.random.default_rng(4), 5))


def test_a_joint_quaternion_of_many_is_brought_to_length_one_or_named():
    wrist = random_tree(np.random.default_rng(0), 1, base=SE2(), kinds=["spherical"])
    joints = SO3().random_coordinates(np.random.default_rng(0), 6)
    np.testing.assert_allclose(wrist.state(joints=1.005 * joints).joints, joints, rtol=1e-14)
    joints[4] *= 1.5
    with pytest.raises(ModelError, match=r"state 4: joint '.*': the quaternion xyzw has length 1.5, not 1"):
        wrist.state(joints=joints)


def test_many_is_each_across_runs_and_batch_shapes():
    rng = np.random.default_rng(5)
    group = SE3()
    q, x = group.random_coordinates(rng, SAMPLES_PER_RUN + 3, 1), rng.normal(size=(2, 6))
    moved = vectorize(group.moved, q, x)
    assert moved.shape == (SAMPLES_PER_RUN + 3, 2, 7)
    for i in (0, SAMPLES_PER_RUN - 1, SAMPLES_PER_RUN, SAMPLES_PER_RUN + 2):
        np.testing.assert_allclose(moved[i, 1], group.moved(q[i, 0], x[1]), rtol=0, atol=1e-13)
    slope = vectorize(group.moved, q[:3, 0] + 0j, 1e-20j * x[0]).imag / 1e-20  # complex steps pass through
    np.testing.assert_allclose(slope[1][:3], group.element(q[1, 0])[:3, :3] @ x[0][:3], atol=1e-13)


def test_one_state_is_not_taken_apart():
    state = CAT.neutral()
    same(state.at(()), state)
    for index in (0, slice(4), (0,), np.array([True])):
        with pytest.raises(ModelError, match="one state, and no batch"):
            state.at(index)


def test_batches_that_cannot_be_are_refused():
    cat, dog = fc.robots.cat(), fc.robots.quadruped()
    with pytest.raises(ModelError, match="one state or more"):
        fc.State.stack([])
    with pytest.raises(ModelError, match="one robot"):
        fc.State.stack([cat.neutral(), dog.neutral()])
    with pytest.raises(ModelError, match=r"no state at 3 of a batch of shape \(3,\)"):
        fc.State.stack([cat.neutral()] * 3).at(3)


def test_a_batch_is_no_sequence_of_states_and_says_so():
    states = CAT.random_state(np.random.default_rng(0), 5)
    for index in (3, -1, slice(2), [0, 1]):
        with pytest.raises(ModelError, match=r"states\.at\(i\) is one state, and states\.pose, \.joints"):
            states[index]
    poses, joints, twists, rates = states
    same(fc.State(poses, joints, twists, rates), states)
    same(states._replace(rates=rates), states)
    one = states.at(3)
    assert one[3] is one.rates
    assert [x is y for x, y in zip(one[1:3], (one.joints, one.twist), strict=True)] == [True, True]


def test_more_states_than_memory_holds_are_refused():
    far = np.broadcast_to(np.ones(CAT.m), (10**12, CAT.m))
    with pytest.raises(ModelError, match=r"twist holds 6e\+12 numbers, and states at most 1e\+10"):
        CAT.state(twist=far)
