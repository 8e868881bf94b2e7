"""Scenes of boxes, balls and a gripper, for tests of contact between bodies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.contact import BodyContacts, body_pairs
from fallingcat.model import combine, rigid_object
from fallingcat.model.shapes import Box

G = 9.81


def at(x: float, y: float, z: float) -> list[float]:
    """Coordinates of a free joint, upright."""
    return [x, y, z, 0.0, 0.0, 0.0, 1.0]


def table(size: float = 4.0) -> fc.Model:
    """A fixed box, whose upper face is at the height 0."""
    H = np.eye(4)
    H[2, 3] = -0.5
    return rigid_object(Box((size, size, 1.0), placement=H))


def stack(count: int, tilt: float = 0.0, friction: float = 1.0) -> tuple[fc.Model, fc.State, BodyContacts]:
    """Cubes of 10 cm and 1 kg on a table that is tilted (rad) about y."""
    cubes = {f"cube{i}": rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0) for i in range(count)}
    scene = combine({"table": table(), **cubes}, gravity=(G * np.sin(tilt), 0.0, -G * np.cos(tilt)))
    names = ["table", *cubes]
    pairs = body_pairs(scene, list(pairwise(names)))
    start = scene.state(joints={name: at(0.0, 0.0, 0.05 + 0.1 * i) for i, name in enumerate(cubes)})
    return scene, start, BodyContacts(pairs, friction=friction)


def gripper(mass: float = 0.5) -> fc.Model:
    """Two fingers that slide along x, and a cube of 6 cm between them."""
    finger = fc.model.rigid_object(Box((0.02, 0.04, 0.04)), mass=0.2).links[0]
    x = fc.joints.Prismatic((1.0, 0.0, 0.0))
    links = [fc.Link("base"), *(fc.Link(name, finger.body, finger.visuals, finger.collisions) for name in ("l", "r"))]
    hand = fc.Model("hand", fc.lie.Trivial(), links, [fc.Joint(name, x, "base", name) for name in ("l", "r")])
    return combine({"hand": hand, "cube": rigid_object(Box((0.06, 0.06, 0.06)), mass=mass)})


def squeezed(force: float) -> Any:
    """Law of two constant finger forces (N)."""
    return (
        fc.control.ExternalWrench("hand/l", (force, 0.0, 0.0), name="left"),
        fc.control.ExternalWrench("hand/r", (-force, 0.0, 0.0), name="right"),
    )
