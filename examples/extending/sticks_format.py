"""A file format of one's own, ``.sticks``: a chain of thin sticks, one line ``length mass`` (m, kg) for each."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from fallingcat import Body, Joint, Link, Model
from fallingcat.lie import SE3
from fallingcat.model.joints import Revolute


def read_sticks(path: Path) -> Model:
    """The robot of a file."""
    sticks = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            length, mass = map(float, line.split())
        except ValueError:
            raise ValueError(f"line {number} is two numbers, length and mass, not {line!r}") from None
        sticks.append((length, mass))
    return chain(path.stem, sticks)


def chain(name: str, sticks: list[tuple[float, float]]) -> Model:
    """Sticks along z, with hinges along y between them."""
    links, joints = [], []
    for i, (length, mass) in enumerate(sticks):
        inertia = np.diag([mass * length**2 / 12.0] * 2 + [1e-4 * mass])
        links.append(Link(f"stick{i}", Body(mass, [0.0, 0.0, 0.5 * length], inertia)))
        if i:
            end = np.eye(4)
            end[2, 3] = sticks[i - 1][0]
            joints.append(Joint(f"hinge{i}", Revolute((0.0, 1.0, 0.0)), f"stick{i - 1}", f"stick{i}", placement=end))
    return Model(name, SE3(), tuple(links), tuple(joints))


def write_sticks(model: Model, path: str | os.PathLike[str]) -> None:
    """The file of such a robot."""
    lines = [f"{float(2.0 * link.body.center[2])!r} {float(link.body.mass)!r}\n" for link in model.links]
    Path(path).write_text("".join(lines), encoding="utf-8")
