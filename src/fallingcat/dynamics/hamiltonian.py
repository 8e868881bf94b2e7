"""A user's potential, momenta and the Hamiltonian: [Feurstein] (3.10), (3.19), (3.31)-(3.36)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import array, concatenate, is_numeric, scale, solve
from ..arrays.differentiate import derivative
from ..arrays.types import Scalar, Vector, Vector_nv
from ..errors import ModelError, NumericsError, describe
from ..model import Model, State
from ..records import concise
from .checks import call_with_state, check_dynamic, check_state, vector
from .derivatives import displace
from .energy import kinetic_energy, potential_energy
from .inverse import gravity_forces
from .mass import mass_matrix

Potential = Callable[[State], Scalar]
"""``U(o, R, q)`` (J): a function of a state's pose and joints alone."""


def potential_forces(model: Model, state: State, potential: Potential) -> Vector_nv:
    """Slope of a potential along motions of base and joints, ``[R' dU/do; -sum r_i x dU/dr_i; dU/dq]``.

    It stands on the left of the equations of motion, ``M dv/dt + C v + potential_forces = forces``, as gravity does
    ([Feurstein] (3.32), (2.53) with its sign put right).  Plain numbers are differentiated by a complex step.  On a
    base or joint of a group it is the slope along its algebra.

    Args:
        model: Robot.
        state: Configuration.
        potential: Energy (J) as a function of the state, for any kind of number.

    Returns:
        Generalised forces, ``nv`` (N, N m).

    Example:
        >>> from fallingcat.model import robots
        >>> body = robots.free_body()
        >>> spring = lambda state: 50.0 * state.pose[:3, 3] @ state.pose[:3, 3]
        >>> potential_forces(body, body.state(pose=[[1, 0, 0, 0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]), spring)
        array([10.,  0.,  0.,  0.,  0.,  0.])
    """
    check_state(model, state)
    if not callable(potential):
        raise ModelError(f"a potential is a function State -> J, not {describe(potential)}")
    still = State(state.pose, state.joints, 0.0 * state.twist, 0.0 * state.rates)
    value = _number(call_with_state(potential, state, "the potential"), "the potential")
    if is_numeric(value) and value != _number(potential(still), "the potential"):
        raise ModelError("the potential depends on the velocity: it must be a function of pose and joints")
    return _slope(model, state, lambda at: _number(potential(at), "the potential"), "the potential")


@concise
class Hamiltonian(NamedTuple):
    """Value and derivatives of ``H(o, R, q, h_b, h_q)`` ([Feurstein] (3.35)-(3.36)).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> bool(np.allclose(fc.dynamics.hamiltonian(cat, state).by_momenta, state.velocity))
        True
    """

    value: Scalar
    """J: kinetic and potential energy"""
    momenta: Vector_nv
    """``nv``: ``h = M v``, ``[h_b; h_q]`` of the base and the joints (3.33)-(3.34)"""
    by_configuration: Vector_nv
    """``nv``: ``-dL/dx`` along motions of base and joints, at constant momenta"""
    by_momenta: Vector_nv
    """``nv``: the velocity ``[twist; rates]``"""


def hamiltonian(
    model: Model, state: State, momenta: Vector_nv | None = None, potential: Potential | None = None
) -> Hamiltonian:
    """Hamiltonian at a state, or at its configuration with other momenta.

    ``dh/dt = ad(v)' h - by_configuration + forces`` is Hamilton's equation, with ``model.configuration.ad``: that of
    the twist and the brackets of the joints.

    Args:
        model: Robot.
        state: Configuration and velocity.
        momenta: ``nv`` (N s, N m s); None: ``M v`` of the state.
        potential: Energy (J) as a function of the state; None: that of gravity.

    Returns:
        Energy (J), momenta, and derivatives by configuration and momenta (nv each).

    Example:
        >>> from fallingcat.dynamics import momentum
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> H = hamiltonian(cat, state)
        >>> bool(np.allclose(H.momenta[:6], momentum(cat, state)))
        True
    """
    check_state(model, state)
    check_dynamic(model)
    M = mass_matrix(model, state)
    if momenta is None:
        v, h = state.velocity, M @ state.velocity
    else:
        h = vector(momenta, model.nv, "momenta")
        v = solve(M, h)
        state = state._replace(twist=v[: model.m], rates=v[model.m :])
    if potential is None:
        U, slope = potential_energy(model, state), gravity_forces(model, state)
    else:
        U, slope = (
            _number(call_with_state(potential, state, "the potential"), "the potential"),
            potential_forces(model, state, potential),
        )
    joints = _slope(model, state, lambda at: kinetic_energy(model, at), "the kinetic energy")
    return Hamiltonian(kinetic_energy(model, state) + U, h, slope - joints, v)


def _slope(model: Model, state: State, energy: Potential, what: str) -> Vector:
    """Derivative (nv) of a function of the configuration, at constant velocity."""

    def slope_along(d: np.ndarray) -> Scalar:
        return derivative(lambda t: array([energy(displace(model, state, scale(t, d)))]), like=state)

    # one direction at a time: a complex step is exact to rounding, differences would lose half of the digits
    slope = concatenate([np.zeros(0), *map(slope_along, np.eye(model.nv))])
    if is_numeric(slope) and not np.isfinite(slope).all():
        raise NumericsError(
            f"{what} has no slope along velocity {int(np.argmin(np.isfinite(slope)))}: it is not finite"
        )
    return slope


def _number(x: Any, what: str) -> Scalar:
    """``x``, if it is one finite number, or one of another kind."""
    shape = np.shape(x) if not hasattr(x, "shape") else x.shape
    if shape not in ((), (1, 1)) or x is None or isinstance(x, (str, bytes)):
        raise ModelError(f"{what} is one number (J), not {describe(x)}")
    if is_numeric(x) and not np.isfinite(x):
        raise NumericsError(f"{what} is not finite here", value=float(np.real(x)))
    return x
