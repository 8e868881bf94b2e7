"""Rolling a robot out in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dynamics.checks import choice
from ..errors import FallingCatError, ModelError, NumericsError
from ..model import Model, State
from .events import Event, Found, locate
from .integrator import Integrator, System
from .momentum import MomentumMidpoint, check
from .rkmk4 import RKMK4
from .semi_implicit import SemiImplicitEuler
from .trajectory import Trajectory

INTEGRATORS: dict[str, Integrator] = {i.name: i for i in (MomentumMidpoint(), RKMK4(), SemiImplicitEuler())}

Controller = Callable[[float, State], Any]


def simulate(
    model: Model,
    state: State,
    duration: float,
    controller: Controller | None = None,
    *,
    integrator: str | Integrator | None = None,
    dt: float = 1e-3,
    every: int = 1,
    events: Sequence[Event] = (),
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """The motion of a robot from ``state`` over ``duration`` (s), in steps of ``dt`` (s).

    ``controller(t, state)`` gives joint forces (n; N m or N), or forces on base and joints (nv).  Without forces on the
    base the momentum-exact rule is the default where it applies; otherwise RKMK4.  Every ``every``-th step is kept.
    ``events`` are located within a step and may end the run.

    A number that is not finite, or a step that cannot be taken, ends the run: the trajectory so far is returned with
    ``status`` saying what happened, when, and where.

    >>> import fallingcat as fc
    >>> cat = fc.robots.two_cylinder_cat()
    >>> flight = fc.simulate(cat, cat.state(rates=[1.0, 0.5]), 0.05)
    >>> flight.status, len(flight)
    ('finished', 51)
    """
    if not np.isfinite([duration, dt]).all() or duration < 0.0 or dt <= 0.0:
        raise ModelError(f"duration and dt are finite and positive, not {duration!r} and {dt!r}")
    system = _system(model, state, controller)
    method = _method(model, system, integrator)
    advance = method.flight(system, state).step if isinstance(method, MomentumMidpoint) else _stepper(method, system)
    samples = _Samples(model)
    t, count, status = 0.0, 0, "finished"
    samples.keep(t, state, system.forces(t, state))
    found: list[Found] = []
    steps = max(1, round(duration / dt)) if duration > 0.0 else 0
    for count in range(1, steps + 1):
        step = duration / steps
        try:
            after = advance(t, state, step)
            _check_finite(model, t + step, after)
        except FallingCatError as error:
            status = f"stopped after {t:.6g} s: {error}"
            break
        hits = locate(system, method, t, state, after, step, events)
        found.extend(hits)
        stop = next((hit for hit in hits if hit.event.terminal), None)
        if stop is not None:
            t, state, status = stop.time, stop.state, f"stopped by the event {stop.event.name!r}"
            samples.keep(t, state, system.forces(t, state))
            break
        t, state = count * step, after
        if count % every == 0 or count == steps:
            samples.keep(t, state, system.forces(t, state))
        if progress is not None:
            progress(t / duration)
    return samples.trajectory(status, method.name, found)


def _system(model: Model, state: State, controller: Controller | None) -> System:
    if controller is None:
        zero = np.zeros(model.nv)
        return System(model, lambda t, state: zero, external=False)
    size = np.shape(controller(0.0, state))
    if size == (model.n,) and model.m:
        base = np.zeros(model.m)
        return System(model, lambda t, state: np.concatenate([base, controller(t, state)]), external=False)
    if size != (model.nv,):
        raise ModelError(f"the controller gives {model.n} joint forces or {model.nv} forces, not shape {size}")
    return System(model, lambda t, state: np.asarray(controller(t, state), dtype=float), external=True)


def _method(model: Model, system: System, wanted: str | Integrator | None) -> Integrator:
    if isinstance(wanted, Integrator):
        return wanted
    if wanted is not None:
        return INTEGRATORS[choice(wanted, tuple(INTEGRATORS), "integrator")]
    try:
        check(system)
        return INTEGRATORS["momentum"]
    except ModelError:
        return INTEGRATORS["rkmk4"]


def _stepper(method: Integrator, system: System) -> Callable[[float, State, float], State]:
    return lambda t, state, dt: method.step(system, t, state, dt)


def _check_finite(model: Model, t: float, state: State) -> None:
    if np.isfinite(state.rates).all() and np.isfinite(state.twist).all() and np.isfinite(state.joints).all():
        return
    for joint, place in zip(model.joints, model.v_slices, strict=True):
        if not np.isfinite(state.rates[place]).all():
            raise NumericsError("the motion is no longer finite", time=t, joint=joint.name)
    raise NumericsError("the motion of the base is no longer finite", time=t)


class _Samples:
    """The samples of a run, as they come."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.rows: list[tuple[float, State, np.ndarray]] = []

    def keep(self, t: float, state: State, forces: np.ndarray) -> None:
        self.rows.append((t, state, forces))

    def trajectory(self, status: str, integrator: str, found: list[Found]) -> Trajectory:
        times = np.array([t for t, _, _ in self.rows])
        states = [s for _, s, _ in self.rows]
        return Trajectory(
            self.model,
            times,
            np.array([s.pose for s in states]),
            np.array([s.joints for s in states]),
            np.array([s.twist for s in states]),
            np.array([s.rates for s in states]),
            np.array([f for _, _, f in self.rows]),
            status,
            integrator,
            {"events": [(hit.event.name, hit.time) for hit in found]},
        )
