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
def test_wrong_names_are_told(call, names):
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
