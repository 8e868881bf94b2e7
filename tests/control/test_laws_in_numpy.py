"""Laws in plain NumPy: the code that one would write works as it does on floats, or the error says what to write."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import casadi
import numpy as np
import pytest
from scipy.special import expit

import fallingcat as fc
from fallingcat import arrays
from fallingcat.arrays import Graph, array, from_casadi, to_casadi, where
from fallingcat.arrays.numpy_protocol import Expressions, natural


def filled(t, q, v):
    tau = np.zeros_like(v)
    tau[0] = -q[0]
    tau[1:] = np.sin(t) * v[1:]
    tau += 0.1 * q
    return tau


def spans(t, q, v):
    inside = (q > -0.2) & (q < 0.25) | ~(v >= 0.0)
    return np.where(np.logical_and(inside, np.logical_not(t > 0.5)), q, -v)


WORKS: dict[str, Callable] = {
    "elementary": lambda t, q, v: np.sin(q) * np.cos(t) + np.exp(-q * q) + np.tanh(3.0 * v) + np.log(2.0 + q * q),
    "roots and angles": lambda t, q, v: np.sqrt(1.0 + v * v) + np.arctan2(q, 1.0 + v * v) + np.tan(q) + np.arctan(v),
    "inverses": lambda t, q, v: np.arcsin(np.tanh(q)) + np.arccos(np.tanh(v)) + np.hypot(q, v),
    "powers": lambda t, q, v: q**2 - v**3 + (1.0 + q * q) ** 0.5 + (1.0 + v * v) ** 1.5 + 2.0**q + abs(v) ** -1.0,
    "degrees": lambda t, q, v: np.degrees(1e-3 * q) + np.radians(v) + np.deg2rad(t) + np.rad2deg(1e-3 * np.fabs(v)),
    "absolute": lambda t, q, v: np.abs(q) - abs(v) + np.sign(q) + np.sign(v) * np.sign(t),
    "clip": lambda t, q, v: np.clip(9.0 * q, -1.0, 1.0) + v.clip(-0.2, 0.2) + np.clip(q[0], None, 0.1),
    "clip to arrays": lambda t, q, v: np.clip(q, -np.ones(2), [0.1, 0.2]) + np.clip(v, a_min=0.0, a_max=1.0),
    "minimum and maximum": lambda t, q, v: np.minimum(q, v) + np.maximum(0.0, t - 0.05) - np.minimum(v, [0.1, 0.2]),
    "largest": lambda t, q, v: q.max() * v - np.min(v) * q + np.linalg.norm(v) + np.max(np.abs(q)),
    "where, arrays": lambda t, q, v: np.where(q >= 0.0, q, 2.0 * q) + np.where(v <= 0.0, -v, v * v),
    "where, scalars": lambda t, q, v: np.where(t < 0.0512, q, -v) + np.where(q[0] > 0.1, 1.0, -1.0),
    "where, ours": lambda t, q, v: where(q[1] >= v[1], q, 0.5 * v) + where(t >= 0.0311, 0.1, 0.0),
    "conditions together": spans,
    "conditions as numbers": lambda t, q, v: -q * (t > 0.0513) + (q > 0.0) * v - (v <= q) + 2.0 * (q[0] >= 0.1),
    "conditions counted": lambda t, q, v: q * np.sum(q > 0.0) + np.where((q > 0.0) + (v > 0.0) >= 1.0, q, v),
    "any and all": lambda t, q, v: np.where(np.any(q > 0.2), q, v) + np.where((v > -3.0).all(), v, q),
    "item assignment": filled,
    "array of scalars": lambda t, q, v: array([np.sin(9.0 * t), -q[0] * v[1]]),
    "np.array of scalars": lambda t, q, v: np.array([np.sin(9.0 * t), 0.5]) + np.stack([q[0], v[1]]),
    "sums and products": lambda t, q, v: np.diag([1.0, 2.0]) @ q + np.outer(q, v)[0] + q.sum() * v.mean(),
    "numbers of NumPy": lambda t, q, v: np.float64(2.0) * q[0] - q / np.float64(3.0) + np.int64(2) * t,
}  # fmt: skip


def assigned(t, q, v):
    tau = np.zeros(2)
    tau[0] = q[0]
    return tau


def added(t, q, v):
    tau = np.zeros(2)
    tau += q
    return tau


def in_place_of_scalars(t, q, v):
    tau = np.ones(2)
    tau *= q[0]
    return tau


def masked(t, q, v):
    tau = np.zeros_like(v)
    tau[q > 0.1] = 1.0
    return tau


RNG = np.random.default_rng(0)
SAYS: dict[str, tuple[Callable, str]] = {
    "if": (lambda t, q, v: q if q[0] > 0.0 else -q, r"0\.0 < .* is not known yet: write where\(x > 0, a, b\)"),
    "and": (lambda t, q, v: np.where(q[0] > 0 and q[1] > 0, q, v), r"write where.*\(c\) & \(d\)"),
    "max": (lambda t, q, v: max(q[0], 0.0) * v, "np.maximum or np.clip instead of if, and, min, max"),
    "chained": (lambda t, q, v: np.where(0.0 < q[0] < 1.0, q, v), r"\(c\) & \(d\)"),
    "equality": (lambda t, q, v: np.where(q[0] == 0.0, q, v), r"abs\(x - y\) < tolerance"),
    "equality of arrays": (lambda t, q, v: np.where(q == v, q, v), r"abs\(x - y\) < tolerance"),
    "a number as condition": (lambda t, q, v: np.where(q, 1.0, 0.0), "by a condition such as x > 0"),
    "item of floats": (assigned, r"np\.zeros_like\(state\.rates\)"),
    "added to floats": (added, r"np\.add of expressions: write tau = np\.zeros_like\(state\.rates\)"),
    "times a scalar": (in_place_of_scalars, r"np\.multiply of expressions: write tau = np\.zeros_like"),
    "math": (lambda t, q, v: math.sin(q[0]) * v, r"np\.sin, \.\.\. instead of math\.sin"),
    "float()": (lambda t, q, v: float(t) * v, "has no number yet"),
    "array of floats": (lambda t, q, v: np.array([q[0], 0.0], dtype=float), r"array\(\[x, 0\.0\]\)"),
    "remainder": (lambda t, q, v: q % 1.0, r"arctan2\(sin\(x\), cos\(x\)\)"),
    "power": (lambda t, q, v: q**0.3, r"exp\(p \* log\(x\)\)"),
    "floor": (lambda t, q, v: np.floor(q), r"np\.floor takes no expressions: write steps as where\(x < a, b, c\), or"),
    "round": (lambda t, q, v: np.round(q, 2), r"np\.round takes no expressions: write steps as where\(x < a, b, c\)"),
    "round of a number": (lambda t, q, v: v * round(q[0]), r"has no number yet to round: write steps as where\(x < a"),
    "int": (lambda t, q, v: v * int(10.0 * t), r"has no number yet to round: write steps as where"),
    "table": (lambda t, q, v: np.interp(q, [0.0, 1.0], [0.0, 1.0]), r"np\.interp takes no expressions: write steps as"),
    "table of times": (lambda t, q, v: v * np.interp(t, [0.0, 1.0], [0.0, 1.0]), r"np\.interp takes no expressions"),
    "of another package": (lambda t, q, v: expit(q), "expit takes no expressions: write it with functions of falling"),
    "inverse": (lambda t, q, v: np.linalg.inv(np.eye(2) * t) @ q, r"in `\"inverse\": \(lambda t, q, v: np\.linalg"),
    "random": (lambda t, q, v: RNG.normal(q), r"in `\"random\": \(lambda t, q, v: RNG\.normal\(q\)"),
    "solve": (lambda t, q, v: np.linalg.solve(np.outer(q, q), v), r"solve\(A, b\) of fallingcat.arrays"),
    "sine of np.array": (lambda t, q, v: np.sin(np.array([t, 0.0])), r"np\.sin\(np\.array.*; write it with funct"),
    "mask": (masked, r"cases are where\(c, a, b\), not x\[c\] = a"),
    "sorted": (lambda t, q, v: np.sort(q), "is not known yet"),
}  # fmt: skip


@dataclass(frozen=True)
class Written(fc.control.Law):
    function: Callable
    name: str = "written"

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(model.m), self.function(t, state.joints, state.rates)])


@pytest.fixture(scope="module")
def cat():
    return fc.robots.two_cylinder_cat()


@pytest.mark.parametrize("name", WORKS)
def test_expressions_give_the_numbers_of_floats(name):
    function, rng = WORKS[name], np.random.default_rng(3)
    for _ in range(5):
        x = rng.uniform(-1.0, 1.0, size=5)
        graph = Graph()
        traced = graph.inputs("x", 5)
        given = function(traced[0], natural(traced[1:3]), natural(traced[3:]))
        got = graph.evaluate([np.asarray(given)], {f"x{i}": v for i, v in enumerate(x)})
        np.testing.assert_allclose(got, function(x[0], x[1:3], x[3:]), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    "name",
    [
        "roots and angles",
        "inverses",
        "powers",
        "absolute",
        "clip to arrays",
        "where, arrays",
        "where, ours",
        "sums and products",
    ],
)
def test_arrays_of_casadi_numbers_give_them_too(name):
    """What its scalars do under NumPy's names is CasADi's own matter."""
    function, x = WORKS[name], np.random.default_rng(3).uniform(-1.0, 1.0, size=5)
    symbols = casadi.SX.sym("x", 4)
    sx = natural(from_casadi(symbols))
    got = casadi.Function("f", [symbols], [to_casadi(np.asarray(function(0.1, sx[:2], sx[2:])))])(x[1:])
    np.testing.assert_allclose(np.array(got).ravel(), function(0.1, x[1:3], x[3:]), rtol=1e-14, atol=1e-15)


def test_runs_and_rollouts_of_laws_are_those_of_functions(cat):
    """All that works at once: a run and a rollout, compiled, beside the same code asked step by step on floats."""
    state = cat.state(joints=[0.2, -0.1], rates=[0.3, 0.4])
    laws = [Written(lambda t, q, v, f=f: 0.01 * f(t, q, v), name=name) for name, f in WORKS.items()]
    plain = lambda t, s: sum(0.01 * np.asarray(f(t, s.joints, s.rates), dtype=float) for f in WORKS.values())  # noqa: E731
    how = {"integrator": "rkmk4", "dt": 5e-3}
    run, reference = (fc.simulate(cat, state, 0.1, law, **how) for law in (laws, plain))
    assert run.status == reference.status == "finished"
    np.testing.assert_allclose(run.joints, reference.joints, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(run.rates, reference.rates, rtol=1e-12, atol=1e-13)
    many = fc.rollout(cat, [state, state], 0.1, laws, **how)
    np.testing.assert_allclose(many.joints[-1], np.tile(reference.joints[-1], (2, 1)), rtol=1e-12, atol=1e-13)
    assert np.ptp(reference.rates[:, 0]) > 0.01


@pytest.mark.parametrize("name", SAYS)
def test_what_cannot_work_says_what_to_write(name, cat):
    function, says = SAYS[name]
    for call in (fc.simulate, lambda model, state, *more: fc.rollout(model, [state], *more)):
        with pytest.raises(fc.ModelError, match=f"law 'limb' cannot be compiled.*{says}"):
            call(cat, cat.neutral(), 0.01, Written(function, name="limb"))


def test_a_float_where_an_expression_may_be_is_still_one(cat):
    """Laws that give arrays of objects on floats, and conditions that are constants."""
    tau = np.zeros(2, dtype=object)
    run = fc.simulate(
        cat, cat.neutral(), 0.01, Written(lambda t, q, v: tau + np.where(True, 0.1, 0.2)), dt=0.005, integrator="rkmk4"
    )
    by_function = fc.simulate(cat, cat.neutral(), 0.01, lambda t, s: [0.1, 0.1], dt=0.005, integrator="rkmk4")
    np.testing.assert_allclose(run.rates, by_function.rates, rtol=1e-13)


def test_comparisons_treat_nan_as_numpy_does(cat):
    """`>=` is no `not <`: both are False for what is not a number."""

    def compared(model, state, x):
        conditions = (x >= 0.0, x > 0.0, x <= 0.0, x < 0.0, ~(x >= 0.0), (x >= 0.0) | (x <= 0.0))
        return np.concatenate([arrays.where(np.asarray(c), np.ones(4), np.zeros(4)) for c in conditions])

    x = np.array([-1.0, 0.0, 1.0, np.nan])
    kernel = fc.compile(cat, compared, inputs={"x": 4})
    q = cat.flatten(cat.neutral())[0]
    expected = compared(cat, None, x)
    np.testing.assert_array_equal(kernel(q, x), expected)
    np.testing.assert_array_equal(kernel(np.tile(q, (9, 1)), np.tile(x, (9, 1))), np.tile(expected, (9, 1)))
    assert expected.reshape(6, 4).tolist() == [
        [0, 1, 1, 0],
        [0, 0, 1, 0],
        [1, 1, 0, 0],
        [1, 0, 0, 0],
        [1, 0, 0, 1],
        [1, 1, 1, 0],
    ]


def test_plain_arrays_of_the_library_stay_plain():
    x = Graph().inputs("x", 2)
    assert all(type(y) is np.ndarray for y in (np.reshape(x[0], 1), np.ones(2) * x[0], np.append(x, 1.0)))
    assert all(
        type(y) is Expressions
        for y in (np.append(natural(x), 1.0), np.ones(2) * natural(x), np.hstack([x[0], natural(x)]))
    )
