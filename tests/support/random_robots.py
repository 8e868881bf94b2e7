"""Random robots for laws: every base group, every kind of joint, 1 to 60 joints, every other one with rotors."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import fallingcat as fc
from fallingcat.lie import R1, R3, SE2, SE3, SO2, SO3, Group, Helical, Schoenflies, Trivial

TILTED = (0.6, 0.0, 0.8)
BASES: tuple[Group, ...] = (
    SE3(),
    SE2(),
    SO3(),
    Schoenflies(),
    R3(),
    SO2(TILTED),
    R1(TILTED),
    Helical(TILTED, pitch=-0.4),
    Trivial(),
)


class Robot(NamedTuple):
    """A recipe: short to print, and the same robot whenever it is followed."""

    base: Group
    joints: int
    seed: int


def robots(largest: int = 60, bases: tuple[Group, ...] = BASES) -> st.SearchStrategy[Robot]:
    """Recipes; most robots are small, one in ten has any number of joints up to `largest`."""
    small, any_size = st.integers(1, min(5, largest)), st.integers(1, largest)
    joints = st.one_of(*[small] * 9, any_size)
    return st.builds(Robot, st.sampled_from(bases), joints, st.integers(0, 2**32 - 1))


@lru_cache(maxsize=256)
def build(recipe: Robot) -> tuple[fc.Model, fc.State]:
    """The robot and a random state of it; gravity pulls no axis in particular."""
    rng, drives = np.random.default_rng(recipe.seed), np.random.default_rng([recipe.seed, 2])
    model = replace(fc.robots.random_tree(rng, recipe.joints, base=recipe.base), gravity=rng.normal(scale=6.0, size=3))
    return driven(model, drives) if drives.random() < 0.5 else model, model.random_state(rng)


def driven(model: fc.Model, rng: np.random.Generator) -> fc.Model:
    """The robot with rotors of 1e-3 to 1 kg m^2 (or kg) on three joints out of four, and springs on half of them."""
    joints = [replace(joint, armature=_rotors(joint.kind.group, rng)) for joint in model.joints]
    for i in rng.permutation(len(joints))[::2]:
        if joints[i].kind.nv:
            joints[i] = replace(joints[i], passive=fc.Passive(*rng.uniform(size=4).tolist()))
    return replace(model, joints=tuple(joints))


def _rotors(group: Group, rng: np.random.Generator) -> np.ndarray:
    """Any inertias where rates add up; where they turn each other, one about all axes and none along any."""
    size = 10.0 ** rng.uniform(-3.0, 0.0, size=group.dim) if rng.random() < 0.75 else np.zeros(group.dim)
    if group.additive or not group.dim:
        return size
    return np.where(group.selection[3:].any(axis=0), size[0], 0.0)


def rng_of(recipe: Robot) -> np.random.Generator:
    """Numbers that a law needs beside the robot and its state."""
    return np.random.default_rng([recipe.seed, 1])
