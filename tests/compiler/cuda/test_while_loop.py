"""What is repeated until it has arrived, as CUDA text run on the CPU: see ``support/emulated_gpu.py``."""

import shutil
import sys

import numpy as np
import pytest
from support.emulated_gpu import emulated

import fallingcat as fc
from fallingcat.arrays import array, columns, concatenate, scale, sqrt, while_loop
from fallingcat.compiler import compile
from fallingcat.compiler.cuda import column_loops as repeated

pytestmark = pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")

MODEL = fc.robots.cat()


@pytest.fixture(autouse=True)
def cupy(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", emulated(tmp_path))


def root(model, x, near):
    """Square roots of two numbers by Newton's method, rounds with them, and a number that none of them changes."""

    def nearer(z):
        y = 0.5 * (z[:2] + x / z[:2])
        error = y * y - x
        return concatenate([y, array([z[2] + 1.0, z[3], 7.0])]), near[0] - sqrt(error @ error)

    return while_loop(nearer, concatenate([x, array([0.0, 3.0, 0.0])]), 9)


def both(function, inputs, given, dtype="float64"):
    """What a function gives on the CPU and on the GPU."""
    return [compile(MODEL, function, inputs=inputs, target=target, dtype=dtype)(*given) for target in ("cpu", "cuda")]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_each_state_takes_its_own_rounds(dtype):
    """Some arrive at once, one never: the CPU's numbers, to the last bit."""
    x = np.linspace(0.1, 40.0, 140).reshape(70, 2)
    near = np.where(np.arange(70) % 7, 1e-3, 10.0)[:, None]
    near[3] = -1.0
    one, other = both(root, {"x": 2, "near": 1}, [x.astype(dtype), near.astype(dtype)], dtype)
    np.testing.assert_array_equal(other, one)
    assert {1.0, 9.0} < {*one[:, 2].tolist()}
    np.testing.assert_array_equal(one[:, 3:], np.tile([3.0, 7.0], (70, 1)))


def test_rounds_end_where_a_first_step_suffices():
    """A step that yields: the first that has arrived, on the GPU as on the CPU."""

    def rough_first(model, x):
        def nearer(z):
            y = 0.5 * (z[:1] + x / z[:1])
            yield concatenate([y, z[1:] + 1.0]), 1e-6 - (y * y - x)[0]
            y = 0.5 * (y + x / y)
            yield concatenate([y, z[1:] + 10.0]), 1e-1 - (y * y - x)[0]

        return while_loop(nearer, concatenate([x, np.zeros(1)]), 9)

    one, other = both(rough_first, {"x": 1}, [np.linspace(1.0, 900.0, 40)[:, None]])
    np.testing.assert_array_equal(other, one)
    assert {*(one[:, 1] % 10.0).tolist()} == {0.0, 1.0}  # by the second, by the first


def test_rounds_stand_between_other_loops(monkeypatch):
    """They read what a loop made, and are read by another and, negative, by the result."""
    monkeypatch.setattr(repeated, "MAX_STAGE_INSTRUCTIONS", 1)

    def between(model, x, y):
        product = columns(lambda column: y @ column, x)
        size = root(model, array([2.0 + product[0, 0] ** 2, 3.0 + product[1, 1] ** 2]), array([1e-9]))
        again = columns(lambda column: scale(size[0], y @ column), x + product)
        return -size, again, product

    rng = np.random.default_rng(0)
    given = rng.normal(size=(5, 3, 4)), rng.normal(size=(5, 3, 3))
    one, other = both(between, {"x": (3, 4), "y": (3, 3)}, given)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13, atol=1e-14)  # sums of numbers of size 1 that cancel
