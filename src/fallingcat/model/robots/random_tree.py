"""Random robots: what the laws of the library are tested on."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...arrays.arguments import check_rng
from ...errors import ModelError, describe
from ...lie import SE2, SE3, Group
from ..body import Body
from ..joint import Joint, Limits
from ..joints import KINDS, LIBRARY, Fixed, JointKind
from ..link import Link
from ..model import GRAVITY, Model
from .shapes import box

Kind = type[JointKind] | str

MOVING: tuple[type[JointKind], ...] = tuple(kind for kind in LIBRARY if kind is not Fixed)
"""Every kind of joint that moves."""

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
    """Random robot with ``n`` joints: random tree, kinds, axes, placements, limits and physical bodies.

    ``planar=True`` gives a robot of the x-y plane: base SE(2), gravity along ``-y``, hinges about z, sliders in the
    plane, centers of mass in the plane, and a principal axis of every body along z.

    The same generator state gives the same robot; lengths are a few tenths of a meter, masses 0.2 to 3 kg.

    Args:
        rng: Random generator.
        n: Number of joints.
        kinds: Classes or names of joint kinds; None: all that move, and now and then a weld.
        base: Base group; None: SE(3).
        planar: Robot of the x-y plane.
        branching: Chance that a joint starts at any earlier link rather than at the last one (0 for a chain).
        fixed: Chance that a joint is a weld.

    Returns:
        Robot.

    Example:
        >>> random_tree(np.random.default_rng(1), 4, kinds=["revolute"])
        <Model 'random': base SE(3), 5 links, 4 joint dof, 8.441 kg>
        >>> random_tree(np.random.default_rng(1), 4, planar=True).gravity
        array([ 0.  , -9.81,  0.  ])
    """
    _check_numbers(rng, n, branching, fixed)
    chosen = _kinds_to_draw(kinds, planar)
    weld = (0.1 if kinds is None else 0.0) if fixed is None else fixed
    base = (SE2() if planar else SE3()) if base is None else base
    links = tuple(Link(f"link{i}", random_body(rng, planar=planar)) for i in range(n + 1))
    joints = []
    for i in range(n):
        parent = int(rng.integers(0, i + 1)) if rng.random() < branching else i
        kind = Fixed if rng.random() < weld else chosen[int(rng.integers(len(chosen)))]
        motion = kind.sample(rng, planar=planar)
        placement, limits = _placement(rng, planar), _limits(rng, motion)
        joints.append(Joint(f"joint{i + 1}", motion, f"link{parent}", f"link{i + 1}", placement, limits=limits))
    gravity = np.array([0.0, GRAVITY[2], 0.0] if planar else GRAVITY)
    return Model("random", base, links, tuple(joints), gravity)


def random_body(rng: np.random.Generator, *, planar: bool = False) -> Body:
    """Solid box of random size, mass and pose; in the x-y plane for a ``planar`` one."""
    check_rng(rng)
    body = box(rng.uniform(0.2, 3.0), rng.uniform(0.05, 0.5, size=3))
    return body.moved(_placement(rng, planar))


def _check_numbers(rng: object, n: object, branching: object, fixed: object) -> None:
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise ModelError(f"a robot has no {describe(n)} joints")
    check_rng(rng)
    for name, share in {"branching": branching, "fixed": 0.0 if fixed is None else fixed}.items():
        if not isinstance(share, (int, float)) or not 0.0 <= share <= 1.0:
            raise ModelError(f"{name} is a share from 0 to 1, not {describe(share)}")


def _kinds_to_draw(kinds: Iterable[Kind] | None, planar: bool) -> list[type[JointKind]]:
    """The kinds to draw from: those that are given, or all that move."""
    if kinds is None:
        return [kind for kind in MOVING if kind.planar or not planar]
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise ModelError(f"kinds is a list of kinds of joints, not {describe(kinds)}")
    chosen = [_kind(kind) for kind in kinds]
    if not chosen:
        raise ModelError("kinds is empty: a random robot needs at least one kind of joint")
    if planar and not all(kind.planar or kind is Fixed for kind in chosen):
        names = ", ".join(kind.name for kind in MOVING if kind.planar)
        raise ModelError(f"a planar robot has joints of the kinds {names} only")
    return chosen


def _kind(kind: Kind) -> type[JointKind]:
    if isinstance(kind, type) and issubclass(kind, JointKind):
        return kind
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelError(f"there is no kind of joint {describe(kind)}; the kinds are {', '.join(KINDS)}")
    return KINDS[kind]


def _placement(rng: np.random.Generator, planar: bool) -> np.ndarray:
    H = np.array((SE2() if planar else SE3()).random(rng))
    H[:3, 3] *= _REACH
    return H


def _limits(rng: np.random.Generator, kind: JointKind) -> Limits:
    """Finite stops for half of the hinges and sliders, always around zero."""
    if not kind.stops or rng.random() < 0.5:
        return Limits()
    return Limits(*map(float, (-rng.uniform(0.5, 2.5), rng.uniform(0.5, 2.5))))
