"""Scenes of several robots and objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.model import combine, rigid_object, robots
from fallingcat.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere


@pytest.mark.parametrize(
    "shape", [Box((0.1, 0.2, 0.3)), Sphere(0.2), Cylinder(0.1, 0.4), Capsule(0.1, 0.3), Ellipsoid((0.1, 0.2, 0.3))]
)
def test_the_inertia_of_a_solid_is_that_of_its_points(shape):
    rng = np.random.default_rng(0)
    p = rng.uniform(-0.6, 0.6, (400_000, 3))
    inside = {
        "box": lambda: np.all(np.abs(p) <= 0.5 * np.array(getattr(shape, "size", 1.0)), axis=1),
        "sphere": lambda: (p**2).sum(1) <= 0.04,
        "cylinder": lambda: (np.hypot(p[:, 0], p[:, 1]) <= 0.1) & (np.abs(p[:, 2]) <= 0.2),
        "capsule": lambda: np.hypot(np.hypot(p[:, 0], p[:, 1]), p[:, 2] - np.clip(p[:, 2], -0.15, 0.15)) <= 0.1,
        "ellipsoid": lambda: ((p / getattr(shape, "radii", (1.0, 1.0, 1.0))) ** 2).sum(1) <= 1.0,
    }[shape.kind]()
    squares = (p[inside] ** 2).mean(axis=0)
    found = rigid_object(shape, mass=2.0).links[0].body.inertia
    assert np.allclose(found.diagonal(), 2.0 * (squares.sum() - squares), rtol=0.03)


def test_what_a_part_does_in_a_scene_it_does_alone():
    arm, dog = robots.planar_arm(), robots.quadruped()
    scene = combine({"first": arm, "second": arm, "dog": dog})
    rng = np.random.default_rng(1)
    states = {"first": arm.random_state(rng), "second": arm.random_state(rng), "dog": dog.random_state(rng)}
    q = [states["first"].joints, states["second"].joints, *dog.flatten(states["dog"])[:1]]
    v = [states["first"].rates, states["second"].rates, dog.flatten(states["dog"])[1]]
    together = scene.state(joints=np.concatenate(q), rates=np.concatenate(v))
    whole = fc.forward_dynamics(scene, together, np.zeros(scene.nv))
    parts = ("first", arm), ("second", arm), ("dog", replace(dog, gravity=arm.gravity))
    alone = [fc.forward_dynamics(model, states[key], np.zeros(model.nv)) for key, model in parts]
    assert np.allclose(whole, np.concatenate(alone), atol=1e-9)


def test_names_frames_and_drives():
    dog = robots.quadruped()
    scene = combine({"dog": dog, "cube": rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0)})
    assert scene.link_names[:2] == ("world", "dog")
    assert {f"dog/{frame.name}" for frame in dog.frames} == {frame.name for frame in scene.frames}
    assert len(scene.contact_exclusions) == len(dog.contact_exclusions)
    driven = combine({"dog": dog.drive(["front_left_roll"]), "arm": robots.planar_arm()})
    assert driven.driven == ("dog/front_left_roll", "arm/joint1", "arm/joint2", "arm/joint3")


def test_a_fixed_part_stands_where_it_is_placed():
    H = np.eye(4)
    H[:3, 3] = [1.0, 2.0, 3.0]
    scene = combine({"wall": rigid_object(Box((1.0, 1.0, 1.0)))}, placements={"wall": H})
    assert np.allclose(fc.link_pose(scene, scene.neutral(), "wall"), H)


def test_what_is_no_part_is_refused():
    cube = rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0)
    with pytest.raises(fc.ModelError, match="models by name"):
        combine([cube, cube])
    with pytest.raises(fc.ModelError, match="other than 'world'"):
        combine({"world": cube})
    with pytest.raises(fc.ModelError, match="free or fixed"):
        combine({"hopper": robots.revolute_hopper()})
    with pytest.raises(fc.ModelError, match="'cub' is none; do you mean 'cube'"):
        combine({"cube": cube}, placements={"cub": np.eye(4)})
    with pytest.raises(fc.ModelError, match="mesh"):
        rigid_object(Mesh("cube.stl"), mass=1.0)
