"""Pinocchio: siblings sorted by name, wheels as ``cos, sin``, velocities as ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import ModelError, describe
from .exchange import Exchange, Spot, Writing, exchange

if TYPE_CHECKING:
    from ..model import Model

_ANGLE: Final = Writing(("angle",), (0,))
_DISTANCE: Final = Writing(("distance",), (0,))
_WHEEL: Final = Writing(("cos", "sin"), (0,))
WRITINGS: Final = {
    "FreeFlyer": Writing(("x", "y", "z", "qx", "qy", "qz", "qw"), (0, 1, 2, 3, 4, 5)),
    "Spherical": Writing(("qx", "qy", "qz", "qw"), (0, 1, 2)),
    "Planar": Writing(("x", "y", "cos", "sin"), (0, 1, 2)),
    "Translation": Writing(("x", "y", "z"), (0, 1, 2)),
    "RevoluteUnaligned": _ANGLE,
    "RevoluteUnboundedUnaligned": _WHEEL,
    "HelicalUnaligned": _ANGLE,
    "PrismaticUnaligned": _DISTANCE,
    **{f"{kind}{axis}": _ANGLE for kind in "RH" for axis in "XYZ"},
    **{f"RUB{axis}": _WHEEL for axis in "XYZ"},
    **{f"P{axis}": _DISTANCE for axis in "XYZ"},
}


def pinocchio(model: Model, like: Any) -> Exchange:
    """Exchange with Pinocchio.

    Its base is the joint of the universe that the model has no joint for (``root_joint``); none for a fixed base.
    ``v_order`` maps matrices: ``crba(...)`` is ``M[np.ix_(v_order, v_order)]``.

    Args:
        model: Robot.
        like: ``pinocchio.Model`` of the same robot: joints are found by name.

    Returns:
        Exchange of states in both directions.

    Example:
        >>> import fallingcat as fc
        >>> import pinocchio as pin
        >>> like = pin.buildSampleModelManipulator()
        >>> model = fc.from_pinocchio_model(like)
        >>> q, v = fc.exchange.pinocchio(model, like).to(*model.flatten(model.neutral()))
        >>> q.shape == (like.nq,)
        True
    """
    if not all(hasattr(like, name) for name in ("names", "joints", "idx_qs", "idx_vs")):
        raise ModelError(f"like is a pinocchio.Model, not {describe(like)}")
    places = {}
    for name, joint, q, v in list(zip(like.names, like.joints, like.idx_qs, like.idx_vs, strict=True))[1:]:
        kind = joint.shortname().removeprefix("JointModel")
        if kind == "Mimic":
            _check_follows(model, name, joint.extract())
            continue
        if kind not in WRITINGS:
            raise ModelError(f"Pinocchio's joint {name!r} is of the kind {kind}, which has no counterpart here")
        places[name] = Spot(q, v, WRITINGS[kind])
    base = [name for name, parent in zip(like.names, like.parents, strict=True) if not parent and name in places]
    base = [name for name in base if name not in {joint.name for joint in model.joints}]
    return exchange(model, "Pinocchio", places.pop(base[0]) if base else None, places)


def _check_follows(model: Model, name: str, theirs: Any) -> None:
    """An error unless the joint follows here too, at the same ratio."""
    ours = {joint.name: joint.mimic for joint in model.joints}.get(name)
    if ours is None:
        raise ModelError(f"Pinocchio's joint {name!r} follows another, and here it does not")
    if not np.allclose([ours.ratio, ours.offset], [theirs.scaling, theirs.offset], rtol=1e-9, atol=1e-12):
        raise ModelError(f"Pinocchio's joint {name!r} follows as {theirs.scaling:g} q + {theirs.offset:g}, not as here")
