"""The policy for the Go1 that MuJoCo Playground publishes, trained in MJX, walks in our simulator.

It runs where ``MUJOCO_PLAYGROUND`` names a clone of google-deepmind/mujoco_playground and onnxruntime is installed.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.learning import Walk

CLONE = Path(os.environ.get("MUJOCO_PLAYGROUND", "no clone")) / "mujoco_playground"
HOME = np.array([0.1, 0.9, -1.8, -0.1, 0.9, -1.8] * 2)  # rad: keyframe "home" of its scene
SCALE, RATE = 0.5, 50.0  # rad of an action of 1; Hz

pytestmark = [
    pytest.mark.skipif(not CLONE.is_dir(), reason="needs a clone of MuJoCo Playground, see MUJOCO_PLAYGROUND"),
    pytest.mark.filterwarnings("ignore"),
]


class Controller:
    """Its observation and action, as `play_go1_joystick.py` of the clone has them."""

    def __init__(self, task, session, command):
        self.task, self.session, self.command = task, session, np.array(command)
        self.imu, self.last = task.model.frame("imu").placement, np.zeros(12)

    def __call__(self, t, state):
        turn, place = self.imu[:3, :3], self.imu[:3, 3]
        v, w = state.twist[:3], state.twist[3:]
        sensed = [v + np.cross(w, place), w, -state.pose[2, :3]]
        seen = [*(turn.T @ x for x in sensed), state.joints - HOME, state.rates, self.last, self.command]
        given = {"obs": np.hstack(seen)[None].astype(np.float32)}
        self.last = self.session.run(["continuous_actions"], given)[0][0].astype(float)
        drives = self.task._drives
        return self.task.kp * (np.clip(HOME + SCALE * self.last, drives.lowest, drives.highest) - HOME)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    text = (CLONE / "_src" / "locomotion" / "go1" / "xmls" / "go1_mjx_feetonly.xml").read_text()
    text = re.sub(r'<geom[^>]*class="visual"[^>]*/>|<mesh [^>]*/>', "", text)  # whose files are elsewhere
    file = tmp_path_factory.mktemp("go1") / "go1.xml"
    file.write_text(text)
    return Walk(fc.load(file), posture=HOME, scale=SCALE, friction=0.6)


@pytest.mark.parametrize("command", [(0.5, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, 0.0, 1.0)])
def test_a_policy_of_mujoco_playground_walks_here(task, command):
    runtime = pytest.importorskip("onnxruntime")
    file = CLONE / "experimental" / "sim2sim" / "onnx" / "go1_policy.onnx"
    controller = Controller(task, runtime.InferenceSession(str(file)), command)
    laws = [*task.laws, fc.control.SampledController(controller, RATE, name="policy")]
    run = fc.simulate(task.model, task.stance, 10.0, laws, task.contact, dt=5e-4, integrator="implicit")
    assert run.poses[:, 2, 2].min() > 0.9  # no fall
    assert run.poses[:, 2, 3].min() > 0.8 * task.height
    went = run.twists[len(run.times) // 2 :, [0, 1, 5]].mean(axis=0)
    np.testing.assert_allclose(went, command, atol=0.15)
