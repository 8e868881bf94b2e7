"""Random robots: what the laws of the library are tested on."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...errors import ModelError
from ...lie import SE2, SE3, Group
from ..body import Body
from ..joint import Joint, Limits
from ..joints import (
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    Translational,
    Universal,
)
from ..model import GRAVITY, Link, Model
from .shapes import box

Kind = type[JointKind] | str

MOVING: tuple[type[JointKind], ...] = (
    Revolute,
    Continuous,
    Prismatic,
    Helical,
    Cylindrical,
    Universal,
    Planar,
    Spherical,
    Schoenflies,
    Translational,
    Free,
)
"""Every kind of joint that moves."""
IN_PLANE: tuple[type[JointKind], ...] = (Revolute, Continuous, Prismatic, Planar)
"""The kinds that can stay in the x-y plane."""

_BY_NAME: dict[str, type[JointKind]] = {kind.name: kind for kind in MOVING} | {Fixed.name: Fixed}
_REACH = 0.3  # standard deviation of the distance of a joint from its parent (m)


def random_tree(
    rng: np.random.Generator,
    n: int,
    kinds: Iterable[Kind] | None = None,
    base: Group | None = None,
    *,
    planar: bool = False,
    branching: float = 0.5,
    fixed: float | None = None,
) -> Model:
    """A random robot with ``n`` joints: random tree, kinds, axes, placements, limits and physical bodies.

    ``kinds`` are classes or names of joint kinds; left out, they are all that move, and now and then a weld.  ``base``
    is the base group, SE(3) if left out.  ``branching`` is the chance that a joint starts at any earlier link rather
    than at the last one (0 for a chain).  ``fixed`` is the chance that a joint is a weld.

    ``planar=True`` gives a robot of the x-y plane: base SE(2), gravity along ``-y``, hinges about z, sliders in the
    plane, centers of mass in the plane, and a principal axis of every body along z.

    The same generator state gives the same robot; lengths are a few tenths of a meter, masses 0.2 to 3 kg.

    >>> random_tree(np.random.default_rng(1), 4, kinds=["revolute"])
    <Model 'random': base SE(3), 5 links, 4 joint dof, 8.441 kg>
    >>> random_tree(np.random.default_rng(1), 4, planar=True).gravity
    array([ 0.  , -9.81,  0.  ])
    """
    if n < 0:
        raise ModelError(f"a robot has no {n} joints")
    weld = (0.1 if kinds is None else 0.0) if fixed is None else fixed
    chosen = [_kind(k) for k in kinds] if kinds is not None else list(IN_PLANE if planar else MOVING)
    if not chosen:
        raise ModelError("kinds is empty: a random robot needs at least one kind of joint")
    if planar and not set(chosen) <= {*IN_PLANE, Fixed}:
        raise ModelError(f"a planar robot has joints of the kinds {', '.join(k.name for k in IN_PLANE)} only")
    base = base or (SE2() if planar else SE3())
    links = tuple(Link(f"link{i}", random_body(rng, planar=planar)) for i in range(n + 1))
    joints = []
    for i in range(n):
        parent = int(rng.integers(0, i + 1)) if rng.random() < branching else i
        kind = Fixed if rng.random() < weld else chosen[int(rng.integers(len(chosen)))]
        motion = random_kind(rng, kind, planar=planar)
        placement, limits = _placement(rng, planar), _limits(rng, motion)
        joints.append(Joint(f"joint{i + 1}", motion, f"link{parent}", f"link{i + 1}", placement, limits=limits))
    gravity = np.array([0.0, GRAVITY[2], 0.0] if planar else GRAVITY)
    return Model("random", base, links, tuple(joints), gravity)


def random_body(rng: np.random.Generator, *, planar: bool = False) -> Body:
    """A solid box of random size, mass and pose; in the x-y plane for a ``planar`` one."""
    body = box(rng.uniform(0.2, 3.0), rng.uniform(0.05, 0.5, size=3))
    return body.moved(_placement(rng, planar))


def random_kind(rng: np.random.Generator, kind: type[JointKind], *, planar: bool = False) -> JointKind:
    """A joint of the given kind with random axes (z for a ``planar`` hinge, in the plane for a ``planar`` slider)."""
    if issubclass(kind, Universal):
        return kind(_axis(rng), _axis(rng))
    if issubclass(kind, Helical):
        return kind(_axis(rng), rng.uniform(-0.2, 0.2))
    if issubclass(kind, Prismatic) and planar:
        angle = rng.uniform(-np.pi, np.pi)
        return kind((float(np.cos(angle)), float(np.sin(angle)), 0.0))
    if issubclass(kind, Revolute) and planar:
        return kind((0.0, 0.0, float(rng.choice([-1.0, 1.0]))))
    if issubclass(kind, (Revolute, Prismatic, Cylindrical)):
        return kind(_axis(rng))
    return kind()


def _kind(kind: Kind) -> type[JointKind]:
    if not isinstance(kind, str):
        return kind
    if kind not in _BY_NAME:
        raise ModelError(f"there is no kind of joint {kind!r}; the kinds are {', '.join(_BY_NAME)}")
    return _BY_NAME[kind]


def _placement(rng: np.random.Generator, planar: bool) -> np.ndarray:
    H = np.array((SE2() if planar else SE3()).random(rng))
    H[:3, 3] *= _REACH
    return H


def _limits(rng: np.random.Generator, kind: JointKind) -> Limits:
    """Finite stops for half of the hinges and sliders, always around zero."""
    if isinstance(kind, Continuous) or not isinstance(kind, (Revolute, Prismatic)) or rng.random() < 0.5:
        return Limits()
    return Limits(*map(float, (-rng.uniform(0.5, 2.5), rng.uniform(0.5, 2.5))))


def _axis(rng: np.random.Generator) -> tuple[float, float, float]:
    x, y, z = rng.normal(size=3)
    return float(x), float(y), float(z)
