"""Forces of laws and controller by port, and the same in native code for controllers that are plain Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import concatenate
from ...compiler import compile, fields
from ...control import Law
from ...model import Model, State


def applied_forces(
    model: Model,
    laws: tuple[Law, ...],
    controller: tuple[str, ...],
    external: bool,
    touching: frozenset[str],
    t: Any,
    state: State,
    given: Any,
) -> dict[str, Any]:
    """Generalized forces (nv) by port; laws that saturate see those of all drives, so they come last.

    Args:
        model: Robot.
        laws: Force laws.
        controller: Port of the controller, if there is one.
        external: True if the controller has forces on the base too.
        touching: Names of the points that touch.
        t: Time (s).
        state: Configuration and velocity.
        given: Forces of the controller (n or nv); None without one.
    """
    at = (model, t, state, touching)
    forces = {law.name: law.forces(*at) for law in laws if not law.saturates}
    for port in controller:
        forces[port] = given if external else concatenate([np.zeros(model.m), given])
    drives = (*(law.name for law in laws if law.commanded), *controller)
    asked = sum((forces[port] for port in drives if port in forces), start=np.zeros(model.nv))
    return forces | {law.name: law.saturated_forces(*at, asked) for law in laws if law.saturates}


def _forces_at(
    model: Model,
    state: State,
    clock: Any,
    given: Any,
    *,
    laws: tuple[Law, ...],
    controller: tuple[str, ...],
    external: bool,
) -> Any:
    """:func:`applied_forces` in the air, one port after the other."""
    forces = applied_forces(model, laws, controller, external, frozenset(), clock[0], state, given)
    return concatenate(list(forces.values()))


@functools.lru_cache(maxsize=64)
def compiled_forces(
    model: Model, laws: tuple[Law, ...], controller: tuple[str, ...], external: bool
) -> Callable[[float, State, Any], dict[str, Any]]:
    """Function ``(t, state, given) -> forces by port`` in native code: passive joint forces beside a controller."""
    inputs = {"clock": 1, "given": model.nv if external else model.n}
    about: dict[str, Any] = {"laws": laws, "controller": controller, "external": external}
    kernel = compile(model, _forces_at, inputs=inputs, state=State._fields, **about)
    last = [law.name for law in laws if law.saturates]
    ports = (*(law.name for law in laws if not law.saturates), *controller, *last)

    def at(t: float, state: State, given: Any) -> dict[str, Any]:
        return dict(zip(ports, kernel(*fields(state), np.array([t]), given).reshape(len(ports), -1), strict=True))

    return at
