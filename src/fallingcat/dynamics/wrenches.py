"""External wrenches, given in the representation that suits the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..arrays import block, concatenate
from ..arrays.types import Matrix, Pose, Vector, Wrench
from ..errors import ModelError, describe
from ..lie import SE3
from ..lie.rotations import skew
from ..model import Frame, Model, State
from ..model.literals import REPRESENTATIONS, Representation
from .checks import choice, vector
from .spatial import wrench_to_parent


def in_link_frames(
    model: Model, state: State, wrenches: Mapping[str, Wrench] | None, representation: Representation
) -> Iterator[tuple[int, Vector]]:
    """Link index and wrench ``[f; t]`` in the link frame, for each wrench."""
    for link, place, wrench in _at_places(model, state, wrenches, representation):
        yield link, wrench_to_parent(place.placement, wrench)


def in_base_frame(
    model: Model,
    state: State,
    poses: Sequence[Pose],
    wrenches: Mapping[str, Wrench] | None,
    representation: Representation,
) -> Iterator[tuple[int, Vector, Matrix]]:
    """Link index, wrench in the base frame, and its change as the link turns (6 x 6), for each wrench.

    ``poses`` are ``H_bj`` of the links.  When the link moves by a twist, the wrench, seen from the link, changes by the
    matrix times the twist: not for ``body``, whose wrench the link carries along; by its axes for ``mixed``; by all of
    ``ad' wrench`` for ``inertial``.
    """
    zero = np.zeros((3, 3))
    for link, place, given in _at_places(model, state, wrenches, representation):
        H = poses[link] @ place.placement
        wrench, turn = wrench_to_parent(H, given), np.zeros((6, 6))
        if representation == "inertial":
            turn = SE3().adt(wrench)
        elif representation == "mixed":
            F = skew(wrench[:3])
            turn = block([[zero, F], [zero, skew(H[:3, :3] @ given[3:]) + skew(H[:3, 3]) @ F]])
        yield link, wrench, turn


def _at_places(
    model: Model, state: State, wrenches: Mapping[str, Wrench] | None, representation: Representation
) -> Iterator[tuple[int, Frame, Vector]]:
    """Link index, frame of action and components in that frame of each wrench."""
    choice(representation, REPRESENTATIONS, "representation")
    if wrenches is None:
        return
    if not isinstance(wrenches, Mapping):
        raise ModelError(f"wrenches is a mapping from links to wrenches, not {describe(wrenches)}")
    if not wrenches:
        return
    from .kinematics import world_poses

    poses = world_poses(model, state)
    for name, given in wrenches.items():
        place = model.frame(name)
        index, wrench = model.link_index(place.link), vector(given, 6, f"wrench on {name!r}")
        if representation != "body":
            wrench = _to_body(poses[index] @ place.placement, wrench, representation)
        yield index, place, wrench


def _to_body(H: Pose, wrench: Vector, representation: Representation) -> Vector:
    if representation == "inertial":
        return SE3().Ad(H).T @ wrench
    R = H[:3, :3]
    return concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])
