"""States: made, checked, flattened, and transformed by JAX."""

import re
from decimal import Decimal

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from hypothesis import given
from laws import GROUPS, generators, name
from link_sums import link_poses
from scipy.spatial.transform import Rotation
from scipy.stats import kstest

from fallingcat.arrays import Graph
from fallingcat.dynamics import forward_dynamics
from fallingcat.errors import ModelError
from fallingcat.formulations import reduced_equations
from fallingcat.lie import SE2, SE3, SO3, Product
from fallingcat.model import Joint, Limits, Link, Model, Prismatic, Revolute, Spherical, State, robots
from fallingcat.model.joint_inertia import Resistance, _inverse
from fallingcat.model.robots import random_tree

BASES = [group for group in GROUPS if not isinstance(group, Product)]
ARM = Model(
    "arm",
    SE3(),
    tuple(map(Link, ["base", "upper", "lower", "hand"])),
    (
        Joint("shoulder", Spherical(), "base", "upper"),
        Joint("elbow", Revolute(), "upper", "lower"),
        Joint("slide", Prismatic(), "lower", "hand"),
    ),
)


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def same(a, b, tolerance=1e-12):
    for x, y in zip(a, b, strict=True):
        close(x, y, tolerance)


@pytest.mark.parametrize("base", BASES, ids=name)
@given(rng=generators())
def test_flatten_and_unflatten_are_inverse(base, rng):
    model = random_tree(rng, 5, base=base)
    state = model.random_state(rng)
    q, v = model.flatten(state)
    assert q.shape == (model.nq,)
    assert v.shape == (model.nv,)
    same(model.unflatten(q, v), state)
    same(model.unflatten(q.tolist(), v.tolist()), state)
    again = model.flatten(model.unflatten(q, v))
    close(model.unflatten(*again).pose, state.pose)


@given(rng=generators())
def test_flat_order_of_a_free_base(rng):
    model = random_tree(rng, 2, kinds=["revolute"])
    state = model.random_state(rng)
    q, v = model.flatten(state)
    close(q[:3], state.pose[:3, 3], 0.0)
    close(Rotation.from_quat(q[3:7]).as_matrix(), state.pose[:3, :3])
    close(q[7:], state.joints, 0.0)
    close(v, np.concatenate([state.twist, state.rates]), 0.0)


def test_flat_order_of_a_planar_base():
    hopper = robots.revolute_hopper()
    state = hopper.state(pose=SE2().element(np.array([1.0, 2.0, 0.5])), joints=[0.7], twist=[1, 2, 3], rates=[4])
    q, v = hopper.flatten(state)
    close(q, [1.0, 2.0, 0.5, 0.7])
    close(v, [1.0, 2.0, 3.0, 4.0])


@given(rng=generators())
def test_a_state_of_floats_passes_through_unchanged(rng):
    model = random_tree(rng, 4)
    state = model.random_state(rng)
    same(model.state(*state), state, 1e-15)


def test_what_is_left_out_is_neutral():
    state = ARM.state()
    close(state.pose, np.eye(4), 0.0)
    close(state.joints, [0, 0, 0, 1, 0, 0], 0.0)
    close(state.velocity, np.zeros(11), 0.0)
    same(ARM.neutral(), state, 0.0)
    assert all(part.dtype == float for part in state)


def test_joints_by_name():
    turn = np.array([0.0, 0.6, 0.0, 0.8])
    state = ARM.state(joints={"slide": 2, "shoulder": turn}, rates={"elbow": 3.0, "shoulder": [1, 2, 3]})
    close(state.joints, [0.0, 0.6, 0.0, 0.8, 0.0, 2.0])
    close(state.rates, [1.0, 2.0, 3.0, 3.0, 0.0], 0.0)


@pytest.mark.parametrize(
    "number",
    [0.3, np.float64(0.3), np.array(0.3), np.array([0.3]), [0.3], jnp.asarray(0.3), jnp.asarray([0.3])],
    ids=lambda x: type(x).__name__,
)
def test_a_number_of_every_sort_by_name(number):
    close(ARM.state(joints={"elbow": number}).joints[4], 0.3, 1e-7)


