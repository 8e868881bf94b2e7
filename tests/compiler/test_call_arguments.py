"""What a call gives is what a function takes: fields of a state, or no state, and inputs of any shape."""

import copy
from itertools import combinations

import numpy as np
import pytest
from random_robots import BASES, Robot, build

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.model import State, robots

FIELDS = [list(x) for k in range(5) for x in combinations(State._fields, k)]
MODELS = {
    "cat": robots.cat(),
    "hopper": robots.revolute_hopper(),
    "arm": robots.planar_arm(),
    "tree": robots.random_tree(np.random.default_rng(3), 5),
}


def given(state, fields):
    return [state.pose[:3] if name == "pose" else getattr(state, name) for name in fields]


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * max(1.0, np.abs(expected).max(initial=0.0)))


# fields of the state ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", FIELDS, ids="-".join)
@pytest.mark.parametrize("name", ["hopper", "tree"])
def test_fields_that_are_left_out_are_neutral(name, fields):
    model = MODELS[name]
    states = [model.random_state(np.random.default_rng(i)) for i in range(3)]
    kernel = fc.compile(model, fc.inverse_dynamics, state=fields)
    assert [a.name for a in kernel.signature] == [*fields, "acceleration"]
    acceleration = np.linspace(-1.0, 1.0, model.nv)
    part = [model.neutral()._replace(**{field: getattr(s, field) for field in fields}) for s in states]
    expected = np.array([fc.inverse_dynamics(model, s, acceleration) for s in part])
    close([kernel(*given(s, fields), acceleration) for s in states], expected)
    batch = [np.array(x) for x in zip(*(given(s, fields) for s in states), strict=True)]
    close(kernel(*batch, np.tile(acceleration, (3, 1))), expected)


def test_a_state_by_its_fields_is_the_state_by_its_coordinates():
    model = MODELS["tree"]
    state = model.random_state(np.random.default_rng(0))
    for function in (fc.mass_matrix, fc.reduced_equations, fc.curvature):
        found = fc.compile(model, function, state=State._fields)(*given(state, State._fields))
        expected = fc.compile(model, function)(*model.flatten(state))
        records = [x if isinstance(x, tuple) else (x,) for x in (found, expected)]
        for one, other in zip(*records, strict=True):
            if isinstance(one, np.ndarray):
                close(one, other)


def test_fields_are_kept_in_order_and_broadcast():
    """Nothing that was asked for is dropped, even where it does not matter: a call says what the caller said."""
    model, rng = MODELS["cat"], np.random.default_rng(0)
    kernel = fc.compile(model, fc.connection, state=["rates", "joints", "pose"])
    assert [str(a) for a in kernel.signature] == ["rates(10)", "joints(10)", "pose(3, 4)"]
    joints = rng.normal(size=(4, 1, model.n))
    out = kernel(np.zeros(model.n), joints, np.tile(np.eye(4)[:3], (2, 1, 1)))
    assert out.shape == (4, 2, model.m, model.n)
    close(out[3, 1], fc.connection(model, model.state(joints=joints[3, 0])))


@pytest.mark.parametrize("bad", [np.eye(4), np.eye(4)[:3].ravel(), np.zeros((4, 3)), np.zeros(()), np.zeros((3, 4, 1))])
def test_a_pose_is_three_rows(bad):
    kernel = fc.compile(MODELS["cat"], fc.potential_energy, state=["pose"])
    with pytest.raises(fc.ModelError, match=r"pose must have shape \(\.\.\., 3, 4\), got"):
        kernel(bad)


# inputs of any shape --------------------------------------------------------------------------------------------------


def bent(model, frame, t, nothing, weights):
    """No state: a matrix, one number, nothing, a vector."""
    return {"turned": frame @ weights[:3] * t, "mass": model.mass * t, "rest": concatenate([nothing[:, 0], weights])}


INPUTS = {"frame": (3, 3), "t": (), "nothing": (0, 2), "weights": 5}


