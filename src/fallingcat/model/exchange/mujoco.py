"""MuJoCo: quaternions ``wxyz``, linear velocities of free bodies along the world's axes."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final

from ...errors import ModelError
from ...lie import R1, SE3, SO2, SO3, Group, Trivial
from .exchange import Exchange, Spot, Writing, exchange

if TYPE_CHECKING:
    from ..model import Model

_WRITINGS: Final[dict[type[Group], Writing]] = {
    SE3: Writing(("x", "y", "z", "qw", "qx", "qy", "qz"), (0, 1, 2, 3, 4, 5), outside=(0,)),
    SO3: Writing(("qw", "qx", "qy", "qz"), (0, 1, 2)),
    SO2: Writing(("angle",), (0,)),
    R1: Writing(("distance",), (0,)),
    Trivial: Writing((), ()),
}


def mujoco(model: Model) -> Exchange:
    """Exchange with MuJoCo's ``qpos`` and ``qvel``, joints in the model's order.

    That is MuJoCo's order when the model was read from the same file, or from the ``MjModel``.  Quaternions in ``qpos``
    may have any length: MuJoCo normalizes them before it uses them.

    Args:
        model: Robot.

    Returns:
        Exchange of states in both directions.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> qpos, qvel = fc.exchange.mujoco(dog).to(*dog.flatten(dog.neutral()))
        >>> qpos[3:7]  # wxyz
        array([1., 0., 0., 0.])
    """
    groups = [model.base, *(joint.kind.group for joint in model.joints)]
    for group in groups:
        if type(group) not in _WRITINGS:
            raise ModelError(f"MuJoCo has no joint with the group {group}")
    starts = zip(_starts([g.nq for g in groups]), _starts([g.dim for g in groups]), groups, strict=True)
    base, *joints = [Spot(q, v, _WRITINGS[type(group)]) for q, v, group in starts]
    places = dict(zip((joint.name for joint in model.joints), joints, strict=True))
    return exchange(model, "MuJoCo", base, places, normalizes=True)


def _starts(sizes: list[int]) -> list[int]:
    return [0, *accumulate(sizes)][:-1]
