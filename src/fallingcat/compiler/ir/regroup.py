"""Mass that a joint cannot tell from its parent's, given to the parent: the same equations with fewer numbers.

Masses on the axis of a hinge lie still in the parent too; so do, for a slider, the second moments, which only turn.
Moving them leaves the kinetic energy and gravity as they are, and with them every quantity that follows from these two
(mass matrix, inverse and forward dynamics, christoffel matrix), but not what is said of single links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...arrays import is_numeric
from ...dynamics import (
    bias_forces,
    coriolis_matrix,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    mass_matrix,
    mass_matrix_derivative,
)
from ...dynamics.spatial import RigidInertia
from ...model import Body, Joint, Model

_FROM_ENERGY = {
    inverse_dynamics,
    forward_dynamics,
    mass_matrix,
    mass_matrix_derivative,
    bias_forces,
    gravity_forces,
    coriolis_matrix,
}


@dataclass(frozen=True, eq=False)
class Moments(Body):
    """A body given by its moments: it may have moments without mass, which no real body has."""

    first_moment: np.ndarray = field(default_factory=lambda: np.zeros(3))
    second_moment: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    @classmethod
    def of(cls, inertia: RigidInertia) -> Moments:
        """The body with these moments."""
        return cls(inertia.mass, first_moment=inertia.moment, second_moment=inertia.second_moment)


def regroups(function: Callable[..., Any], options: Mapping[str, Any]) -> bool:
    """True if the result follows from kinetic energy and gravity alone, so that moments may be regrouped."""
    return function in _FROM_ENERGY and options.get("factorization", "christoffel") == "christoffel"


def regroup_moments(model: Model) -> Model:
    """The robot with all movable moments moved, tips first."""
    own = [RigidInertia.from_body(link.body) for link in model.links]
    for i in reversed(range(len(model.joints))):
        joint = model.joints[i]
        kept, given = _split(joint, own[i + 1])
        if given is not None:
            own[i + 1] = kept
            own[model.parents[i]] = own[model.parents[i]] + given.to_parent(joint.placement)
    links = tuple(replace(link, body=Moments.of(inertia)) for link, inertia in zip(model.links, own, strict=True))
    same = replace(model, links=links)
    same.__dict__["idle_links"] = model.idle_links  # the same mass matrix, though no part here needs to be a body
    return same


def _split(joint: Joint, body: RigidInertia) -> tuple[RigidInertia, RigidInertia | None]:
    """Moments that must stay with the link, and those that the parent can carry (in the joint frame)."""
    axes = _fixed_axis(joint)
    if axes is None:
        return body, None
    zero = np.zeros((3, 3))
    along, axis = axes[:3], axes[3:]
    if not axis.any():  # a slider
        return RigidInertia(body.mass, body.moment, zero), RigidInertia(0.0, np.zeros(3), body.second_moment)
    if along.any() or np.count_nonzero(axis) != 1:  # on a slanted axis nothing becomes exactly zero
        return body, None
    # mass on the axis does not move as the joint turns: no force can tell it from mass of the parent
    on = np.outer(axis, axis) / (axis @ axis)
    on_axis = RigidInertia(body.mass, on @ body.moment, on @ body.second_moment @ on)
    rest = RigidInertia(0.0, body.moment - on_axis.moment, body.second_moment - on_axis.second_moment)
    return rest, on_axis


def _fixed_axis(joint: Joint) -> np.ndarray | None:
    """Screw axis ``[v; w]`` of a joint that moves as ``exp(q axis)``; None for every other joint.

    A joint of one rate whose motion subspace is constant moves as ``H(neutral) exp(q axis)``, whatever its group.
    """
    kind = joint.kind
    if not (joint._plain and kind.nv == 1 and kind.fixed_axes):
        return None
    neutral = kind.neutral()
    H, axis = kind.transform(neutral), kind.motion_subspace(neutral)
    return axis[:, 0] if is_numeric(axis) and is_numeric(H) and (np.eye(4) == H).all() else None
