"""External wrenches, given in the representation that suits the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..arrays import concatenate
from ..arrays.types import Pose, Vector
from ..errors import ModelError, told
from ..lie import SE3
from ..model import Model, State
from ..model.words import REPRESENTATIONS, Representation
from .checks import choice, vector
from .spatial import wrench_to_parent


def in_link_frames(
    model: Model, state: State, wrenches: Mapping[str, Any] | None, representation: Representation
) -> Iterator[tuple[int, Vector]]:
    """For each wrench ``[f; t]`` the index of its link, and the wrench in the link frame."""
    choice(representation, REPRESENTATIONS, "representation")
    if wrenches is None:
        return
    if not isinstance(wrenches, Mapping):
        raise ModelError(f"wrenches is a mapping from links to wrenches, not {told(wrenches)}")
    if not wrenches:
        return
    from .kinematics import world_poses

    poses = world_poses(model, state)
    for name, given in wrenches.items():
        place = model.frame(name)
        index, wrench = model.link_index(place.link), vector(given, 6, f"wrench on {name!r}")
        if representation != "body":
            H = poses[index] @ place.placement
            wrench = _to_body(H, wrench, representation)
        yield index, wrench_to_parent(place.placement, wrench)


def _to_body(H: Pose, wrench: Vector, representation: Representation) -> Vector:
    if representation == "inertial":
        return SE3().Ad(H).T @ wrench
    R = H[:3, :3]
    return concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])
