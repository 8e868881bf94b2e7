"""What the page of a run draws beside the robot: ground, contact forces, center of mass, frames."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import cos
from fallingcat.dynamics import center_of_mass
from fallingcat.geometry.terrain import Terrain
from fallingcat.visualization import Arrows, Axes, Dot, scenes


class Waves(Terrain):
    """Along x."""

    def height(self, x, y):
        return 0.02 * cos(20.0 * x)


def ball():
    """A free ball with a point below it."""
    body = fc.Body(2.0, np.zeros(3), 0.01 * np.eye(3))
    foot = fc.model.Frame("foot", "ball", np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, -0.1], [0, 0, 0, 1.0]]))
    shape = fc.model.shapes.Sphere(0.1)
    return fc.Model("ball", fc.lie.SE3(), (fc.Link("ball", body, (shape,)),), frames=(foot,))


def landed(**floor):
    model, start = ball(), np.eye(4)
    start[2, 3] = 0.1
    contact = fc.contact.CompliantFloor(("foot",), stiffness=(1e4, 1e4), damping=(1e2, 1e2), **floor)
    return fc.simulate(model, model.state(pose=start), 0.05, contact=contact)


@pytest.fixture(scope="module")
def run():
    return landed()


def scene_of(run):
    return run.animate("energies").blocks[0]


def extra(scene, kind):
    return next(each for each in scene.extras if isinstance(each, kind))


def test_forces_start_at_the_points_and_have_their_directions(run):
    scene = scene_of(run)
    arrows = extra(scene, Arrows)
    assert arrows.starts.shape == arrows.vectors.shape == (len(scene.times), 1, 3)
    for k in (0, 20, len(scene.times) - 1):
        foot = fc.forward_kinematics(run.model, run.at(scene.times[k]))["foot"][:3, 3]
        np.testing.assert_allclose(arrows.starts[k, 0], foot, atol=1e-12)
        force = run.contact_forces[np.searchsorted(run.times, scene.times[k], side="right") - 1, 0]
        np.testing.assert_allclose(np.cross(arrows.vectors[k, 0], force), 0.0, atol=1e-9)
        assert arrows.vectors[k, 0] @ force >= 0.0
    assert np.linalg.norm(arrows.vectors, axis=2).max() > 0.0


def test_the_center_of_mass_goes_along(run):
    scene = scene_of(run)
    expected = [center_of_mass(run.model, run.at(t)) for t in scene.times]
    np.testing.assert_allclose(extra(scene, Dot).points, expected, atol=1e-12)
    assert not extra(scene, Axes).shown


def test_the_floor_lies_where_the_contact_has_it():
    slope = (0.6, 0.0, 0.8)
    scene = scene_of(landed(normal=slope, height=-0.2))
    np.testing.assert_allclose(scene.floor[:3, 2], slope)
    assert scene.floor[:3, 3] @ slope == pytest.approx(-0.2)


def test_uneven_ground_is_drawn_as_it_is():
    scene = scene_of(landed(terrain=Waves()))
    assert scene.floor is False
    (patch,) = scene.ground
    x, _, z = patch.triangles.points.T
    np.testing.assert_allclose(z, 0.02 * np.cos(20.0 * x), atol=1e-12)
    np.testing.assert_allclose(patch.transform, np.eye(4), atol=1e-15)
    assert x.min() < -0.1
    assert x.max() > 0.1


def test_planar_robots_stand_upright():
    hopper = fc.robots.revolute_hopper()
    floor = fc.contact.CompliantFloor(("foot",), stiffness=(1e4, 1e4), damping=(1e2, 1e2))
    scene = scene_of(fc.simulate(hopper, hopper.neutral(), 0.02, contact=floor))
    np.testing.assert_allclose(scene.floor[:3, 2], [0.0, 0.0, 1.0])


def test_a_run_from_a_file_is_drawn_without_its_forces(run, tmp_path):
    run.save(tmp_path / "run.npz")
    again = fc.simulation.Trajectory.load(tmp_path / "run.npz", run.model)
    scene = again.animate("joints").blocks[0]
    assert [type(each) for each in scene.extras] == [Dot, Axes]


def test_without_contact_there_is_no_floor():
    model = ball()
    scene = scene_of(fc.simulate(model, model.neutral(), 0.02))
    assert scene.floor is False
    assert scene.ground == ()


@pytest.mark.parametrize("model", [fc.robots.cat(), fc.robots.planar_arm(), fc.robots.prismatic_hopper()], ids=str)
def test_all_pictures_at_once_are_those_of_single_states(model):
    rng = np.random.default_rng(1)
    states = [model.random_state(rng) for _ in range(5)]
    poses, centers = scenes._link_poses(model, states)
    for i, state in enumerate(states):
        expected = fc.forward_kinematics(model, state)
        assert list(poses) == list(expected)
        for name, H in expected.items():
            np.testing.assert_allclose(poses[name][i], H, atol=1e-14)
        np.testing.assert_allclose(centers[i], fc.center_of_mass(model, state), atol=1e-14)
