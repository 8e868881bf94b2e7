"""The projected Newton-Euler method, [ETH] 3.5: Newton and Euler for every link, projected on the allowed motions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fallingcat.model import Model, State

from .motion import STEP, Moving, moving_links, rotors


class Jacobians(NamedTuple):
    """Of one link: `position` (3 x nv) of its center of mass in the world, `rotation` (3 x nv) in link axes."""

    position: np.ndarray
    rotation: np.ndarray


def jacobians(model: Model, state: State, shift: Any = None) -> list[Jacobians]:
    """[ETH] (3.29)-(3.30): what every unit velocity does to every link."""
    columns = [moving_links(model, state, unit, shift) for unit in np.eye(model.nv)]
    return [
        Jacobians(_stack([c[i].velocity for c in columns]), _stack([c[i].spin for c in columns]))
        for i in range(len(model.links))
    ]


def mass_matrix(model: Model, state: State, shift: Any = None) -> np.ndarray:
    """[ETH] (3.46): `sum J_S' m J_S + J_R' Theta J_R`, of links and rotors."""
    terms = [
        link.body.mass * J.position.T @ J.position + J.rotation.T @ link.body.inertia @ J.rotation
        for link, J in zip(model.links, jacobians(model, state, shift), strict=True)
    ]
    terms += [rotor.inertia * rotor.spin.T @ rotor.spin for rotor in rotors(model)]
    return sum(terms, np.zeros((model.nv, model.nv)))


def mass_matrix_derivative(model: Model, state: State, direction: np.ndarray) -> np.ndarray:
    """The derivative of the mass matrix along a displacement (nv) of the configuration, by complex step."""
    return np.imag(mass_matrix(model, state, shift=direction)) / STEP


def bias_forces(model: Model, state: State) -> np.ndarray:
    """[ETH] (3.47): `sum J_S' m dJ_S/dt v + J_R' (Theta dJ_R/dt v + w x Theta w)`."""
    v = state.velocity
    now, later = moving_links(model, state), moving_links(model, state, v, shift=v)
    out = np.zeros(model.nv)
    for J, link, moved in zip(jacobians(model, state), now, later, strict=True):
        a, alpha = np.imag(moved.velocity) / STEP, np.imag(moved.spin) / STEP
        torque = link.inertia @ alpha + np.cross(link.spin, link.inertia @ link.spin)
        out += J.position.T @ (link.mass * a) + J.rotation.T @ torque
    return out


def gravity_forces(model: Model, state: State) -> np.ndarray:
    """[ETH] (3.48): `-sum J_S' m g`."""
    terms = zip(jacobians(model, state), model.links, strict=True)
    return sum((-J.position.T @ (link.body.mass * model.gravity) for J, link in terms), np.zeros(model.nv))


def external_forces(model: Model, state: State, wrenches: Sequence[tuple[str, np.ndarray]]) -> np.ndarray:
    """[ETH] (3.49)-(3.51): wrenches `[f; t]` on links, about the world's origin and along its axes."""
    links, out = moving_links(model, state), np.zeros(model.nv)
    for name, wrench in wrenches:
        i = model.link_names.index(name)
        force, about_center = wrench[:3], wrench[3:] - np.cross(links[i].position, wrench[:3])
        J = jacobians(model, state)[i]
        out += J.position.T @ force + J.rotation.T @ links[i].rotation.T @ about_center
    return out


def inverse_dynamics(model: Model, state: State, acceleration: np.ndarray) -> np.ndarray:
    """[ETH] (3.38): `M dv/dt + b + g`."""
    return mass_matrix(model, state) @ acceleration + bias_forces(model, state) + gravity_forces(model, state)


def total_momentum(links: Sequence[Moving]) -> np.ndarray:
    """`[p; l]` of all links, about the world's origin and along its axes ([ETH] (3.19)-(3.20))."""
    p = sum((k.mass * k.velocity for k in links), np.zeros(3))
    spins = (k.rotation @ k.inertia @ k.spin for k in links)
    turning = sum((np.cross(k.position, k.mass * k.velocity) + s for k, s in zip(links, spins, strict=True)), 0.0)
    return np.concatenate([p, turning])


def _stack(columns: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(columns, axis=1) if len(columns) else np.zeros((3, 0))