@pytest.mark.parametrize(
    "symbol", [sympy.Symbol("q"), casadi.SX.sym("q"), Graph().input("q")], ids=["sympy", "SX", "traced"]
)
def test_a_symbol_by_name_and_in_a_list(symbol):
    joints = ARM.state(joints={"elbow": symbol}).joints
    assert joints.dtype == object
    assert joints[4] is symbol
    hopper = robots.revolute_hopper()
    assert hopper.state(joints=[symbol]).joints[0] is symbol
    pose = link_poses(hopper, hopper.state(joints=[symbol]))["shank"]
    assert pose[0, 3] == pytest.approx(0.12)


def test_complex_numbers_for_complex_steps():
    state = ARM.state(joints={"elbow": 0.3 + 1e-30j})
    assert state.joints[4] == 0.3 + 1e-30j


ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"pose": np.eye(3)}, "pose must have shape (4, 4), got (3, 3)"),
        ({"pose": np.diag([1.0, 1.0, -1.0, 1.0])}, "pose is no element of the base group SE(3) of 'arm'"),
        ({"pose": 1.1 * np.eye(4)}, "pose is no element"),
        ({"pose": np.full((4, 4), np.nan)}, "pose holds a number that is not finite"),
        ({"pose": "here"}, "pose must have shape (4, 4), got 'here'"),
        ({"joints": np.zeros(5)}, "joints must have shape (6,), got (5,)"),
        ({"joints": [0.0, 0.0, 0.0, 1.0, np.nan, 0.0]}, "joints holds a number that is not finite"),
        ({"joints": [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]}, "joint 'shoulder': the quaternion xyzw has length 2, not 1"),
        ({"joints": np.zeros(6)}, "joint 'shoulder': the quaternion xyzw has length 0, not 1"),
        ({"joints": {"elbow": [1.0, 2.0]}}, "joints of 'elbow' must have shape (1,), got (2,)"),
        ({"joints": {"shoulder": 1.0}}, "joints of 'shoulder' must have shape (4,), got (1,)"),
        ({"joints": {"elbow": np.inf}}, "joints of 'elbow' holds a number that is not finite"),
        ({"joints": {"elbow": "bent"}}, "joints of 'elbow' is an array of numbers"),
        ({"joints": {"elbow": None}}, "joints of 'elbow' is an array of numbers"),
        ({"joints": {"elbows": 1.0}}, "there is no joint 'elbows'; do you mean 'elbow'?"),
        ({"joints": [["a"] * 6]}, "joints"),
        ({"joints": [[1.0], [1.0, 2.0]]}, "joints is an array of numbers of shape (6,)"),
        ({"joints": np.array(["0"] * 6)}, "joints is an array of numbers of shape (6,)"),
        ({"joints": [Decimal(0)] * 6}, "joints is an array of numbers of shape (6,)"),
        ({"joints": ENDLESS}, "joints is an array of numbers of shape (6,), not [[...]]"),
        ({"twist": np.zeros(3)}, "twist must have shape (6,), got (3,)"),
        ({"twist": 1.0}, "twist must have shape (6,), got 1.0"),
        ({"rates": np.zeros(6)}, "rates must have shape (5,), got (6,)"),
        ({"rates": {"elbow": np.nan}}, "rates of 'elbow' holds a number that is not finite"),
    ],
)
def test_what_is_no_state_is_refused_by_name(arguments, words):
    with pytest.raises(ModelError, match=re.escape(words)):
        ARM.state(**arguments)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("kind", [memoryview, np.matrix, np.longdouble])
def test_other_arrays_of_numbers_are_taken_as_arrays(kind):
    cat = robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    q, v = map(kind, cat.flatten(state))
    read = cat.unflatten(q, v)
    read = read.at(0) if read.batch else read  # a matrix has two axes
    assert all(type(x) is np.ndarray and x.dtype == float for x in read)
    for x, y in zip(read, state, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-15)


def test_a_range_is_no_field_of_a_state():
    hopper = robots.revolute_hopper()
    state = hopper.neutral()._replace(twist=range(3))
    for function in (reduced_equations, forward_dynamics):
        with pytest.raises(ModelError, match="twist is an array, not"):
            function(hopper, state, *[np.zeros(hopper.nv)] * (function is forward_dynamics))


