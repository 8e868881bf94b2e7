"""Joints and laws that are not the library's: written as a user would write them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from saddle_joint import Saddle

import fallingcat as fc
from fallingcat.arrays import array, concatenate, cos, sin, stack
from fallingcat.lie import SO2, Group
from fallingcat.lie.rotations import about, homogeneous
from fallingcat.model import JointKind


class About:
    """What has the group of a hinge about z."""

    @cached_property
    def group(self) -> Group:
        return SO2((0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Rolling(About, JointKind):
    """A wheel that rolls along x: it turns about z by ``q`` and moves by ``radius q``."""

    radius: float = 0.3
    name = "rolling"

    def transform(self, q: Any) -> Any:
        return homogeneous(about((0.0, 0.0, 1.0), q[0]), array([self.radius * q[0], 0.0, 0.0]))

    def motion_subspace(self, q: Any) -> Any:
        r = self.radius
        return stack([array([r * cos(q[0]), -r * sin(q[0]), 0.0, 0.0, 0.0, 1.0])], axis=1)

    def motion_subspace_derivative(self, q: Any, rates: Any) -> Any:
        r = self.radius * rates[0]
        return stack([array([-r * sin(q[0]), -r * cos(q[0]), 0.0, 0.0, 0.0, 0.0])], axis=1)


class Motion:
    """A mixin: the methods of :class:`Rolling` without being a joint."""

    radius = 0.3
    transform, motion_subspace = Rolling.transform, Rolling.motion_subspace
    motion_subspace_derivative = Rolling.motion_subspace_derivative


@dataclass(frozen=True)
class Mixed(Motion, About, JointKind):
    """The same joint, whose methods come from a mixin."""

    name = "mixed"


@dataclass(frozen=True)
class Eccentric(About, JointKind):
    """A hinge whose axis passes through ``(0.2, 0.1, 0)``: axes of its own, which are constant, as it declares."""

    name = "eccentric"
    fixed_axes = True

    def transform(self, q: Any) -> Any:
        p, R = np.array([0.2, 0.1, 0.0]), about((0.0, 0.0, 1.0), q[0])
        return homogeneous(R, p - R @ p)

    def motion_subspace(self, q: Any) -> Any:
        return np.array([[0.1], [-0.2], [0.0], [0.0], [0.0], [1.0]])

    def motion_subspace_derivative(self, q: Any, rates: Any) -> Any:
        return np.zeros((6, 1))


@dataclass(frozen=True)
class Turned(About, JointKind):
    """A hinge about z that is mounted a quarter turn about x further: its own ``transform``, its group's axes."""

    name = "turned"

    def transform(self, q: Any) -> Any:
        mount = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
        return homogeneous(mount @ about((0.0, 0.0, 1.0), q[0]), np.array([0.1, 0.2, 0.3]))


@dataclass(frozen=True)
class Declared(Turned):
    """The same, which declares that its motion subspace is constant."""

    name = "declared"
    fixed_axes = True


KINDS = (Rolling(), Mixed(), Eccentric(), Turned(), Declared(), Saddle())


def robot(kinds: tuple[JointKind, ...] = KINDS, seed: int = 4) -> fc.Model:
    """A random robot on a free base with hinges between joints of these kinds."""
    rng = np.random.default_rng(seed)
    tree = fc.robots.random_tree(rng, 2 * len(kinds), kinds=["revolute"])
    hinge = fc.joints.Revolute((0.0, 0.0, 1.0))
    own = {f"joint{2 * i + 1}": kind for i, kind in enumerate(kinds)}
    joints = [replace(j, kind=own.get(j.name, hinge), limits=fc.model.Limits()) for j in tree.joints]
    return replace(tree, joints=tuple(joints))


@dataclass(frozen=True)
class Magnet(fc.control.Law):
    """Joints pulled to zero by a force that couples neighbours and fades with the distance; drag on the base."""

    pull: float = 3.0
    reach: float = 0.7
    drag: float = 0.2
    name: str = "magnet"

    def forces(self, model: Any, t: Any, state: Any, touching: Any) -> Any:
        x, v = state.joints[: model.n], state.rates
        near = np.exp(-(x**2) / self.reach) if self.reach else 1.0  # a number of the law decides what is written
        joints = -self.pull * x * near - 0.3 * v * np.abs(v) + 0.1 * np.roll(np.sin(x), 1) * np.cos(t)
        return concatenate([-self.drag * state.twist, joints])
