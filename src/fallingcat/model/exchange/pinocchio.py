"""Pinocchio: siblings sorted by name, wheels as ``cos, sin``, velocities as ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
    "Universal": Writing(("angle", "angle"), (0, 1)),
    "RevoluteUnaligned": _ANGLE,
    "RevoluteUnboundedUnaligned": _WHEEL,
    "HelicalUnaligned": _ANGLE,
    "PrismaticUnaligned": _DISTANCE,
    **{f"{kind}{axis}": _ANGLE for kind in "RH" for axis in "XYZ"},
    **{f"RUB{axis}": _WHEEL for axis in "XYZ"},
    **{f"P{axis}": _DISTANCE for axis in "XYZ"},
}


class JointPart(NamedTuple):
    """One joint of a chain that a joint of Pinocchio stands for; most stand for one."""

    suffix: str
    """after the name of the joint; empty for a joint of one part"""
    kind: str
    """kind of joint in Pinocchio, such as ``RX``"""
    joint: Any
    placement: np.ndarray
    """``4 x 4``: after the part before, or after the placement of the joint"""
    q: int
    """first place in Pinocchio's coordinates"""
    v: int


def joint_parts(joint: Any) -> list[JointPart]:
    """Chain that a joint of Pinocchio stands for: a composite one those in it, ``SphericalZYX`` three hinges."""
    return [part._replace(suffix="".join(f"/{word}" for word in part.suffix.split())) for part in _parts(joint)]


def _parts(joint: Any) -> Iterator[JointPart]:
    kind = joint.shortname().removeprefix("JointModel")
    exact = joint.extract() if hasattr(joint, "extract") else joint
    if kind == "Composite":
        for i, (inner, H) in enumerate(zip(exact.joints, exact.jointPlacements, strict=True)):
            before = np.array(H.homogeneous)
            for part in _parts(inner):
                yield part._replace(suffix=f"{i} {part.suffix}".strip(), placement=before @ part.placement)
                before = np.eye(4)
    elif kind == "SphericalZYX":
        for i, axis in enumerate("ZYX"):
            yield JointPart(axis.lower(), f"R{axis}", None, np.eye(4), joint.idx_q + i, joint.idx_v + i)
    else:
        yield JointPart("", kind, exact, np.eye(4), joint.idx_q, joint.idx_v)


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
    if not all(hasattr(like, name) for name in ("names", "joints", "parents")):
        raise ModelError(f"like is a pinocchio.Model, not {describe(like)}")
    places = {}
    for name, joint in list(zip(like.names, like.joints, strict=True))[1:]:
        for part in joint_parts(joint):
            if part.kind == "Mimic":
                _check_follows(model, name, part.joint)
                continue
            if part.kind not in WRITINGS:
                raise ModelError(
                    f"Pinocchio's joint {name!r} is of the kind {part.kind}, which has no counterpart here"
                )
            places[name + part.suffix] = Spot(part.q, part.v, WRITINGS[part.kind])
    base = [name for name, parent in zip(like.names, like.parents, strict=True) if not parent and name in places]
    base = [name for name in base if name not in {joint.name for joint in model.joints}]
    return exchange(model, "Pinocchio", places.pop(base[0]) if base else None, places)


def free_followers(model: Model, like: Any) -> list[str]:
    """Names of joints that follow others here and are free in the peer, whose mass matrix differs therefore."""
    free = {name for name, joint in zip(like.names, like.joints, strict=True) if "Mimic" not in joint.shortname()}
    return [joint.name for joint in model.joints if joint.mimic is not None and joint.name in free]


def _check_follows(model: Model, name: str, theirs: Any) -> None:
    """An error unless the joint follows here too, at the same ratio."""
    ours = {joint.name: joint.mimic for joint in model.joints}.get(name)
    if ours is None:
        raise ModelError(f"Pinocchio's joint {name!r} follows another, and here it does not")
    if not np.allclose([ours.ratio, ours.offset], [theirs.scaling, theirs.offset], rtol=1e-9, atol=1e-12):
        raise ModelError(f"Pinocchio's joint {name!r} follows as {theirs.scaling:g} q + {theirs.offset:g}, not as here")
