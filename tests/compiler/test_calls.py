"""How kernels may be called: in order or by name, into arrays of the caller; and what they say of themselves."""

import inspect
import pydoc

import numpy as np
import pytest

import fallingcat as fc

ARM = fc.robots.planar_arm()
PENDULUM = fc.Model("pendulum", fc.lie.Trivial(), ARM.links[:2], ARM.joints[:1])  # its velocity does not matter
CAT = fc.robots.two_cylinder_cat()


@pytest.fixture(scope="module", params=[ARM, PENDULUM, CAT], ids=lambda model: model.name)
def call(request):
    model, rng = request.param, np.random.default_rng(0)
    q, v = model.flatten(model.random_state(rng))
    return fc.compile(model, fc.inverse_dynamics), q, v, rng.normal(size=model.nv)


def test_by_name_is_in_order(call):
    k, q, v, a = call
    expected = k(q, v, a)
    for found in (k(q, v, acceleration=a), k(q, acceleration=a, v=v), k(v=v, acceleration=a, q=q)):
        np.testing.assert_array_equal(found, expected)
    many = k(q=np.tile(q, (5, 1)), v=v, acceleration=a, threads=2)
    np.testing.assert_array_equal(many, np.tile(expected, (5, 1)))


@pytest.mark.parametrize(
    "names", [{"acceleration"}, {"q", "v", "acceleration", "speed"}, {"q", "acc"}, {"q", "v", "acceleration", "a"}]
)
def test_wrong_names_are_reported(call, names):
    k, *_ = call
    with pytest.raises(fc.ModelError, match=r"inverse_dynamics takes q, .*acceleration, each once; given are "):
        k(**dict.fromkeys(names, np.zeros(3)))


def test_given_twice(call):
    k, q, v, a = call
    with pytest.raises(fc.ModelError, match="each once"):
        k(q, v, a, acceleration=a)


def test_results_go_where_the_caller_says(call):
    k, q, v, a = call
    out = np.full((3, len(a)), np.nan)
    assert k(np.tile(q, (3, 1)), v, a, out=out) is out
    np.testing.assert_array_equal(out, np.tile(k(q, v, a), (3, 1)))
    one = np.empty(len(a))
    assert k(q, v, a, out=one) is one
    number = np.empty(())
    energy = fc.compile(k.model, fc.kinetic_energy)
    assert energy(q, v, out=number) is number
    assert number == energy(q, v)


def test_room_that_does_not_do_is_refused(call):
    k, q, v, a = call
    n = len(a)
    rest = np.empty(n)
    rest.flags.writeable = False
    for out in (
        np.empty(n + 1),
        np.empty(n, dtype=np.float32),
        [0.0] * n,
        rest,
        *([np.empty(2 * n)[::2]] if n > 1 else []),
    ):
        with pytest.raises(fc.ModelError, match="out is a contiguous float64 array of shape"):
            k(q, v, a, out=out)
    with pytest.raises(fc.ModelError, match=rf"not an array of shape \({n},\) of float32"):
        k(q, v, a, out=np.empty(n, dtype=np.float32))
    with pytest.raises(fc.ModelError, match="out shares memory with an argument"):
        k(q, v, a, out=a)
    with pytest.raises(fc.ModelError, match="gives a record"):
        fc.compile(ARM, fc.equations)(np.zeros(3), np.zeros(3), out=np.empty(3))


def test_help_says_arguments_shapes_and_units():
    k = fc.compile(CAT, fc.inverse_dynamics)
    assert str(inspect.signature(k)) == "(q, v, acceleration, *, threads=1, out=None)"
    said = pydoc.render_doc(k, renderer=pydoc.plaintext)
    assert "acceleration  (..., 8)  of the quasi-velocity: base, then joints (m/s^2, rad/s^2)" in said
    assert "result        (..., 8)" in said
    assert fc.inverse_dynamics.__doc__.splitlines()[0][:20] in said


# a velocity that does not matter, and states ----------------------------------------------------------------------


def reached(model, state, offset):
    """A function of the configuration and of one argument more."""
    return fc.center_of_mass(model, state) + offset