def test_inertias_whose_inverse_overflows_are_none():
    felt = Resistance(*2 * [np.array([[[1e-320]], [[2.0]]])])
    np.testing.assert_array_equal(_inverse(felt), [[[0.0]], [[0.5]]])


def test_numbers_of_extended_precision_are_no_arguments_of_dynamics():
    cat = robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    long = state.rates.astype(np.longdouble)
    with pytest.raises(ModelError, match="rates is an array of numbers of shape"):
        forward_dynamics(cat, state._replace(rates=long), np.zeros(cat.nv))
    with pytest.raises(ModelError, match="forces is an array of numbers of shape"):
        forward_dynamics(cat, state, np.zeros(cat.nv, dtype=np.longdouble))


def test_a_tilted_pose_is_no_pose_of_a_planar_base():
    with pytest.raises(ModelError, match=r"no element of the base group SE\(2\)"):
        robots.revolute_hopper().state(pose=SO3().exp(np.array([0.1, 0.0, 0.0])))


@pytest.mark.parametrize(
    ("q", "v", "words"),
    [
        (np.zeros(12), None, "q must have shape (13,) for 'arm', got (12,)"),
        (np.zeros(13), None, "q (base): the quaternion xyzw has length 0"),
        (np.full(13, np.nan), None, "q holds a number that is not finite"),
        ([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0], np.zeros(3), "v must have shape (11,) for 'arm', got (3,)"),
        ([np.inf, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0], None, "q holds a number that is not finite"),
        ([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0], None, "joint 'shoulder': the quaternion xyzw has length 3"),
    ],
)
def test_flat_vectors_are_checked(q, v, words):
    with pytest.raises(ModelError, match=re.escape(words)):
        ARM.unflatten(q, v)


def test_a_printed_quaternion_is_brought_to_length_one():
    q = np.zeros(13)
    q[3:7] = q[7:11] = [0.5, 0.5, 0.5, 0.5000003]
    state = ARM.unflatten(q)
    close(state.pose[:3, :3] @ state.pose[:3, :3].T, np.eye(3), 1e-15)
    close(np.linalg.norm(state.joints[:4]), 1.0, 1e-15)


# random states ----------------------------------------------------------------------------------------------------


@given(rng=generators())
def test_random_states_are_states_within_the_limits(rng):
    model = random_tree(rng, 6)
    state = model.random_state(rng)
    same(model.state(*state), state)
    for joint, place in zip(model.joints, model.q_slices, strict=True):
        if joint.kind.nq == 1:
            assert joint.limits.lower <= state.joints[place][0] <= joint.limits.upper


@pytest.mark.parametrize(
    ("limits", "expected"),
    [(Limits(lower=0.5), 0.5), (Limits(upper=-0.5), -0.5), (Limits(2.0, 2.5), 2.0), (Limits(-1.0, 1.0), 0.0)],
)
def test_neutral_stands_within_the_limits(limits, expected):
    joints = (Joint("i", Spherical(), "a", "b"), Joint("j", Revolute(), "b", "c", limits=limits))
    model = Model("m", SE3(), tuple(map(Link, "abc")), joints)
    close(model.neutral().joints, [0, 0, 0, 1, expected], 0.0)
    close(model.state(joints={"i": [0, 0, 0, 1]}).joints[4], expected, 0.0)
    close(model.state(joints=[0, 0, 0, 1, 7.0]).joints[4], 7.0, 0.0)
    assert model.neutral().joints.flags.writeable


@pytest.mark.parametrize("limits", [Limits(lower=0.5), Limits(upper=-0.5), Limits(1.0, 1.0), Limits(2.0, 2.5)])
@given(rng=generators())
def test_random_states_keep_a_single_stop_too(limits, rng):
    model = Model("m", SE3(), tuple(map(Link, "ab")), (Joint("j", Prismatic(), "a", "b", limits=limits),))
    assert limits.lower <= model.random_state(rng).joints[0] <= limits.upper


def test_the_same_generator_gives_the_same_state():
    a, b = (ARM.random_state(np.random.default_rng(7)) for _ in range(2))
    same(a, b, 0.0)


