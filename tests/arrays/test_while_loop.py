"""What is repeated until it has arrived: the same on numbers, in machine code, in blocks, and without LLVM."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import absolute, array, concatenate, less, sin, where, while_loop
from fallingcat.compiler.cpu import numpy_backend as plain
from fallingcat.errors import ModelError

ARM = fc.robots.planar_arm()


def roots(model, x, a):
    """Heron's method for the root of ``2 + |sin a|^2`` from ``x[0]``; ``x[1]`` counts, one number is handed on."""
    wanted, halves = 2.0 + sum(sin(y) * sin(y) for y in a), 0.5 * a[0]

    def step(z):
        root = 0.5 * (z[0] + wanted / z[0])
        root = where(less(root, z[0]), root, root + 0.0 * z[1])
        fault = root * root - wanted
        return concatenate([array([root, z[1] + 1.0]), array([halves, 3.0])]), 1e-20 - fault * fault

    found = while_loop(step, concatenate([x, np.zeros(2)]), 50)
    return concatenate([found, array([found[0] * x[0]]), x])


@pytest.fixture(scope="module")
def given():
    rng = np.random.default_rng(0)
    return rng.uniform(0.1, 50.0, size=(19, 2)), rng.normal(size=(19, 5))


@pytest.fixture(scope="module")
def expected(given):
    return np.array([roots(ARM, x, a) for x, a in zip(*given, strict=True)])


def test_machine_code_repeats_as_python_does(given, expected):
    """Some arrive after 4 rounds and some after 9, whoever their neighbours in a block are."""
    kernel = fc.compile(ARM, roots, inputs={"x": 2, "a": 5})
    together, alone = kernel(*given), np.array([kernel(x, a) for x, a in zip(*given, strict=True)])
    assert len(set(expected[:, 1] - given[0][:, 1])) > 3
    assert np.array_equal(together, alone)
    assert np.abs(together - expected).max() < 1e-13
    assert np.abs(expected[:, 0] ** 2 - 2.0 - (np.sin(given[1]) ** 2).sum(axis=1)).max() < 1e-9


def test_without_machine_code_too(given, expected, monkeypatch):
    monkeypatch.setattr(plain, "reason", lambda: "a test")
    with pytest.warns(RuntimeWarning, match="a test"):
        kernel = fc.compile(ARM, roots, inputs={"x": 2, "a": 5})
    assert np.abs(kernel(*given) - expected).max() < 1e-13


def test_it_ends_after_so_many_rounds():
    def never(model, x):
        return while_loop(lambda z: (z + 1.0, -1.0 + 0.0 * z[0]), x, 7)

    assert fc.compile(ARM, never, inputs={"x": 3})(np.zeros(3)).tolist() == [7.0] * 3
    assert never(ARM, np.zeros(3)).tolist() == [7.0] * 3


@pytest.mark.parametrize("target", ["c", "casadi"])
def test_other_targets_say_that_they_cannot(target):
    with pytest.raises(ModelError, match="runs on this processor or a GPU alone"):
        fc.compile(ARM, roots, inputs={"x": 2, "a": 5}, target=target)


def halved(model, x, a):
    """``x / 2`` until it is small, and how often; a step says first whether it is small already."""

    def step(z):
        yield z, 1e-3 - absolute(z[0])
        yield array([0.5 * z[0], z[1] + a[0]]), -1.0

    return while_loop(step, concatenate([x[:1], np.zeros(1)]), 12)


def test_few_rounds_are_written_out_for_other_targets():
    """And are what the loop is, round by round, for each of some starts."""
    casadi = pytest.importorskip("casadi")
    made = fc.compile(ARM, halved, inputs={"x": 1, "a": 1}, target="casadi")
    assert isinstance(made, casadi.Function)
    for start in (0.0, 1e-4, 0.3, 3.9, 100.0):
        expected = halved(ARM, np.array([start]), np.ones(1))
        assert np.array(made(start, 1.0)).ravel().tolist() == expected.tolist()
    assert expected[1] == 12.0


def searched(model, x, a):
    """The root of ``2 + |a|^2`` that is nearest: as it is, by one of Newton's steps, or by halves; counted apart."""
    wanted = 2.0 + a @ a

    def left(root):
        return absolute(root * root - wanted)

    def step(z):
        root, seen, leapt, halved = z
        yield array([root, seen + 1.0, leapt, halved]), 1e-9 - left(root)
        better = 0.5 * (root + wanted / root)
        yield array([better, seen, leapt + 1.0, halved]), 1e-9 - left(better)
        half = 0.5 * root
        yield array([where(less(left(better), left(half)), better, half), seen, leapt, halved + 1.0]), -1.0

    return while_loop(step, concatenate([x[:1], np.zeros(3)]), 60)


def test_a_round_ends_where_it_has_arrived(given):
    """Whoever the neighbours are: some need nothing, some one step, some many rounds."""
    x, a = given[0].copy(), given[1]
    x[:5, 0] = np.sqrt(2.0 + (a[:5] ** 2).sum(axis=1))
    x[5:9, 0] = np.sqrt(2.0 + (a[5:9] ** 2).sum(axis=1)) * (1.0 + 1e-6)
    expected = np.array([searched(ARM, *row) for row in zip(x, a, strict=True)])
    assert expected[:5, 1:].tolist() == [[1.0, 0.0, 0.0]] * 5
    assert expected[5:9, 1:].tolist() == [[0.0, 1.0, 0.0]] * 4
    assert len(set(expected[9:, 3])) > 2
    kernel = fc.compile(ARM, searched, inputs={"x": 2, "a": 5})
    together, alone = kernel(x, a), np.array([kernel(*row) for row in zip(x, a, strict=True)])
    assert np.array_equal(together, alone)
    assert np.array_equal(together[:, 1:], expected[:, 1:])
    assert np.abs(together - expected).max() < 1e-13
