"""Steps that are taken again and again in machine code."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import robots
from fallingcat.arrays import array
from fallingcat.compiler.compilation import compile_step
from fallingcat.compiler.cpu import machine_code
from fallingcat.compiler.cpu import numpy_backend as plain
from fallingcat.compiler.ir import trace as trace_module

CAT = robots.two_cylinder_cat()


def turn(model, x, dt, scale):
    """A symplectic step of an oscillator, and its energy."""
    v = x[1] - dt[0] * scale[0] * x[0]
    q = x[0] + dt[0] * v
    return array([q, v, 0.5 * (scale[0] * q * q + v * v)])


INPUTS = {"x": 2, "dt": 1, "scale": 1}
DT, SCALE = np.array([0.1]), np.array([3.0])


def by_hand(x, count):
    rows = []
    for _ in range(count):
        v = x[..., 1] - 0.1 * 3.0 * x[..., 0]
        q = x[..., 0] + 0.1 * v
        x = np.stack([q, v, 0.5 * (3.0 * q * q + v * v)], axis=-1)
        rows.append(x)
    return np.array(rows)


@pytest.mark.parametrize("every", [1, 2, 7])
@pytest.mark.parametrize("shape", [(), (1,), (8,), (21,)])
def test_rows(shape, every):
    x = np.random.default_rng(1).normal(size=(*shape, 2))
    kernel = compile_step(CAT, turn, INPUTS)
    found = kernel.iterate(x, DT, SCALE, rows=5, every=every)
    assert found.shape == (5, *shape, 3)
    np.testing.assert_allclose(found, by_hand(x, 5 * every)[every - 1 :: every], atol=1e-13)
    np.testing.assert_array_equal(found, kernel.iterate(x, DT, SCALE, rows=5, every=every, threads=3))


def test_the_bits_of_single_calls():
    x = np.random.default_rng(1).normal(size=(3, 2))
    called, iterated = fc.compile(CAT, turn, inputs=INPUTS), compile_step(CAT, turn, INPUTS)
    row = x[1]
    for k in range(4):
        out = called(row, DT, SCALE)
        np.testing.assert_array_equal(iterated.iterate(x[1], DT, SCALE, rows=4)[k], out)
        np.testing.assert_array_equal(iterated.iterate(x, DT, SCALE, rows=4)[k, 1], out)
        row = out[:2]
    np.testing.assert_allclose(iterated(x[1], DT, SCALE), iterated.iterate(x[1], DT, SCALE, rows=1)[0], atol=0.0)


def test_without_machine_code(monkeypatch):
    monkeypatch.setattr(plain, "reason", lambda: "no LLVM here")
    plain.tell.cache_clear()
    with pytest.warns(RuntimeWarning, match="plain NumPy"):
        kernel = compile_step(CAT, turn, INPUTS)
    x = np.random.default_rng(1).normal(size=(4, 2))
    np.testing.assert_allclose(kernel.iterate(x, DT, SCALE, rows=3, every=2), by_hand(x, 6)[1::2], atol=1e-13)
    np.testing.assert_allclose(kernel.iterate(x[0], DT, SCALE, rows=3), by_hand(x[0], 3), atol=1e-13)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("often", [0, 3])
def test_a_stepper_starts_from_what_its_arrays_hold(monkeypatch, native, often):
    """With quick code at first, and good code from the third step on."""
    monkeypatch.setattr(machine_code, "QUICK_CODE_OPERATIONS", 1)
    monkeypatch.setattr(machine_code, "QUICK_CODE_PASSES", often)
    if not native:
        monkeypatch.setattr(plain, "reason", lambda: "for this test")
        monkeypatch.setattr(plain, "tell", lambda why: None)
    x = np.array([0.3, -0.4])
    go, out = compile_step(CAT, turn, INPUTS).stepper(x, DT, SCALE)
    for row in by_hand(x.copy(), 5):
        go()
        np.testing.assert_allclose(out, row, atol=1e-13)
        x[:] = out[:2]
    kernel = compile_step(CAT, turn, INPUTS)
    for wrong, words in (([1.0, 0.0], "x is no contiguous float64"), (np.zeros((3, 2)), "x is that of one state")):
        with pytest.raises(fc.ModelError, match=words):
            kernel.stepper(wrong, DT, SCALE)


def test_no_states_at_all():
    one = compile_step(CAT, turn, INPUTS).iterate(np.zeros(2), DT, SCALE, rows=3)
    assert compile_step(CAT, turn, INPUTS).iterate(np.zeros((0, 2)), DT, SCALE, rows=3).shape == (3, 0, one.shape[1])


def test_too_large_for_machine_code(monkeypatch, tmp_path):
    monkeypatch.setattr(trace_module, "MAX_OPERATIONS", 1)
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    with pytest.warns(RuntimeWarning, match="turn of .* has more than 1 operations"):
        kernel = compile_step(CAT, turn, INPUTS)
    x = np.random.default_rng(1).normal(size=(4, 2))
    np.testing.assert_allclose(kernel.iterate(x, DT, SCALE, rows=3, every=2), by_hand(x, 6)[1::2], atol=1e-13)


def test_refusals():
    kernel = compile_step(CAT, turn, INPUTS)
    with pytest.raises(fc.ModelError, match="takes 3 arguments"):
        kernel.iterate(np.zeros(2), DT, rows=1)
    with pytest.raises(fc.ModelError, match="whole numbers above zero"):
        kernel.iterate(np.zeros(2), DT, SCALE, rows=0)
    with pytest.raises(fc.ModelError, match="threads is a whole number above zero, not 0"):
        kernel.iterate(np.zeros(2), DT, SCALE, rows=1, threads=0)
    with pytest.raises(fc.ModelError, match="is no step"):
        kernel.iterate(np.zeros((2, 2, 2)), DT, SCALE, rows=1)
    short = compile_step(CAT, lambda model, x: x[:1], {"x": 2})
    with pytest.raises(fc.ModelError, match="is no step"):
        short.iterate(np.zeros(2), rows=1)
