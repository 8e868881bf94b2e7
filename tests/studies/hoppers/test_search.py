"""Whether controller III has a gait: the gait that was found, and the search."""

import numpy as np
import pytest

from fallingcat.studies import run
from fallingcat.studies.hoppers.hopper import robot
from fallingcat.studies.hoppers.parameters import SearchParameters
from fallingcat.studies.hoppers.search import RANGES, THROWN, about_search, search
from fallingcat.studies.tables import load


def test_a_search_says_what_became_of_every_run():
    p = load("revolute-locked-gait").parameters.model_copy(
        update={"samples": 12, "again": 1, "trial": 1.0, "longer": 1.0}
    )
    assert isinstance(p, SearchParameters)
    found = search(robot(p), p, lambda what, share: None)
    assert all(
        low <= x.min() <= x.max() <= high for x, (low, high) in zip(found.drawn.values(), RANGES.values(), strict=True)
    )
    assert (found.up == (found.lasted == 1.0)).all()
    assert len(found.again) <= min(1, int(found.forward.sum()))
    assert about_search(found)["runs"] == 12.0
    assert np.isnan(found.speed[~found.up]).all()
    assert THROWN[0] > 0.52  # what the largest wanted energy lifts a kilogram to


@pytest.mark.slow
def test_controller_III_has_a_stable_forward_gait():
    result = run("revolute-locked-gait", samples=60, again=2)
    assert result.holds
    assert result.row("step").ours > 0.1
    pushed = run("revolute-locked-gait", samples=2, again=1, theta=-2.6174)  # from elsewhere, the frame turned with it
    assert pushed.row("stationarity").ours < 1e-3
