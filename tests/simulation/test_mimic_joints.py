"""Runs of robots whose joints follow others: tables, files and pictures have one column for each coordinate."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.lie import SE3
from fallingcat.model.joints import Prismatic, Revolute
from fallingcat.simulation.output.pages import _joints


@pytest.fixture(scope="module")
def run():
    """Two fingers, of which one follows, and a slider."""
    body = fc.Body(1.0, [0.0, 0.1, 0.0], np.diag([0.01, 0.01, 0.01]))
    joints = (
        fc.Joint("index", Revolute(), "palm", "index", mimic=fc.model.Mimic("thumb", -0.5)),
        fc.Joint("slide", Prismatic(), "palm", "slide"),
        fc.Joint("thumb", Revolute(), "palm", "thumb"),
    )
    links = tuple(fc.Link(name, body) for name in ("palm", "index", "slide", "thumb"))
    model = fc.Model("hand", SE3(), links, joints)
    return fc.simulate(model, model.state(rates=[0.1, 0.2]), 0.01)


def test_a_table_has_the_joints_with_coordinates(run, tmp_path):
    run.to_csv(tmp_path / "run.csv")
    names = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    said = ["slide (m)", "thumb (rad)", "slide (m/s)", "thumb (rad/s)"]
    assert [name for name in names if name.startswith(("slide", "thumb", "index"))] == said
    table = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, names.index("thumb (rad)")], run.joints[:, 1])


def test_a_dataset_and_a_file_have_them_too(run, tmp_path):
    data = run.to_xarray()
    assert data["joint"].values.tolist() == data["joint_coordinate"].values.tolist() == ["slide", "thumb"]
    run.save(tmp_path / "run.npz")
    again = fc.Trajectory.load(tmp_path / "run.npz", run.model)
    np.testing.assert_array_equal(again.joints, run.joints)


def test_a_page_draws_a_line_for_each(run):
    assert [line.name for chart in _joints(run) for line in chart.lines] == ["thumb", "slide"]
