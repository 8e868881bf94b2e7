"""Plain loops as machine code: they do what Python does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from fallingcat.compiler.cpu import loop_syntax as syntax
from fallingcat.compiler.loop_compiler import Integers, LoopSource, Matrix, Vector

SHIFT = 3


def total(n: int, x: Vector) -> float:
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


def odd(i: int) -> bool:
    return (i == 1 or i == 3) and not i < 0


def everything(A: Matrix, x: Vector, k: Integers, factor: float, n: int) -> int:
    """A docstring is no statement."""
    rest, count = A[1:], 0
    for i in range(n - 1, -1, -1):
        if odd(i) or i == 0:
            continue
        row = A[i]
        row[0], row[1] = row[1], row[0]
        count += 1
    while count < 100:
        count += SHIFT
        if count > 20 and (count > 30 or k[0] == 7):
            break
    for i in range(0, n, 2):
        x[i] = x[i] / 2 + factor * rest[0, i] if x[i] > 0.5 else -abs(x[i]) + 0 * k[1]
    y = x[1:]
    y[0] = total(n - 1, y) + 3
    k[1] -= 1
    return count + k[1]


def test_machine_code_does_what_python_does():
    rng = np.random.default_rng(0)
    written = LoopSource(total, odd, everything)
    for _ in range(10):
        A, x, k = rng.normal(size=(5, 5)), rng.normal(size=5), rng.integers(5, 9, size=2)
        again = [a.copy() for a in (A, x, k)]
        expected = everything(A, x, k, 0.3, 5)
        assert written.bound(*again, 0.3, 5)() == expected
        for got, wanted in zip(again, (A, x, k), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-15)


class Pair(NamedTuple):
    n: int
    x: Vector
    A: Matrix


def twice(pair: Pair) -> float:
    return 2.0 * total(pair.n, pair.x)


def of_records(pair: Pair, other: Pair) -> int:
    other.x[0] = twice(pair) + pair.A[1, 0]
    return pair.n + other.n


def test_records_are_passed_on():
    one, two = (Pair(k, np.arange(3.0), np.arange(4.0).reshape(2, 2)) for k in (2, 3))
    assert LoopSource(total, twice, of_records).bound(one, two)() == 5
    assert two.x[0] == 4.0
    assert of_records(one, two) == 5
    assert two.x[0] == 4.0


def test_arrays_may_change_between_calls():
    def first(x: Vector) -> int:
        return 1 if x[0] > 0.0 else 0

    x = np.array([1.0])
    go = LoopSource(first).bound(x)
    assert go() == 1
    x[0] = -1.0
    assert go() == 0


def mixed(x: Vector) -> int:
    a = 1
    a = x[0]
    return a + 1


def test_a_name_has_one_type():
    with pytest.raises(TypeError, match="a of mixed is both i64 and double"):
        syntax.module([mixed])


def test_other_arrays_are_refused():
    with pytest.raises(TypeError, match="arrays are of float64 or int64"):
        LoopSource(total).bound(3, np.zeros(3, dtype=np.float32))
    with pytest.raises(TypeError, match="rows that lie in one piece"):
        LoopSource(total).bound(3, np.zeros(6)[::2])
    with pytest.raises(TypeError, match="total takes i64, vector, not vector, i64"):
        LoopSource(total).bound(np.zeros(3), 3)
    with pytest.raises(TypeError, match="total takes i64, vector, not i64"):
        LoopSource(total).bound(3)
