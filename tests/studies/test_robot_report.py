"""The page about one robot: right numbers, for any robot."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.errors import FallingCatError
from fallingcat.lie import R3, SE3, Trivial
from fallingcat.studies import report
from fallingcat.studies.robot_report.report import centroidal_inertia


@pytest.fixture(scope="module")
def cat():
    return report(fc.robots.two_cylinder_cat(), states=1)


def test_numbers_are_those_of_the_library(cat):
    model, state = cat.model, cat.neutral
    A = np.asarray(fc.connection(model, state))
    mean = np.array([[x.turn, x.travel] for x in cat.couplings])
    assert mean.shape == (2, 2)
    assert np.linalg.norm(A[3:], axis=0) == pytest.approx(mean[:, 0], rel=0.5)  # a mean over shapes around it
    assert cat.passed
    assert cat.curvature > 0.1
    best = cat.gaits[0]
    moved = best.survey
    gait = moved.map.plane.curve(fc.planning.Circle(moved.circle.radius, tuple(moved.center)))
    turned = fc.planning.displacement(moved.model, gait).pose[:3, :3]
    assert np.trace(turned) == pytest.approx(1.0 + 2.0 * np.cos(best.turn), abs=1e-9)


def test_centroidal_inertia_is_that_of_the_momentum():
    """Against the locked inertia by momenta, at a turned base, where it is seen along the world's axes."""
    model = fc.robots.cat()
    state = model.random_state(np.random.default_rng(3))
    columns = []
    for axis in np.eye(3):
        spun = model.state(
            pose=state.pose, joints=state.joints, twist=np.concatenate([np.zeros(3), state.pose[:3, :3].T @ axis])
        )
        columns.append(np.asarray(fc.momentum(model, spun, "centroidal"))[3:])
    np.testing.assert_allclose(centroidal_inertia(model, state), np.array(columns).T, rtol=1e-12, atol=1e-14)


def test_the_scene_goes_through_the_gait_and_the_base_ends_turned(cat):
    scene = cat.page().blocks[0]
    name = cat.model.link_names[0]
    first, last = (np.asarray(scene.poses[name][k]) for k in (0, -1))
    turn = np.arccos(np.clip((np.trace(first[:3, :3].T @ last[:3, :3]) - 1.0) / 2.0, -1.0, 1.0))
    full = cat.gaits[0].turn % (2.0 * np.pi)
    assert turn == pytest.approx(min(full, 2.0 * np.pi - full), abs=1e-6)


@pytest.mark.parametrize("name", ["fixed", "translating", "no joint", "one joint", "no inertia", "balls"])
def test_any_robot_has_a_page(name):
    """What cannot be said is left out: couplings of a fixed base, gaits of one joint, of balls, without inertia."""
    rng, robots = np.random.default_rng(0), fc.robots
    model = {
        "fixed": lambda: replace(robots.planar_arm(), base=Trivial()),
        "translating": lambda: replace(robots.planar_arm(), base=R3()),
        "no joint": lambda: fc.Model(
            "one", SE3(), [fc.Link("a", fc.Body.from_points([(1.0, x) for x in np.eye(3)]))], []
        ),
        "one joint": robots.revolute_hopper,
        "no inertia": robots.prismatic_hopper,  # two points, one on the other at neutral
        "balls": lambda: robots.random_tree(rng, 3, kinds=["spherical"]),
    }[name]()
    found = report(model, states=1)
    json.dumps(found.data(), allow_nan=False)
    page = found.page()
    assert page.html().startswith("<!")
    assert len(found.couplings) in (0, model.n)
    assert found.couplings or model.m == 0 or model.n == 0
    assert found.gaits == ()


def test_the_command(tmp_path):
    fc.save(fc.robots.revolute_hopper(), tmp_path / "hopper.toml")
    words = ["report", str(tmp_path / "hopper.toml"), "--states", "1", "--out", str(tmp_path / "page.html")]
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["claims"]["proved"] == data["claims"]["total"] > 50
    assert data["mass"] == fc.robots.revolute_hopper().mass
    assert (tmp_path / "page.html").exists()
    assert "claims proved" in CliRunner().invoke(app, words).stdout
    assert CliRunner().invoke(app, ["report", str(tmp_path / "none.urdf")]).exit_code == 2
    with pytest.raises(FallingCatError, match="states are a whole number"):
        report(fc.robots.cat(), states=0)
