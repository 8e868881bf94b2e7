"""Laws in a step of machine code: their forces, and what the step foresees of how these fall as joints move."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, less, maximum, scale, where
from ...contact.theta_weights import ThetaWeights
from ...control import Law
from ...control.laws.carried_inertia import carried_inertia
from ...control.laws.drive_limits import cut_resistance, limits_speeds
from ...errors import NumericsError
from ...model import Model, State
from ..problem.contact_branches import by_contact_branches
from ..problem.problem import Problem

MIN_INERTIA = 1e-9
"""kg m^2 or kg"""


class LinearizedForce(NamedTuple):
    """Linearized law at the start of a step: forces (nv), drift and gain (n each).

    Forces of joints fall in the step with their rates before by the drift, and with the change of these by the gain.
    """

    forces: Any
    drift: Any
    """``dt K`` of springs that a step foresees"""
    gain: Any
    """``D + dt K``"""

    def scaled(self, share: Any) -> LinearizedForce:
        """Force with a share (n) of springs and dampers, where drives are cut."""
        return LinearizedForce(self.forces, share * self.drift, share * self.gain)

    def at_end(self, rates: Any, change: Any) -> Any:
        """``nv``: the forces at the end of the step, in which the rates (n) change by ``change``."""
        less_ = self.drift * rates + self.gain * change
        return self.forces - concatenate([np.zeros(len(self.forces) - len(less_)), less_])


def linearized_forces(
    problem: Problem,
    t: Any,
    state: State,
    forces: Any,
    touching: dict[str, Any],
    friction_law: str | None,
    dt: Any,
    middle: bool = False,
    speeds: bool = False,
    reactions: Any = 0.0,
) -> dict[str, LinearizedForce]:
    """Linearized forces of all laws, and of the controller, by their names; none yet of the law named ``friction_law``.

    ``forces`` are those (nv) of the controller, and its stiffness and damping (n each) where they are known.  A step
    foresees all of springs and dampers, or, if its places are those of its ``middle``, as much as
    :class:`.ThetaWeights`.  With ``speeds`` the speed limits of drives are left to :class:`.DriveSpeeds`.
    ``reactions`` (n) are forces on joints that resist drives within their limits.
    """
    model = problem.model
    found = _asked_forces(problem, t, state, forces, touching, friction_law, dt, middle)
    drives = [name for name in found if name in problem.driven_ports]
    asked = problem.total({name: found[name].forces for name in drives})
    for law in problem.laws:
        if law.saturates:
            gain = sum((found[name].gain for name in drives), start=np.zeros(model.n))
            own, share = _saturated_force(law, model, t, state, asked, gain, dt, speeds, -reactions)
            found |= {name: found[name].scaled(share) for name in drives} | {law.name: own}
    return {port: found[port] for port in problem.ports if port in found}


def _asked_forces(
    problem: Problem, t: Any, state: State, forces: Any, touching: Any, friction_law: str | None, dt: Any, middle: bool
) -> dict[str, LinearizedForce]:
    """Linearized forces of laws that do not saturate, and of the controller."""
    model, zero = problem.model, np.zeros(problem.model.n)
    laws = [law for law in problem.laws if not law.saturates and law.name != friction_law]
    given = {law.name: _forces(law, model, t, state, touching) for law in laws}
    held = forces[model.m : model.nv] if problem.controller is not None else zero
    others = {law.name: [given[x.name][model.m :] for x in laws if x is not law] for law in laws}
    loads = {name: sum(loading, start=held) for name, loading in others.items()}
    gains = _gains(model, laws, (model, t, state, touching, dt), loads, forces, middle)
    found = {name: LinearizedForce(own, *gains[name]) for name, own in given.items()}
    if friction_law is not None:
        found[friction_law] = LinearizedForce(np.zeros(model.nv), zero, zero)
    if problem.controller is not None:
        found["controller"] = LinearizedForce(forces[: model.nv], *gains.get("controller", (zero, zero)))
    return found


def _gains(
    model: Model, laws: list[Law], now: tuple[Any, ...], loads: dict[str, Any], forces: Any, middle: bool
) -> dict[str, tuple[Any, Any]]:
    """Drift and gain (n each) of laws, and of a controller whose stiffness and damping are among its ``forces``."""
    dt, impedances = now[-1], {}
    for law in laws:
        impedances[law.name] = _resisting_impedance(law.loaded_impedance, *now, loads[law.name])
    full_impedances = {law.name: _full_impedance(law, *now) for law in laws} if middle else {}
    if len(forces) > model.nv:
        impedances["controller"], full_impedances["controller"] = tuple(forces[model.nv :].reshape(2, -1)), None
    if middle and impedances and model.n:
        return _theta_weighted(impedances, full_impedances, _joint_inertia(model), dt)
    return {name: _euler(K, D, dt) for name, (K, D) in impedances.items()}


def _euler(K: Any, D: Any, dt: Any) -> tuple[Any, Any]:
    """Drift and gain (n each) of a law in a step that foresees the velocity at its end, and springs only if need be.

    What a damper holds as strongly as ``D > 2 dt K`` decays at ``K / D`` under the spring at the start, and more slowly
    under one at the end.
    """
    drift = dt * K - 0.5 * D
    drift = where(less(0.0, drift), drift, 0.0 * drift)
    return drift, D + drift


def _saturated_force(
    law: Law, model: Model, t: Any, state: State, asked: Any, gain: Any, dt: Any, speeds: bool, load: Any
) -> tuple[LinearizedForce, Any]:
    """Forces (nv) that a law takes from those its drives are ``asked`` for, and the remaining share (n) of a gain."""
    later = speeds and limits_speeds(law, model)
    at = state._replace(rates=np.zeros(model.n)) if later else state
    taken, u = law.saturated_forces(model, t, at, frozenset(), asked), asked[model.m :]
    share = cut_resistance(u, u + taken[model.m :], gain, carried_inertia(model), dt, load)
    zero = np.zeros(model.n)
    return LinearizedForce(taken, zero, zero if later else law.implicit_damping(model, state, asked, dt)), share


def _forces(law: Law, model: Model, t: Any, state: State, touching: dict[str, Any]) -> Any:
    """Forces (nv) of a law, whichever points touch."""
    return by_contact_branches(lambda known: law.forces(model, t, state, known), touching)


def _resisting_impedance(
    impedances: Callable[..., Any], model: Model, t: Any, state: State, touching: dict[str, Any], *about: Any
) -> Any:
    """Stiffness and damping (n each) that a law declares; negative parts stay explicit, for stability."""
    K, D = by_contact_branches(lambda known: impedances(model, t, state, known, *about), touching)
    return where(less(0.0, K), K, 0.0 * K), where(less(0.0, D), D, 0.0 * D)


def _full_impedance(law: Law, model: Model, t: Any, state: State, touching: dict[str, Any], dt: Any) -> Any:
    """The same by its impedance, of a law that may say less of it; else none."""
    if type(law).joint_impedance is Law.joint_impedance or law.impedance(model, state) is None:
        return None
    return _resisting_impedance(functools.partial(Law.joint_impedance, law), model, t, state, touching, dt)


def _joint_inertia(model: Model) -> Any:
    """``n``: inertias behind joints; next to none where springs and dampers are all that resists."""
    try:
        return maximum(carried_inertia(model), np.full(model.n, MIN_INERTIA))
    except NumericsError:
        return np.full(model.n, MIN_INERTIA)


def _theta_weighted(
    impedances: dict[str, Any], full_impedances: dict[str, Any], inertia: Any, dt: Any
) -> dict[str, tuple[Any, Any]]:
    """Drift and gain (n each) of laws in the middle of a step, as :class:`.ThetaWeights` of all laws of a joint.

    Where a law has cut the gain ``D + dt K`` by :func:`.cut_resistance`, to ``c``, that is
    ``(c + m / dt) (G + m / dt) / (D + dt K + m / dt) - m / dt`` of the gain ``G`` that is left of it in the middle.
    """
    whole = {name: own if full_impedances[name] is None else full_impedances[name] for name, own in impedances.items()}
    K, D = (sum(x, start=0.0 * inertia) for x in zip(*whole.values(), strict=True))
    parts, m, found = ThetaWeights.of_joints(K, D, 1.0 / inertia, dt), inertia * (1.0 / dt), {}
    for name, own in impedances.items():
        drift, left = parts.predicted(*whole[name])
        share: Any = 1.0
        if full_impedances[name] is not None:
            gain, cut = (D + dt * K for K, D in (whole[name], own))
            kept = (cut + m) * (left + m) / (gain + m) - m
            share = maximum(kept, 0.0 * kept) / where(less(0.0, left), left, 1.0 + 0.0 * left)
        found[name] = share * drift, share * left
    return found


def end_forces(model: Model, state: State, linear_forces: dict[str, LinearizedForce], dt: Any) -> tuple[Any, Any]:
    """Forces (nv) at the end of a step without acceleration, and the armature (n) by which they fall with it."""
    zero = np.zeros(model.n)
    forces = sum((one.at_end(state.rates, zero) for one in linear_forces.values()), start=np.zeros(model.nv))
    return forces, scale(dt, sum((one.gain for one in linear_forces.values()), start=zero))


def powers_of(
    model: Model, state: State, change: Any, linear_forces: dict[str, LinearizedForce]
) -> list[tuple[Any, Any]]:
    """Powers (W) through base and joints, of each law, along the mean of the velocities before and after.

    They are those at the end of a step in which velocities change by ``change`` (nv).
    """
    m, mean = model.m, state.velocity + 0.5 * change
    return [
        (F[:m] @ mean[:m], F[m:] @ mean[m:])
        for F in (p.at_end(state.rates, change[m:]) for p in linear_forces.values())
    ]