@pytest.mark.parametrize("base", BASES, ids=name)
@given(rng=generators())
def test_a_random_flat_configuration_is_that_of_a_random_state(base, rng):
    model, seed = random_tree(rng, 6, base=base), int(rng.integers(1 << 32))
    state = model.random_state(np.random.default_rng(seed))
    one = model.unflatten(model.random(np.random.default_rng(seed)))
    close(one.pose, state.pose, 1e-15)
    close(one.joints, state.joints, 1e-15)


@pytest.mark.parametrize("batch", [(), (0,), (5,), (2, 3), (4, 0, 2)])
def test_batches_of_random_configurations_have_their_shape(batch):
    rng = np.random.default_rng(1)
    for model in (ARM, robots.cat(), random_tree(rng, 8), Model("one", SE3(), (Link("a"),))):
        assert model.random(rng, *batch).shape == (*batch, model.nq)


@pytest.mark.parametrize("base", BASES, ids=name)
def test_batches_of_random_configurations_follow_the_law_of_random_states(base):
    rng = np.random.default_rng(8)
    model = random_tree(rng, 12, base=base)
    many = model.random(rng, 2000)
    one_by_one = np.array([model.random(rng) for _ in range(2000)])
    assert all(kstest(a, b).pvalue > 1e-5 for a, b in zip(many.T, one_by_one.T, strict=True))
    for joint, place in zip(model.joints, model.q_slices, strict=True):
        q = many[:, model.base.nq :][:, place]
        if joint.kind.nq == 1:
            assert ((joint.limits.lower <= q) & (q <= joint.limits.upper)).all()
    q, _ = model.flatten(model.unflatten(many[0]))
    close(model.difference(many[0], q), 0.0)  # quaternions have length 1


# JAX --------------------------------------------------------------------------------------------------------------


def height(model: Model, state: State):
    """A number that depends on all of a configuration, and its rate."""
    tip = link_poses(model, state)[model.link_names[-1]]
    return tip[2, 3] + 0.5 * state.velocity @ state.velocity


def test_a_state_is_a_pytree():
    model = random_tree(np.random.default_rng(3), 5)
    state = model.random_state(np.random.default_rng(4))
    leaves, structure = jax.tree_util.tree_flatten(state)
    assert len(leaves) == 4
    same(jax.tree_util.tree_unflatten(structure, leaves), state, 0.0)
    assert isinstance(jax.tree_util.tree_map(lambda x: 2.0 * x, state), State)


def test_jit_vmap_and_grad_through_a_state():
    model = random_tree(np.random.default_rng(3), 5)
    rng = np.random.default_rng(5)
    states = [model.random_state(rng) for _ in range(4)]
    with jax.enable_x64(True):
        f = jax.jit(height, static_argnums=0)
        expected = [height(model, s) for s in states]
        close([f(model, jax.tree_util.tree_map(jnp.asarray, s)) for s in states], expected)
        batch = jax.tree_util.tree_map(lambda *x: jnp.stack(x), *states)
        close(jax.jit(jax.vmap(lambda s: height(model, s)))(batch), expected)
        gradient = jax.jit(jax.grad(lambda s: height(model, s)))(jax.tree_util.tree_map(jnp.asarray, states[0]))
    assert isinstance(gradient, State)
    close(gradient.twist, states[0].twist)
    for i in range(len(states[0].joints)):
        joints = states[0].joints.astype(complex)
        joints[i] += 1e-30j
        step = height(model, states[0]._replace(joints=joints)).imag / 1e-30
        close(gradient.joints[i], step)


def test_states_are_made_and_flattened_under_jit():
    model = random_tree(np.random.default_rng(3), 5)
    state = model.random_state(np.random.default_rng(6))
    q, v = model.flatten(state)

    @jax.jit
    def there_and_back(q, v):
        return model.flatten(model.unflatten(q, v))

    with jax.enable_x64(True):
        q2, v2 = there_and_back(jnp.asarray(q), jnp.asarray(v))
        joints = jax.jit(lambda angle: ARM.state(joints={"elbow": angle}).joints)(0.3)
    same(model.unflatten(np.asarray(q2), np.asarray(v2)), state)
    close(joints, [0, 0, 0, 1, 0.3, 0])
