"""Files of policies that somebody made on purpose, and odd arguments of tasks and policies."""

import io
import json
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from fuzzing import try_for, try_many
from hypothesis import strategies as st
from odd_arguments import changes, tried
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.errors import FallingCatError, FileError, ModelError
from fallingcat.io import archives
from fallingcat.learning import Environment, Policy, Randomization, Settings, Walk, evaluate
from fallingcat.learning.training import load_curve

DOG = fc.robots.quadruped()
TASK = Walk(DOG)
GOOD = Policy.of(TASK, [(np.zeros((12, 48)), np.zeros(12))])
ABOUT = {"format": "fallingcat policy 1", "about": dict(GOOD.about)}
VALUES = [
    None, -1, 0, 1e308, "", "x" * 1000, [], {}, [[]], True, [1, 2], {"a": 1}, 10**30, [None], "../../etc/passwd",
    "\x1b[2J<script>", 1e-300, ["front_left_foot"] * 2, "ghost", [float("nan")],
]  # fmt: skip
ARRAYS = [
    np.zeros(0), np.zeros((12, 0)), np.full((12, 48), np.nan), np.array("text"), np.zeros((12, 48), complex),
    np.zeros((2,) * 20), np.array([1], dtype="datetime64[s]"), np.zeros((12, 48), dtype="S3"), np.zeros((3, 7)),
    np.array(json.dumps(ABOUT)), np.array("[" * 100_000), np.array('{"format": NaN}'),
]  # fmt: skip


def packed(arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


@st.composite
def hostile(draw):
    """Content of a policy: arrays, numbers of the task, or bytes are others than they were."""
    said = json.loads(json.dumps(ABOUT))
    tables = [said, said["about"], said["about"]["walk"]]
    for _ in range(draw(st.integers(0, 2))):
        table = draw(st.sampled_from(tables))
        table[draw(st.sampled_from([*table, "ghost"]))] = draw(st.sampled_from(VALUES))
    arrays = {"W0": np.zeros((12, 48)), "b0": np.zeros(12), "policy": np.array(json.dumps(said))}
    for _ in range(draw(st.integers(0, 2))):
        arrays[draw(st.sampled_from([*arrays, "W1", "b1", "W-1", "curve"]))] = draw(st.sampled_from(ARRAYS))
    content = bytearray(packed(arrays))
    for _ in range(draw(st.sampled_from([0, 0, 1, 5]))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content[: draw(st.sampled_from([len(content)] * 9 + [len(content) // 2]))])


def checked(path):
    def check(content):
        path.write_bytes(content)
        try:
            policy = Policy.load(path)
            task = Walk.of(DOG, policy.about)
            policy.controller(task, (0.1, 0.0, 0.0))
        except FallingCatError as error:
            said = str(error)
        else:
            said = repr(policy)
        assert said.isprintable()

    return check


@pytest.mark.filterwarnings("ignore")
def test_many_hostile_files(tmp_path):
    try_many(hostile(), checked(tmp_path / "policy.npz"), 60)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_hostile_files_for_a_while(tmp_path):
    assert try_for(hostile(), checked(tmp_path / "policy.npz")) > 100


def test_a_file_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 1 << 20)
    with ZipFile(tmp_path / "bomb.npz", "w", ZIP_DEFLATED) as archive, archive.open("W0.npy", "w") as out:
        np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": (2**28,)})
        out.write(bytes(2**24))
    with pytest.raises(FileError, match=r"it unpacks to 16,\d+,\d+ bytes"):
        Policy.load(tmp_path / "bomb.npz")


def test_play_says_in_a_line_what_is_wrong_with_a_file(tmp_path):
    for k, content in enumerate(
        (b"", b"PK\3\4", packed({"policy": ARRAYS[-2]}), GOOD.save(tmp_path / "g.npz").read_bytes()[:-9])
    ):
        (tmp_path / f"{k}.npz").write_bytes(content)
        found = CliRunner().invoke(app, ["play", str(tmp_path / f"{k}.npz"), "--no-open"])
        assert found.exit_code == 2
        assert found.stderr.count("\n") == 1


@pytest.mark.parametrize("sizes", [(12, 47), (11, 48)])
def test_a_policy_of_another_robot_is_named(sizes):
    other = Policy.of(TASK, [(np.zeros(sizes), np.zeros(sizes[0]))])
    with pytest.raises(ModelError, match=r"a policy of 11 actions|the policy observes 47 numbers"):
        fc.simulate(DOG, TASK.stance, 0.01, other.controller(TASK, (0.1, 0.0, 0.0)), TASK.contact, dt=TASK.dt)


# odd arguments --------------------------------------------------------------------------------------------------------

ENVIRONMENT = Environment(TASK, 2, bank=2)
WALK = {
    "feet": None, "posture": None, "joints": None, "kp": None, "kd": None, "scale": 0.25, "speeds": (1.0, 0.5, 1.0),
    "friction": 0.8, "weights": {}, "gait": None, "period": 0.02, "dt": 0.002, "horizon": 20.0, "command_period": 10.0,
    "randomization": Randomization(), "noise": {}, "limit": 100.0,
}  # fmt: skip
CALLS = {
    "walk": (lambda **given: Walk(DOG, **given).laws, WALK),
    "robot": (lambda model: Walk(model).laws, {"model": DOG}),
    "again": (Walk.of, {"model": DOG, "about": TASK.about()}),
    "randomization": (Randomization, vars(Randomization())),
    "settings": (Settings, vars(Settings())),
    "environment": (Environment, {"task": TASK, "robots": 2, "seed": 0, "threads": 1, "bank": 2}),
    "library": (Environment, {"task": TASK, "robots": 2, "target": "cpu", "library": None, "dtype": None, "bank": 2}),
    "reset": (ENVIRONMENT.reset, {"seed": 0}),
    "step": (lambda actions: ENVIRONMENT.step(actions).rewards, {"actions": np.zeros((2, 12))}),
    "field": (ENVIRONMENT.field, {"column": 3}),
    "policy": (Policy, {"layers": ((np.eye(2), np.ones(2)),), "about": {}}),
    "action": (GOOD, {"observations": np.zeros((2, 48))}),
    "load": (Policy.load, {"path": "there/is/none.npz"}),
    "law": (GOOD.law, {"task": TASK}),
    "evaluate": (
        lambda **given: evaluate(act=lambda x: 0.0 * x[:, :12], **given),
        {"environment": ENVIRONMENT, "seconds": 0.02, "seed": 1},
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=pytest.mark.slow) if x in ("environment", "library") else x for x in CALLS]
)
def test_odd_arguments(name):
    for changed, odd in changes(CALLS[name]):
        tried(CALLS[name], changed, odd)


def test_noise_of_what_is_not_observed_is_named():
    with pytest.raises(ModelError, match=r"noise is that of velocity, .*, not of 'joint'"):
        Environment(Walk(DOG, noise={"joint": 0.1}), 2, bank=2)


@pytest.mark.parametrize("curve", ["[" * 100_000, "{}", '[{"seconds": "late"}]', "[3]", "", '[{"reward": 1}]'])
def test_a_damaged_learning_curve_is_named(tmp_path, curve):
    GOOD.save(tmp_path / "p.npz", curve=np.array(curve))
    with pytest.raises(FileError, match="the learning curve is not one of rows of numbers"):
        load_curve(tmp_path / "p.npz")
