"""Shapes of links: what they are, and that they stay where they are whatever is done to the model."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from random_robots import build, rng_of, robots

import fallingcat as fc
from fallingcat.compiler.cache.index import digest
from fallingcat.errors import ModelError
from fallingcat.lie import SE3
from fallingcat.model import Link
from fallingcat.model.shapes import KINDS, Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere

SHAPES = [
    Sphere(0.1),
    Ellipsoid((0.1, 0.2, 0.3)),
    Capsule(0.1, 0.4, color=(1, 0, 0, 0.5)),
    Cylinder(0.1, 0.4),
    Box((0.1, 0.2, 0.3)),
    Mesh("arm.stl", "/robots", (1.0, -1.0, 0.001)),
]


def dressed(model, rng):
    """The robot with shapes anywhere on its links, each of a radius of its own."""
    pose = SE3().random
    links = []
    for i, link in enumerate(model.links):
        more = {key: (Sphere(k + 2 * i + 1.0, placement=pose(rng)),) for k, key in enumerate(("visuals", "collisions"))}
        links.append(replace(link, **more))
    return replace(model, links=tuple(links))


def places(model, state):
    """For every shape, by its radius, where it is in the world."""
    poses = fc.forward_kinematics(model, state)
    found = {}
    for link in model.links:
        for shape in (*link.visuals, *link.collisions):
            found[shape.radius] = poses[link.name] @ shape.placement
    return found


def assert_same(a, b):
    assert set(a) == set(b)
    for radius, H in a.items():
        np.testing.assert_allclose(H, b[radius], rtol=0.0, atol=1e-11 * (1.0 + np.abs(H).max()))


@given(robots(largest=12, bases=(SE3(),)))
def test_shapes_stay_in_the_world_when_the_model_is_edited(recipe):
    model, state = build(recipe)
    model = dressed(model, rng_of(recipe))
    before = places(model, state)
    pairs = zip(model.joints, model.q_slices, strict=True)
    named = {joint.name: state.joints[place] for joint, place in pairs if joint.nv}
    every_other = {name: named[name] for name in model.joint_names[::2]}
    locked = model.lock(every_other)
    rest = {name: q for name, q in named.items() if name in locked.joint_names}
    assert_same(before, places(locked, locked.state(pose=state.pose, joints=rest)))
    merged = locked.merge_fixed()
    assert_same(before, places(merged, merged.state(pose=state.pose, joints=rest)))
    tip = model.link_names[-1]
    turned = model.reroot(tip)
    pose = np.asarray(fc.forward_kinematics(model, state)[tip])
    assert_same(before, places(turned, turned.state(pose=pose, joints=named)))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind)
@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy])
def test_copies_are_frozen_and_the_same_shape(again, shape):
    other = again(Link("arm", visuals=(shape,))).visuals[0]
    assert type(other) is type(shape) is KINDS[shape.kind]
    assert not other.placement.flags.writeable
    assert repr(other) == repr(shape)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Sphere(0.0), "the radius of a sphere is a positive number, not 0.0"),
        (lambda: Sphere(np.nan), "the radius of a sphere is a positive number, not nan"),
        (lambda: Sphere("thick"), "the radius of a sphere"),
        (lambda: Box((1.0, 2.0)), "the size of a box is 3 positive numbers"),
        (lambda: Box(1.0), "the size of a box is 3 positive numbers"),
        (lambda: Ellipsoid((1.0, -2.0, 1.0)), "the radii of a ellipsoid is 3 positive numbers"),
        (lambda: Capsule(1.0, np.inf), "the length of a capsule"),
        (lambda: Mesh(""), "the path of a mesh"),
        (lambda: Mesh("a.stl", scale=(1.0, 0.0, 1.0)), "none of them zero"),
        (lambda: Sphere(1.0, color=(1, 1, 1)), "a color is"),
        (lambda: Sphere(1.0, color=(1, 1, 1, 2)), "a color is"),
        (lambda: Sphere(1.0, placement=2 * np.eye(4)), "placement of a sphere is not a rigid"),
        (lambda: Link("arm", visuals="box"), "the visuals of link 'arm' are Shape records"),
        (lambda: Link("arm", collisions=[1.0]), "the collisions of link 'arm' are Shape records"),
    ],
)
def test_wrong_shapes_are_named(made, words):
    with pytest.raises(ModelError) as caught:
        made()
    assert words in str(caught.value)


def test_what_is_only_drawn_leads_to_the_same_kernels():
    model = fc.robots.cat()
    links = (replace(model.links[0], visuals=tuple(SHAPES)), *model.links[1:])
    assert digest(replace(model, links=links)) == digest(model)
    links = (replace(model.links[0], collisions=tuple(SHAPES)), *model.links[1:])
    assert digest(replace(model, links=links)) != digest(model)
