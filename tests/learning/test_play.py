"""A policy of the library in a simulation, and the commands."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.learning import Policy, Walk

FILE = Path(__file__).parents[2] / "examples" / "learning" / "quadruped_walk.npz"


def test_a_policy_is_a_sampled_controller():
    policy = Policy.load(FILE)
    task = Walk.of(fc.robots.quadruped(), policy.about)
    laws = policy.controller(task, (0.5, 0.0, 0.0))
    run = fc.simulate(task.model, task.stance, 2.0, laws, task.contact, dt=task.dt)
    assert run.code is fc.simulation.StatusCode.FINISHED
    # steps of the training: feet that touch down a step later move joints by 0.5 rad after 1 s, and the run says so
    assert {warning.kind for warning in run.warnings} <= {fc.simulation.DiagnosticKind.STEP_ERROR}
    assert run.poses[:, 2, 2].min() > 0.95
    assert np.mean(run.twists[len(run.times) // 2 :, 0]) == pytest.approx(0.5, abs=0.1)
    again = fc.simulate(task.model, task.stance, 2.0, laws, task.contact, dt=task.dt)
    assert np.array_equal(run.joints, again.joints)  # it starts with no last action


def test_play_writes_a_page(tmp_path):
    out = tmp_path / "play.html"
    found = CliRunner().invoke(app, ["play", str(FILE), "--seconds", "1", "--out", str(out), "--json"])
    assert found.exit_code == 0, found.output
    data = json.loads(found.stdout)
    assert data["status"] == "finished"
    assert data["step (s)"] == 2e-4
    assert data["fell"] == "no"
    assert out.stat().st_size > 10_000
    bad = CliRunner().invoke(app, ["play", str(tmp_path / "no.npz")])
    assert bad.exit_code == 2
    assert "no such file" in bad.output


def test_play_says_that_the_robot_fell(tmp_path):
    policy = Policy.load(FILE)
    (W, b), *others = policy.layers
    file = Policy(((0.0 * W, b + 1e3), *others), policy.about).save(tmp_path / "wild.npz")
    found = CliRunner().invoke(app, ["play", str(file), "--seconds", "3", "--out", str(tmp_path / "p.html"), "--json"])
    assert "after" in json.loads(found.stdout)["fell"]


def test_learn_walk_writes_policy_and_page(tmp_path):
    pytest.importorskip("torch")
    out, page = tmp_path / "walk.npz", tmp_path / "walk.html"
    options = ["--seconds", "0.1", "--robots", "8", "--out", str(out), "--page", str(page), "--json"]
    found = CliRunner().invoke(app, ["learn", "walk", *options])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["rounds"] >= 1
    assert Policy.load(out).about["source"] == "quadruped"
    assert "Terms of the reward" in page.read_text()
    bad = CliRunner().invoke(app, ["learn", "walk", "--out", str(tmp_path / "no" / "walk.npz")])
    assert bad.exit_code == 2
    assert "must be there and writable" in bad.output
