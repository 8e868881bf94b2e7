"""Steps that are repeated in machine code until each state is done."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import concatenate, less, stack, where
from fallingcat.compiler.cpu import numpy_backend as plain
from fallingcat.errors import ModelError


def root(model, x, a):
    """Newton's step to the root of ``a``, and a count: ``[x; count; flag]``."""
    done = less(abs_(x[0] * x[0] - a), 1e-12 * (1.0 + a))
    moved = where(done, x[0], 0.5 * (x[0] + a / x[0]))
    return concatenate([stack([moved, x[1] + where(done, 0.0, 1.0)]), stack([where(done, 1.0, 0.0)])])


def abs_(x):
    return where(less(x, 0.0), -x, x)


@pytest.fixture(scope="module")
def kernel():
    return fc.compile(fc.robots.planar_arm(), root, inputs={"x": 2, "a": ()})


def by_hand(kernel, x, a, most):
    for _ in range(most):
        out = kernel(x, a)
        x = out[:2]
        if out[2] > 0.0:
            break
    return out


def test_one_stops_when_it_is_done(kernel):
    out = kernel.until(np.array([1.0, 0.0]), 2.0, most=100)
    assert out[0] == pytest.approx(np.sqrt(2.0), rel=1e-12)
    assert out[2] == 1.0
    np.testing.assert_array_equal(out, by_hand(kernel, np.array([1.0, 0.0]), 2.0, 100))
    assert kernel.until(np.array([1.0, 0.0]), 2.0, most=2)[1:].tolist() == [2.0, 0.0]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
def test_each_of_many_stops_by_itself(kernel, count):
    a = np.geomspace(1e-3, 1e6, max(count, 1))[:count]
    x = np.stack([np.ones(count), np.zeros(count)], axis=1)
    out = kernel.until(x, a, most=200, threads=2)
    assert out.shape == (count, 3)
    for row, number in zip(out, a, strict=True):
        np.testing.assert_allclose(row, by_hand(kernel, np.array([1.0, 0.0]), number, 200), rtol=1e-15)


def counted(model, x, a):
    """One more, and whether that is enough: what is done goes on if it is asked again."""
    return concatenate([x + 1.0, stack([where(less(x[0] + 1.0, a), 0.0, 1.0)])])


@pytest.mark.parametrize("native", [True, False])
def test_what_is_done_is_not_asked_again(monkeypatch, native):
    """Each lane goes its own way: it takes the next state when its own is done, and none waits for others."""
    if not native:
        monkeypatch.setattr(plain, "reason", lambda: "for this test")
        monkeypatch.setattr(plain, "tell", lambda why: None)
    count = fc.compile(fc.robots.planar_arm(), counted, inputs={"x": 1, "a": ()})
    a = np.random.default_rng(0).integers(1, 60, 53).astype(float)
    out = count.until(np.zeros((53, 1)), a, most=40)
    np.testing.assert_array_equal(out[:, 0], np.minimum(a, 40.0))
    np.testing.assert_array_equal(out[:, 1], a <= 40.0)


def test_a_repeater_starts_from_what_its_arrays_hold(kernel):
    x, a = np.array([1.0, 0.0]), np.array(2.0)
    go, out = kernel.repeater(x, a, most=100)
    for number in (2.0, 9.0):
        x[:], a[()] = [1.0, 0.0], number
        go()
        np.testing.assert_array_equal(out, kernel.until(np.array([1.0, 0.0]), number, most=100))
    with pytest.raises(ModelError, match="contiguous float64"):
        kernel.repeater([1.0, 0.0], a, most=1)
    with pytest.raises(ModelError, match="one state"):
        kernel.repeater(np.ones((3, 2)), np.ones(3), most=1)


def halved(model, state):
    return concatenate([0.5 * state.joints, stack([where(less(state.joints[0], 1e-3), 1.0, 0.0)])])


def test_a_repeater_leaves_out_what_does_not_matter():
    """The velocity, here: its address was once taken for that of the result."""
    kernel = fc.compile(fc.robots.planar_arm(), halved)
    q, v = np.ones(3), np.full(3, 7.0)
    go, out = kernel.repeater(q, v, most=100)
    go()
    np.testing.assert_array_equal(out, kernel.until(q, v, most=100))
    assert v.tolist() == [7.0, 7.0, 7.0]


def test_without_machine_code_it_is_the_same(kernel, monkeypatch):
    x, a = np.ones((5, 2)), np.arange(1.0, 6.0)
    want = kernel.until(x, a, most=50)
    monkeypatch.setattr(plain, "reason", lambda: "for this test")
    plain.tell.cache_clear()
    with pytest.warns(RuntimeWarning, match="for this test"):
        slow = fc.compile(fc.robots.planar_arm(), root, inputs={"x": 2, "a": ()})
    np.testing.assert_allclose(slow.until(x, a, most=50), want, rtol=1e-14)


def test_one_state_without_machine_code_reads_before_it_writes(monkeypatch):
    def swap(model, x):
        return stack([x[1], x[0], where(less(x[0], 0.0), 1.0, 0.0)])

    want = fc.compile(fc.robots.planar_arm(), swap, inputs={"x": 2}).until(np.array([1.0, 2.0]), most=3)
    monkeypatch.setattr(plain, "reason", lambda: "for this test")
    plain.tell.cache_clear()
    with pytest.warns(RuntimeWarning, match="for this test"):
        slow = fc.compile(fc.robots.planar_arm(), swap, inputs={"x": 2})
    assert slow.until(np.array([1.0, 2.0]), most=3).tolist() == want.tolist() == [2.0, 1.0, 0.0]
    x = np.array([1.0, 2.0])
    go, out = slow.repeater(x, most=2)
    x[:] = 3.0, 4.0
    go()
    assert out.tolist() == [3.0, 4.0, 0.0]


def test_what_cannot_be_repeated_is_refused(kernel):
    with pytest.raises(ModelError, match="most is a whole number"):
        kernel.until(np.ones(2), 1.0, most=0)
    with pytest.raises(ModelError, match="threads is a whole number above zero, not 0"):
        kernel.until(np.ones(2), 1.0, most=1, threads=0)
    still = fc.compile(fc.robots.planar_arm(), lambda model, x: x, inputs={"x": 2})
    with pytest.raises(ModelError, match="cannot be repeated"):
        still.until(np.ones(2), most=3)
