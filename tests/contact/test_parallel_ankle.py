"""The example of a parallel ankle: its geometry, its transmission, and its motion."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc

FILE = Path(__file__).parents[2] / "examples" / "loops" / "parallel_ankle.py"
spec = importlib.util.spec_from_file_location("parallel_ankle", FILE)
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
MODEL = example.ankle()


def motors(state):
    return np.array([state.joints[MODEL.q_slices[MODEL.joint_index(f"{side} motor")]][0] for side in example.SIDES])


@pytest.mark.parametrize("pitch", [-0.5, 0.0, 0.3])
def test_pitch_alone_is_a_parallelogram(pitch):
    np.testing.assert_allclose(motors(example.bent(MODEL, pitch, 0.0)), pitch, atol=1e-10)
    np.testing.assert_allclose(example.transmission(MODEL, example.bent(MODEL, pitch, 0.0))[:, 0], 1.0, atol=1e-9)


@pytest.mark.parametrize(("pitch", "roll"), [(0.0, 0.25), (0.35, 0.2), (-0.4, -0.15)])
def test_rods_keep_their_length_and_transmission_is_the_slope(pitch, roll):
    state = example.bent(MODEL, pitch, roll)
    poses = fc.forward_kinematics(MODEL, state)
    for side, y in example.SIDES.items():
        top, lever = poses[f"{side} rod"][:3, 3], poses["foot"] @ [-example.HEEL, y, 0.0, 1.0]
        assert np.linalg.norm(top - lever[:3]) == pytest.approx(example.ROD, abs=1e-10)
    steps = 1e-6 * np.eye(2)
    ends = [[motors(example.bent(MODEL, *((pitch, roll) + sign * step))) for sign in (1.0, -1.0)] for step in steps]
    slope = [(high - low) / 2e-6 for high, low in ends]
    np.testing.assert_allclose(example.transmission(MODEL, state), np.transpose(slope), atol=1e-6)


def test_it_moves_and_stays_closed():
    run = fc.simulate(MODEL, example.bent(MODEL, 0.2, 0.1), 0.1, fc.control.JointDamper(0.01))
    assert run.status == "finished"
    assert np.abs(run.loop_errors()).max() < 1e-8


def test_the_table(capsys):
    example.main()
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 6
    assert "[5. 5.]" in rows[1]


def test_implicit_steps_keep_rods_closed_and_converge():
    start = example.bent(MODEL, 0.2, 0.1)
    fine = fc.simulate(MODEL, start, 0.1, integrator="rkmk4", dt=1e-3)
    missed = []
    for dt in (1e-3, 5e-4):
        run = fc.simulate(MODEL, start, 0.1, integrator="implicit", dt=dt)
        assert run.status == "finished"
        assert run.loop_errors().max() < 1e-8
        missed.append(np.abs(run.joints[-1] - fine.joints[-1]).max())
    assert missed[0] < 2e-6  # 9e-4 by a rule of order 1
    assert missed[1] < 0.7 * missed[0]
