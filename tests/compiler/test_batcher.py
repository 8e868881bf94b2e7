"""Batches and steps that are called again and again on the same arrays."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batcher_finds_what_a_call_finds(threads):
    cat = fc.robots.two_cylinder_cat()
    kernel = fc.compile(cat, fc.inverse_dynamics)
    rng = np.random.default_rng(0)
    q, v = (np.array(x) for x in cat.flatten(cat.random_state(rng, 13)))
    a = rng.normal(size=(13, cat.nv))
    go, found = kernel.batcher(q, v, a, threads=threads)
    for _ in range(3):
        a[:] = rng.normal(size=a.shape)
        go()
        np.testing.assert_array_equal(found, kernel(q, v, a))


def test_a_batcher_takes_no_other_arrays():
    cat = fc.robots.two_cylinder_cat()
    kernel = fc.compile(cat, fc.mass_matrix, state=["joints"])
    for wrong in (np.zeros((3, 4))[:, ::2], np.zeros((3, 5)), np.zeros((3, 2), dtype=np.float32)):
        with pytest.raises(ModelError, match="joints is a contiguous float64 array of shape"):
            kernel.batcher(wrong)
    with pytest.raises(ModelError, match="threads"):
        kernel.batcher(np.zeros((3, 2)), threads=0)


def test_a_stepper_writes_where_it_is_told():
    cat = fc.robots.two_cylinder_cat()
    kernel = fc.compile(cat, fc.mass_matrix, state=["joints"])
    room, joints = np.zeros((2, cat.nv**2)), np.array([0.3, -0.2])
    go, out = kernel.stepper(joints, out=room[1])
    go()
    np.testing.assert_array_equal(room[1].reshape(cat.nv, cat.nv), kernel(joints))
    assert out is not None
    assert not room[0].any()
    with pytest.raises(ModelError, match="out is a contiguous"):
        kernel.stepper(joints, out=np.zeros(3))
