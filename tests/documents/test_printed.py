"""The comparison of printed equations itself: what is wrong, zero or of another shape is found."""

import numpy as np
import pytest
from printed import Printed, compare, compared, rate, slopes


def test_sides_that_agree():
    compare("x", np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-12]))
    found = Printed()
    section = found(lambda: {"(1)": (1.0, 1.0), "(2)": [(2.0, 2.0), (np.eye(2), np.eye(2))]})
    assert compared(section) == ["(1)", "(2)"]
    assert found.sections == [section]


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (1.0, 1.0 + 1e-8, "sides differ"),
        (np.ones(2), np.array([1.0, -1.0]), "sides differ"),
        (0.0, 0.0, "shows nothing"),
        (np.zeros((2, 2)), np.zeros((2, 2)), "shows nothing"),
        (np.ones(2), np.ones(3), "beside"),
        (np.nan, 1.0, "sides differ|shows nothing"),
        (1.0, np.nan, "sides differ"),
    ],
)
def test_sides_that_do_not(left, right, said):
    with pytest.raises(AssertionError, match=said):
        compared(lambda: {"(1)": (left, right)})
    with pytest.raises(AssertionError, match=said):
        compared(lambda: {"(1)": [(1.0, 1.0), (left, right)]})


def test_derivatives():
    assert rate(np.sin, [0.3], [2.0]) == pytest.approx([2.0 * np.cos(0.3)], rel=1e-15)
    assert slopes(lambda x: x * x[0], np.array([2.0, 3.0])) == pytest.approx(np.array([[4.0, 0.0], [3.0, 2.0]]))
