"""A page in which the browser takes the steps and runs the policy."""

import json
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.learning import Policy, Walk
from fallingcat.simulation.integrators.implicit.integrator import Implicit

FILE = Path(__file__).parents[2] / "examples" / "learning" / "quadruped_walk.npz"
POLICY = Policy.load(FILE)
TASK = Walk.of(fc.robots.quadruped(), POLICY.about)
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_the_page_walks_as_a_simulation_does():
    page, periods = POLICY.page(TASK), 25
    live = page.blocks[0].data()["live"]
    player = (resources.files("fallingcat.visualization") / "live.js").read_text(encoding="utf-8")
    loop = f"""
        const robot = liveRobot({json.dumps(live)}), seen = [];
        for (let k = 0; k < {periods}; k++) {{ robot.period(); seen.push([...robot.q, ...robot.v]); }}
        console.log(JSON.stringify([seen, [...robot.place()]]));"""
    text = "\n".join([*page.scripts, player, loop])
    found = subprocess.run([NODE, "-"], input=text, capture_output=True, text=True, check=True)
    seen, poses = json.loads(found.stdout)
    laws = POLICY.controller(TASK, (0.5, 0.0, 0.0))
    dt = TASK.period / live["steps"]
    run = fc.simulate(
        TASK.model, TASK.stance, periods * TASK.period, laws, TASK.contact, dt=dt, integrator=Implicit(sweeps=1)
    )
    for k, row in enumerate(seen, start=1):
        there = np.concatenate(TASK.model.flatten(run.at(k * TASK.period)))
        np.testing.assert_allclose(row, there, atol=1e-10)
    parts = [name for name, shapes in page.blocks[0].shapes.items() if shapes]
    links = fc.forward_kinematics(TASK.model, run.at(periods * TASK.period))
    expected = np.array([links[name][:3] for name in parts])
    np.testing.assert_allclose(np.reshape(poses, expected.shape), expected, atol=1e-10)


def test_play_writes_the_page(tmp_path):
    out, live = tmp_path / "play.html", tmp_path / "live.html"
    options = ["--seconds", "0.1", "--out", str(out), "--live", str(live), "--json"]
    found = CliRunner().invoke(app, ["play", str(FILE), *options])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["live"] == str(live)
    assert "function fc_simulation_step(" in live.read_text()


def test_a_policy_of_another_task_is_refused():
    class Other:
        commands = 0

    with pytest.raises(fc.ModelError, match="lets a policy of walking run, not one of Other"):
        POLICY.page(Other())