@pytest.mark.parametrize("model", [ARM, CAT], ids=lambda model: model.name)
def test_a_velocity_that_does_not_matter_may_be_anything(model):
    q, v = model.flatten(model.random_state(np.random.default_rng(1)))
    offset = np.arange(3.0)
    mass, point = fc.compile(model, fc.mass_matrix), fc.compile(model, reached, inputs={"offset": 3})
    for anything in (v, v[:0], np.full(model.nv, np.nan), v.tolist(), None, "v"):
        np.testing.assert_array_equal(mass(q, anything), mass(q))
        np.testing.assert_array_equal(point(q, anything, offset), point(q, offset))
    np.testing.assert_array_equal(point(q, v, offset.tolist()), point(q, offset))


@pytest.mark.parametrize("model", [ARM, CAT], ids=lambda model: model.name)
def test_arguments_beside_a_velocity_that_does_not_matter_are_checked(model):
    q, v = model.flatten(model.random_state(np.random.default_rng(1)))
    mass, point = fc.compile(model, fc.mass_matrix), fc.compile(model, reached, inputs={"offset": 3})
    for wrong, message in (
        (lambda: mass(q[1:], v), "q must have shape"),
        (lambda: mass(q.astype(complex), v), "q holds complex128"),
        (lambda: mass(q, v, v), "takes 1 arguments"),
        (lambda: mass(), "takes 1 arguments"),
        (lambda: point(q), "takes 2 arguments"),
        (lambda: point(q, v, np.zeros(4)), "offset must have shape"),
        (lambda: point(q, v, np.zeros(3), v), "takes 2 arguments"),
    ):
        with pytest.raises(fc.ModelError, match=message):
            wrong()
    assert np.isnan(mass(np.full(model.nq, np.nan), v)).any()


@pytest.mark.parametrize("model", [ARM, PENDULUM, CAT, fc.robots.cat(), fc.robots.prismatic_hopper()], ids=str)
@pytest.mark.parametrize("function", [fc.mass_matrix, fc.coriolis_matrix, fc.kinetic_energy])
def test_a_state_gives_the_bits_of_a_batch_of_states(model, function):
    states = model.random_state(np.random.default_rng(2), 9)
    k = fc.compile(model, function)
    many = k(states)
    for i in range(9):
        state = states.at(i)
        np.testing.assert_array_equal(k(state), many[i])
        np.testing.assert_allclose(k(state), k(*model.flatten(state)), rtol=1e-13, atol=1e-14)
        np.testing.assert_array_equal(k(state._replace(joints=state.joints.tolist())), many[i])
        np.testing.assert_array_equal(k(fc.State(*map(np.asfortranarray, state))), many[i])


def test_a_state_of_another_robot_is_refused():
    state = CAT.random_state(np.random.default_rng(0))
    k = fc.compile(CAT, fc.inverse_dynamics)
    a = np.zeros(CAT.nv)
    np.testing.assert_array_equal(k(state, a), k(state, acceleration=a))
    for wrong, message in (
        (lambda: k(ARM.neutral(), a), "joints must have shape"),
        (lambda: k(state._replace(pose=np.eye(3)), a), "pose must have shape"),
        (lambda: k(state._replace(twist=None), a), "twist must have shape"),
        (lambda: k(state._replace(rates=state.rates.astype(complex)), a), "rates holds complex128"),
        (lambda: k(state), "takes 3 arguments"),
        (lambda: k(state, state.velocity, a), "takes 3 arguments"),
    ):
        with pytest.raises(fc.ModelError, match=message):
            wrong()


def test_fields_of_a_state_need_no_quaternion():
    state = CAT.random_state(np.random.default_rng(0))
    k = fc.compile(CAT, fc.mass_matrix, state=["joints"])
    np.testing.assert_array_equal(k(state), k(state.joints))
    whole = fc.compile(CAT, fc.forward_dynamics, state=fc.State._fields)
    forces = np.arange(CAT.nv) / 7.0
    np.testing.assert_array_equal(whole(state, forces), whole(state.pose[:3], *state[1:], forces))
