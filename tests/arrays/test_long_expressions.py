"""Expressions are printed in short, however long they are."""

import math

import numpy as np
import pytest

from fallingcat.arrays import Graph
from fallingcat.arrays.traced import LONGEST_TEXT, TracedValueError


def grown(doublings):
    """An expression whose text is ``2^doublings`` times as long as that of its input."""
    x = Graph().input("x")
    for _ in range(doublings):
        x = np.sin(x) * (x + 1.0)
    return x


def deep(count):
    """A sum with ``count`` terms: as many levels of nesting."""
    graph = Graph()
    return sum((graph.input(f"x{i}") for i in range(count)), start=0.0)


@pytest.mark.parametrize("x", [grown(200), deep(50_000), -deep(3_000)], ids=["wide", "deep", "negative"])
def test_long_expressions_are_cut(x):
    """Printing them took longer than anyone waits, or ended with a recursion error."""
    assert len(repr(x)) == LONGEST_TEXT
    assert repr(x).endswith("...")
    for ask in (float, bool, math.floor, lambda x: x % 2.0, lambda x: x == 1.0):
        with pytest.raises(TracedValueError) as told:
            ask(x)
        assert len(str(told.value)) < 300


def test_short_expressions_are_written_out():
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    texts = {
        (x - y) / (x * y): "(x - y) / (x * y)",
        x - (y - 1.0): "x - (y + -1.0)",
        x / (y / x): "x / (y / x)",
        -(x + y): "-(x + y)",
        np.sin(x + y) * 2.0: "2.0 * sin(x + y)",
        np.arctan2(y, x): "arctan2(y, x)",
    }
    assert [repr(e) for e in texts] == list(texts.values())
