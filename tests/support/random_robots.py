"""Random robots for laws: every base group, every kind of joint, 1 to 60 joints.

Every other one has rotors, every fourth joints that follow others.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import fallingcat as fc
from fallingcat.lie import R1, R3, SE2, SE3, SO2, SO3, Cylindrical, Group, Helical, PseudoPlanar, Schoenflies, Trivial
from fallingcat.model.robots.random_tree import MOVING

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
    Cylindrical(TILTED),
    PseudoPlanar(pitch=-0.4),
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
    model = driven(model, drives) if drives.random() < 0.5 else model
    model = following(model, drives) if drives.random() < 0.25 else model
    return model, model.random_state(rng)


def driven(model: fc.Model, rng: np.random.Generator) -> fc.Model:
    """The robot with rotors of 1e-3 to 1 kg m^2 (or kg) on three joints out of four, and springs on half of them."""
    joints = [replace(joint, armature=_rotors(joint.kind.group, rng)) for joint in model.joints]
    for i in rng.permutation(len(joints))[::2]:
        if joints[i].kind.nv:
            joints[i] = replace(joints[i], passive=fc.model.Passive(*rng.uniform(size=4).tolist()))
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


SINGLE = ("revolute", "prismatic", "helical", "continuous")
"""Kinds of joints that can follow others."""


@lru_cache(maxsize=256)
def build_following(recipe: Robot) -> tuple[fc.Model, fc.State]:
    """As :func:`build`, with joints that follow others: most joints have one coordinate, and half of those follow."""
    rng = np.random.default_rng([recipe.seed, 3])
    kinds = [*SINGLE, *SINGLE, *SINGLE, *(kind.name for kind in MOVING)]
    model = fc.robots.random_tree(rng, recipe.joints + 1, kinds, recipe.base, fixed=0.1)
    model = replace(driven(model, rng) if rng.random() < 0.5 else model, gravity=rng.normal(scale=6.0, size=3))
    model = following(model, rng)
    return model, model.random_state(rng)


def following(model: fc.Model, rng: np.random.Generator) -> fc.Model:
    """The robot with half of its joints of one coordinate following others, some of which follow others themselves."""
    single = [i for i, joint in enumerate(model.joints) if joint.kind.name in SINGLE]
    order, joints = rng.permutation(single), list(model.joints)
    for k in range(1, len(order)):
        if rng.random() < 0.5:
            leader = model.joints[order[rng.integers(k)]].name
            ratio = rng.uniform(0.3, 2.0) * rng.choice([-1.0, 1.0])
            mimic = fc.model.Mimic(leader, ratio, rng.normal() if rng.random() < 0.7 else 0.0)
            joints[order[k]] = replace(joints[order[k]], mimic=mimic, limits=fc.model.Limits())
    return replace(model, joints=tuple(joints))


class Freed(NamedTuple):
    """The same robot without followers: all its rates are ``T v``."""

    model: fc.Model
    state: fc.State
    T: np.ndarray


def freed(model: fc.Model, state: fc.State) -> Freed:
    """Every joint with coordinates of its own, in the same place and with the same speed."""
    free = replace(model, joints=tuple(replace(joint, mimic=None) for joint in model.joints))
    names = [joint.name for joint in model.joints]
    T, joints = np.zeros((free.nv, model.nv)), np.zeros(free.nq - free.base.nq)
    T[: model.m, : model.m] = np.eye(model.m)
    for joint, q, v in zip(model.joints, free.q_slices, free.v_slices, strict=True):
        ratio, offset = (joint.mimic.ratio, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
        at = names.index(joint.mimic.leader if joint.mimic else joint.name)
        T[model.m + v.start : model.m + v.stop, model.m :][:, model.v_slices[at]] = ratio * np.eye(joint.kind.nv)
        joints[q] = ratio * state.joints[model.q_slices[at]] + offset
    velocity = T @ state.velocity
    return Freed(free, fc.State(state.pose, joints, velocity[: model.m], velocity[model.m :]), T)
