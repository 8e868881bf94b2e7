"""Copies of models are frozen like their originals."""

import copy
import pickle

import numpy as np
import pytest

import fallingcat as fc


def arrays(model):
    yield "gravity", model.gravity
    for link in model.links:
        yield from (("center", link.body.center), ("inertia", link.body.inertia))
    for joint in model.joints:
        yield from (("placement", joint.placement), ("offset", joint.offset))
    for frame in model.frames:
        yield "frame", frame.placement


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy])
@pytest.mark.parametrize("robot", [fc.robots.cat, fc.robots.revolute_hopper, fc.robots.orbital_arm])
def test_copies_are_frozen_and_the_same_robot(again, robot):
    model = robot()
    assert model.links[0].body.spatial_inertia.shape == (6, 6)  # what is kept beside the fields
    other = again(model)
    assert other is not model
    assert [model.name, model.base, *model.link_names] == [other.name, other.base, *other.link_names]
    for (name, x), (_, y) in zip(arrays(model), arrays(other), strict=True):
        np.testing.assert_array_equal(x, y)
        assert not y.flags.writeable, name
    state = model.random_state(np.random.default_rng(0))
    np.testing.assert_array_equal(fc.mass_matrix(model, state), fc.mass_matrix(other, state))
    assert not other.links[0].body.spatial_inertia.flags.writeable
