"""The examples about gaits run, and write what they promise."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "gaits"


def test_orbital_arm_writes_figures_and_a_page(tmp_path, capsys):
    runpy.run_path(str(FOLDER / "orbital_arm.py"))["main"](tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orbital.html", "orbital_fig8.svg", "orbital_fig9.svg"]
    assert "off, in minimum perturbation" in capsys.readouterr().out
    assert (tmp_path / "orbital_fig8.svg").read_text(encoding="utf-8").count("<polygon") == 3 * 29 * 29


def test_best_gait_draws_the_map(capsys):
    pytest.importorskip("casadi")
    example = runpy.run_path(str(FOLDER / "best_gait.py"))
    example["picture"].__globals__["WEIGHTS"] = (2e-3,)
    picture = example["picture"]()
    assert "solve succeeded" in capsys.readouterr().out
    assert "zero curvature" in picture
    assert "weight 0.002: 19." in picture
