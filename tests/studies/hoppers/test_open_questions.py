"""Open questions of the documents: the pages say what the committed results of the benchmarks say."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]


def results(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def page(name):
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def test_no_prismatic_leg_hops_by_its_radial_law_alone():
    rows = results("leg_designs")["rows"]
    runs, up, broke = (sum(row[name] for row in rows) for name in ("runs", "up", "broke"))
    assert (len(rows), up) == (36, 0)
    assert all(row["runs"] == row["fell"] + row["up"] + row["broke"] for row in rows)
    assert f"Of {runs:,} runs on one H200 {up} are up after 8 s" in page("hopper_open_questions.md")
    assert f"{broke:,} could not be followed" in page("hopper_open_questions.md")


@pytest.mark.slow
def test_legs_of_the_map_fall(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import leg_designs

    found = leg_designs.tried(leg_designs.design(0.05, 0.0, 0.0), 16, "cpu", 0)
    sys.modules.pop("leg_designs")
    assert found["fell"] + found["broke"] == found["runs"] == 16


def kinds(rows):
    """Value, and how a run ended: fell, forward or back in a stationary gait, or a gait of several heights."""
    for row in rows:
        hops = np.array(row["apexes"]).reshape(-1, 2)
        if not len(hops):
            yield row["value"], "fell"
        elif np.ptp(hops[:, 0]) > 1e-3:
            yield row["value"], "several"
        else:
            yield row["value"], "forward" if hops[:, 1].mean() > 0.02 else "back"


def test_edges_of_the_bifurcation_diagram():
    rows, text = results("bifurcation")["rows"], page("hopper_basin.md")
    assert {name: len(found) for name, found in rows.items()} == {"K_E": 500, "cascade": 91, "y": 500}
    near = dict(kinds(rows["cascade"]))
    forward = max(value for value, kind in near.items() if kind == "forward" and value < 10.5)
    back = [value for value, kind in near.items() if kind == "back"]
    assert f"rises with $K_E$ from 2.3 to {forward:g}" in text
    assert f"From {min(back):g} on the start lies in the basin of the gait of EXP IV" in text
    assert max(back) == pytest.approx(10.52, abs=0.021)
    assert [near[value] for value in (10.8, 11.0, 11.4)] == ["several"] * 3
    assert f"From {min(v for v, k in near.items() if k == 'forward' and v > 10.5):g} on runs leave" in text
    wide = dict(kinds(rows["K_E"]))
    assert "found up to 21.64" in text
    nearest = lambda found, at: found[min(found, key=lambda value: abs(value - at))]  # noqa: E731
    assert [nearest(wide, at) for at in (21.64, 22.9, 25.0)] == ["forward", "forward", "fell"]
    heights = dict(kinds(rows["y"]))
    ends = [nearest(heights, at) for at in (0.27, 0.271, 0.299, 0.3, 0.318, 0.33)]
    assert ends == ["forward", "back", "back", "forward", "forward", "fell"]


def test_operations_of_the_forms_are_those_that_were_counted():
    text = page("theory/three_forms.md")
    for row in results("coriolis_forms")["rows"]:
        assert f"{row['operations']:,} (" in text
