"""Drake: angular before linear, both along the world's axes; quaternions ``wxyz`` before positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import ModelError, describe
from .exchange import Exchange, Spot, Writing, exchange

if TYPE_CHECKING:
    from ..model import Model

_WRITINGS: Final = {
    "quaternion_floating": Writing(("qw", "qx", "qy", "qz", "x", "y", "z"), (3, 4, 5, 0, 1, 2), outside=(0, 3)),
    "revolute": Writing(("angle",), (0,)),
    "screw": Writing(("angle",), (0,)),
    "prismatic": Writing(("distance",), (0,)),
}


def drake(model: Model, plant: Any) -> Exchange:
    """Exchange with Drake.

    Args:
        model: Robot.
        plant: Finalised ``MultibodyPlant`` that holds this robot alone: joints are found by name.

    Returns:
        Exchange of states in both directions.

    Example:
        >>> theirs = drake(model, plant)  # doctest: +SKIP
        >>> q, v = theirs.to(*model.flatten(model.neutral()))  # doctest: +SKIP
    """
    if not all(hasattr(plant, name) for name in ("GetJointIndices", "get_joint", "is_finalized")):
        raise ModelError(f"plant is a MultibodyPlant, not {describe(plant)}")
    if not plant.is_finalized():
        raise ModelError("the plant has no states yet: call its Finalize()")
    places, base, names = {}, None, {joint.name for joint in model.joints}
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        kind = joint.type_name()
        if not joint.num_velocities():
            continue
        if kind not in _WRITINGS:
            raise ModelError(f"Drake's joint {joint.name()!r} is of the kind {kind}, which has no counterpart here")
        place = Spot(joint.position_start(), joint.velocity_start(), _WRITINGS[kind])
        if joint.parent_body().index() == plant.world_body().index() and joint.name() not in names:
            base = place
        else:
            places[joint.name()] = place
    return exchange(model, "Drake", base, places)
