"""Joint inertias: the inertia that each joint feels, and the links that nothing resists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..lie import SE3
from .body import Body

if TYPE_CHECKING:
    from .model import Model

MIN_UNIT: Final = 1e-150
"""Root of a locked inertia below which a motion has none: the inverses of smaller ones overflow."""
ROUNDING_INERTIA: Final = 1e-14
"""Inertia that is rounding, relative to what the same motion gives to all that hangs on it with its joints locked."""
_SE3 = SE3()


class Resistance(NamedTuple):
    """Inertia of the base or a joint along its axes (bodies x nv x nv), with the joints behind it free or locked."""

    free: np.ndarray
    """Articulated: ``D = S' (I - sum of what the joints behind let through) S + armature``; M > 0 where every D is."""
    locked: np.ndarray
    """Composite: ``S' I S`` of all that the joint carries, and its rotor."""

    @property
    def none(self) -> np.ndarray:
        """True where some direction is resisted by nothing (bodies)."""
        return np.asarray((_scaled(self)[0] <= ROUNDING_INERTIA).any(axis=1))


def resistances(model: Model, *bodies: Sequence[Body]) -> list[Resistance]:
    """Inertias of the base, then of every joint, at a random shape: what is zero there, is everywhere.

    Each of ``bodies`` has one for every link; they are tried side by side.
    """
    rng = np.random.default_rng(0)
    free = [np.array(each) for each in zip(*([body.spatial_inertia for body in one] for one in bodies), strict=True)]
    locked = list(free)
    found = []
    for joint, link, parent in reversed(list(zip(model.joints, range(1, len(free)), model.parents, strict=True))):
        q = joint.kind.group.random_coordinates(rng)
        S, X = joint.motion_subspace(q), _SE3.Ad(_SE3.inverse(joint.transform(q)))
        U, rotor = free[link] @ S, np.diag(joint.rotor)
        found.append(Resistance(S.T @ U + rotor, S.T @ locked[link] @ S + rotor))
        behind = free[link] - U @ _inverse(found[-1]) @ U.swapaxes(1, 2)
        free[parent] = free[parent] + X.T @ behind @ X
        locked[parent] = locked[parent] + X.T @ locked[link] @ X
    S = model.base.selection
    found.append(Resistance(S.T @ free[0] @ S, S.T @ locked[0] @ S))
    return found[::-1]


def idle_links(model: Model) -> tuple[str, ...]:
    """Massless links whose motion, relative to what carries them, nothing resists at any shape.

    None where parameters are expressions, which have no values yet.
    """
    if not model.is_numeric:
        return ()
    moves = [model.m > 0, *(joint.kind.nv > 0 for joint in model.joints)]
    massless = [link.name for link, moving in zip(model.links, moves, strict=True) if moving and not link.body.mass]
    if not massless:
        return ()
    light = set(massless)
    if any(joint.mimic for joint in model.joints):
        return _idle_links_with_mimics(model, light)
    felt = resistances(model, [link.body.possible for link in model.links])
    return tuple(link.name for link, at in zip(model.links, felt, strict=True) if link.name in light and at.none[0])


def _idle_links_with_mimics(model: Model, light: set[str]) -> tuple[str, ...]:
    """As :func:`idle_links`, where joints follow others: the massless links that a motion without inertia moves."""
    M, places = _mass(model), [range(model.m), *(range(model.m + v.start, model.m + v.stop) for v in model.v_slices)]
    # a diagonal of 1, so that one threshold serves kg and kg m^2; rows of zeros stay rows of zeros
    unit = np.sqrt(np.diag(M))
    unit[unit < MIN_UNIT] = 1.0
    values, vectors = np.linalg.eigh(M / np.outer(unit, unit))
    # of unit vectors: smaller entries are rounding of joints that the motion leaves alone
    moved = np.abs(vectors[:, values <= ROUNDING_INERTIA]).max(axis=1, initial=0.0) > 1e-6
    return tuple(
        link.name
        for link, own in zip(model.links, places, strict=True)
        if link.name in light and moved[list(own)].any()
    )


def _mass(model: Model) -> np.ndarray:
    """The mass matrix at a random shape, link by link: ``sum J' L J`` and the rotors."""
    shape, unit = model.configuration.random(np.random.default_rng(0)).joints, np.eye(model.nv)
    rates = unit[model.m :]
    jacobians = [model.base.selection @ unit[: model.m]]
    for joint, parent, q, v in zip(model.joints, model.parents, model.q_slices, model.v_slices, strict=True):
        X = _SE3.Ad(_SE3.inverse(joint.transform(shape[q])))
        jacobians.append(X @ jacobians[parent] + joint.motion_subspace(shape[q]) @ rates[v])
    bodies = [link.body.possible.spatial_inertia for link in model.links]
    M = sum(J.T @ L @ J for J, L in zip(jacobians, bodies, strict=True))
    return np.asarray(M + np.diag([*np.zeros(model.m), *model.armature]))


def _scaled(felt: Resistance) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues, eigenvectors and units of ``free``, each axis in units of what it gives to the locked whole."""
    # relative to the locked inertia: what is left by cancellation is rounding, however large in kg m^2
    unit = np.sqrt(np.diagonal(felt.locked, axis1=1, axis2=2).clip(min=0.0))
    unit[unit < MIN_UNIT] = 1.0
    scaled = felt.free / (unit[:, :, None] * unit[:, None, :])
    values, vectors = (scaled[:, :, 0], np.ones_like(scaled)) if unit.shape[1] == 1 else np.linalg.eigh(scaled)
    return values, vectors, unit


def _inverse(felt: Resistance) -> np.ndarray:
    """``D^-1`` along what resists, zero along what does not."""
    values, vectors, unit = _scaled(felt)
    some = values > ROUNDING_INERTIA
    weights = np.where(some, 1.0 / np.where(some, values, 1.0), 0.0)
    turned = vectors / unit[:, :, None]
    return np.asarray((turned * weights[:, None, :]) @ turned.swapaxes(1, 2))