def arrays(lead=(), dtype=float):
    rng = np.random.default_rng(len(lead))
    shapes = [x if isinstance(x, tuple) else (x,) for x in INPUTS.values()]
    return [rng.normal(size=(*lead, *shape)).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lead", [(), (1,), (70,), (2, 3), (0,)])
def test_a_function_of_inputs_alone(lead, dtype):
    model, tolerance = MODELS["cat"], 1e-13 if dtype == "float64" else 1e-5
    kernel = fc.compile(model, bent, inputs=INPUTS, dtype=dtype)
    assert [a.shape for a in kernel.signature] == [(3, 3), (), (0, 2), (5,)]
    frame, t, nothing, weights = arrays(lead, dtype)
    found = kernel(frame, t, nothing, weights)
    expected = np.einsum("...ij,...j->...i", frame, weights[..., :3]) * t[..., None]
    np.testing.assert_allclose(found["turned"], expected, atol=tolerance)
    np.testing.assert_allclose(found["mass"], model.mass * t, rtol=tolerance * 10)
    np.testing.assert_array_equal(found["rest"], weights)


def test_whatever_holds_the_same_numbers_is_taken():
    kernel = fc.compile(MODELS["cat"], bent, inputs=INPUTS)
    frame, t, nothing, weights = arrays()
    expected = kernel(frame, t, nothing, weights)["turned"]
    for other in (frame.tolist(), np.asfortranarray(frame), np.repeat(frame, 2, axis=0)[::2]):
        for number in (t, float(t), np.float64(t)):
            np.testing.assert_array_equal(kernel(other, number, nothing, weights)["turned"], expected)
    batch = [np.stack([x] * 9) for x in (frame, t, nothing, weights)]
    np.testing.assert_array_equal(kernel(*batch, threads=2)["turned"], np.stack([expected] * 9))
    np.testing.assert_array_equal(kernel(frame, batch[1], nothing, weights)["turned"], np.stack([expected] * 9))


def test_one_too_many_is_never_left_out():
    """`k(q, v, ...)` may say a velocity that does not matter; no other argument may be too many."""
    kernel = fc.compile(MODELS["cat"], lambda model, q, w: q * w, inputs={"q": 3, "w": 3})
    with pytest.raises(fc.ModelError, match=r"takes 2 arguments \(q, w\), not 3"):
        kernel(np.ones(3), np.ones(3), np.ones(3))
    kernel = fc.compile(MODELS["cat"], fc.connection, state=["joints"])
    with pytest.raises(fc.ModelError, match=r"takes 1 arguments \(joints\), not 2"):
        kernel(np.ones(10), np.ones(10))


def with_q(model, state, q):
    return q * state.joints[0] + state.pose[:3, 3]


def with_v(model, state, v):
    return v * state.rates[0] + state.twist[:3]


def with_joints(model, state, joints):
    return joints * state.joints[0] + state.twist[:3]


@pytest.mark.parametrize("function", [with_q, with_v, with_joints])
@pytest.mark.parametrize("fields", [None, State._fields])
def test_an_argument_may_have_the_name_of_a_part_of_the_state(function, fields):
    """A `v` of yours is not the robot's."""
    model = MODELS["cat"]
    state, x = model.random_state(np.random.default_rng(0)), np.array([1.0, 2.0, 3.0])
    name = function.__name__.removeprefix("with_")
    kernel = fc.compile(model, function, inputs={name: 3}, state=fields)
    parts = model.flatten(state) if fields is None else given(state, fields)
    close(kernel(*parts, x), function(model, state, x))
    casadi = pytest.importorskip("casadi")
    found = fc.compile(model, function, inputs={name: 3}, state=fields, target="casadi")
    count = found.n_in() - 1
    close(found(*(casadi.DM(part) for part in (*parts[:count], x))).full()[:, 0], function(model, state, x))


def test_an_argument_may_be_left_at_its_default():
    def own(model, state, a=2.0, b=3.0, *, c=1.0):
        return a * state.joints + 10.0 * b + 100.0 * c

    model = MODELS["arm"]
    x = np.linspace(-1.0, 1.0, model.n)
    state = model.random_state(np.random.default_rng(0))
    for names in (["b"], ["c"], ["b", "c"], ["a", "c"]):
        kernel = fc.compile(model, own, inputs=dict.fromkeys(names, model.n))
        found = kernel(model.flatten(state)[0], *[x] * len(names))
        close(found, own(model, state, **dict.fromkeys(names, x)))


def test_copies_and_stored_kernels_take_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    model = MODELS["cat"]
    state = model.random_state(np.random.default_rng(0))
    made = [fc.compile(model, fc.potential_energy, state=["joints", "pose"]) for _ in range(2)]
    made.append(copy.deepcopy(made[0]))
    values = {(float(k(state.joints, state.pose[:3])), k.signature) for k in made}
    assert len(values) == 1
    other = fc.compile(model, fc.potential_energy, state=["pose", "joints"])  # another order is another kernel
    assert [a.name for a in other.signature] == ["pose", "joints"]
    assert float(other(state.pose[:3], state.joints)) == float(made[0](state.joints, state.pose[:3]))


def test_shapes_in_jax_and_casadi():
    casadi, jnp = pytest.importorskip("casadi"), pytest.importorskip("jax.numpy")
    model, (frame, t, nothing, weights) = MODELS["cat"], arrays()
    expected = bent(model, frame, t, nothing, weights)["turned"]
    traced = fc.compile(model, bent, inputs=INPUTS, target="jax")
    found = traced(*(jnp.asarray(np.stack([x, x])) for x in (frame, t, nothing, weights)))["turned"]
    np.testing.assert_allclose(found, np.stack([expected] * 2), rtol=1e-5, atol=1e-6)  # JAX may compute in float32
    function = fc.compile(model, bent, inputs=INPUTS, target="casadi")
    assert [function.size_in(k) for k in range(4)] == [(3, 3), (1, 1), (0, 2), (5, 1)]
    given = [casadi.DM(frame), float(t), casadi.DM(0, 2), casadi.DM(weights)]
    close(function(*given)[0].full()[:, 0], expected)


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_fields_of_every_base(base):
    model, state = build(Robot(base, 3, 1))
    kernel, forces = fc.compile(model, fc.forward_dynamics, state=State._fields), np.linspace(-1.0, 1.0, model.nv)
    expected = np.asarray(fc.forward_dynamics(model, state, forces))
    found = kernel(*given(state, State._fields), forces)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-11 * max(1.0, np.abs(expected).max()))
