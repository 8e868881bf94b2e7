"""Lagrange's method, [ETH] 3.4: two energies, differentiated.

In quasi-velocities ([Feurstein] (3.30)-(3.32), [From] (26), Boltzmann-Hamel):

    d/dt dL/dv - ad(v)' dL/dv - dL/dx = forces

where `dL/dx` is the derivative along `g exp(x)`.  All derivatives by complex step; for angles and lengths `ad = 0` and
this is [ETH] (3.27).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fallingcat.model import Model, State

from .motion import STEP, Moving, bracket, moving_links, rotors


def kinetic_energy(model: Model, state: State, velocity: Any = None, shift: Any = None) -> Any:
    """[ETH] (3.28): `sum m |dr_S/dt|^2 / 2 + w' Theta w / 2` (J), of links and rotors."""
    v = state.velocity if velocity is None else velocity
    turning = sum(rotor.inertia * (rotor.spin @ v) @ (rotor.spin @ v) for rotor in rotors(model))
    return 0.5 * (sum(_product(k, k) for k in moving_links(model, state, velocity, shift)) + turning)


def potential_energy(model: Model, state: State, shift: Any = None) -> Any:
    """[ETH] (3.32)-(3.33): `-sum r_S . m g` (J)."""
    at_rest = np.zeros(model.nv)
    return -sum(k.mass * model.gravity @ k.position for k in moving_links(model, state, at_rest, shift))


def momenta(model: Model, state: State, velocity: Any = None, shift: Any = None) -> np.ndarray:
    """`dT/dv` (nv): `T` is quadratic, so its derivative along `e_k` is the product of the motions `v` and `e_k`."""
    moved = moving_links(model, state, velocity, shift)
    units = [moving_links(model, state, unit, shift) for unit in np.eye(model.nv)]
    links = np.array([sum(_product(a, b) for a, b in zip(moved, unit, strict=True)) for unit in units])
    v = state.velocity if velocity is None else velocity
    return links + sum((rotor.inertia * rotor.spin.T @ (rotor.spin @ v) for rotor in rotors(model)), np.zeros(model.nv))


def inverse_dynamics(model: Model, state: State, acceleration: np.ndarray) -> np.ndarray:
    """The forces (nv) of a motion."""
    v = state.velocity
    rate = np.imag(momenta(model, state, v + 1j * STEP * acceleration, shift=v)) / STEP
    p, units = momenta(model, state), np.eye(model.nv)
    turning = np.array([p @ bracket(model, v, unit) for unit in units])  # ad(v)' p
    return rate - turning - np.array([_slope(model, state, unit) for unit in units])


def _slope(model: Model, state: State, direction: np.ndarray) -> float:
    energy = kinetic_energy(model, state, shift=direction) - potential_energy(model, state, shift=direction)
    return float(np.imag(energy) / STEP)


def _product(a: Moving, b: Moving) -> Any:
    return a.mass * a.velocity @ b.velocity + a.spin @ a.inertia @ b.spin
