"""Laws of force laws: machine code gives the same forces, and work is energy."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..arrays import concatenate
from ..arrays.types import Scalar, Vector
from ..compiler import compile, fields
from ..control import Law
from ..dynamics import displace
from ..errors import ModelError, describe
from ..formulations.time import STEP
from ..model import Model, State
from ..simulation import simulate
from .report import Report, Requirement, generator, of_type, relative_difference, require_complete, states_of


def check_law(
    law: Law,
    model: Model,
    states: Iterable[State] | None = None,
    touching: Iterable[str] = (),
    dt: float = 1e-4,
    seed: int = 0,
) -> Report:
    """Check the laws of forces on a force law.

    A law with a method ``energy(model, state)`` claims to be its gradient.  A law with a state of its own is checked
    for ``begin``, ``memory_rate`` and ``after`` too.

    Args:
        law: Force law.
        model: Robot.
        states: States at which it is checked; None: ten random ones.
        touching: Points on which the law depends: it is checked with none and with all of them on the ground.
        dt: Step size (s) of runs; a stiff law needs smaller ones.
        seed: Seed of the random states.

    Returns:
        Table of residuals.

    Raises:
        BrokenLawError: A law does not hold.

    Example:
        >>> import fallingcat as fc
        >>> print(check_law(fc.control.JointSpring(2.0), fc.robots.cat()))
        law 'joint springs': passed
          plain data      ...  holds        hashable, equal to its copy
          forces          ...  holds        nv finite numbers
          compiled        ...  holds        machine code gives the same numbers
          gradient        ...  holds        forces = -d energy, by complex step
          energy balance  ...  holds        its work = energy of the robot, in a run
    """
    of_type(law, Law, "law must be a Law")
    of_type(model, Model, "model must be a Model")
    if not isinstance(touching, (list, tuple, set, frozenset)) or not all(isinstance(p, str) for p in touching):
        raise ModelError(f"touching must be names of points, got {describe(touching)}")
    rng = generator(seed)
    at = states_of(model, states, rng, 10)
    subject, trials = f"law {law.name!r}", _trials(law, model, at, frozenset(touching), dt, rng)
    return Report.of(subject, (one.check_cases(subject, cases) for one, cases in trials))


def _trials(
    law: Law, model: Model, at: list[State], touching: frozenset[str], dt: float, rng: np.random.Generator
) -> Iterator[tuple[Requirement, list[Any]]]:
    """Requirements that the law claims to meet, each with its cases."""
    contacts = list(dict.fromkeys((frozenset[str](), touching)))
    awake = [(_with_memory(law, model, state, rng), state) for state in at]
    cases = [(one, model, state, touches) for touches in contacts for one, state in awake]
    yield PLAIN_DATA, [(law,)]
    yield FORCES, cases
    yield COMPILED, [([one for one, _ in awake], model, at, touches) for touches in contacts]
    if callable(getattr(law, "energy", None)):
        yield GRADIENT, cases
    yield ENERGY_BALANCE, [(law, model, state, dt) for state in at[:3]]
    if law.memory_size(model) or type(law).begin is not Law.begin:
        yield STATE, [(law, one, model, state) for one, state in awake]
        yield MEMORY_AFTER, [(one, model, state) for one, state in awake]


def _with_memory(law: Law, model: Model, state: State, rng: np.random.Generator) -> Law:
    """Law with a state near its initial one, if it has a state of its own."""
    size = law.memory_size(model)
    begun = np.asarray(law.begin(model, state), dtype=float)
    return law.with_memory(begun + 0.1 * rng.normal(size=size)) if size and begun.shape == (size,) else law


def plain_data(x: Any) -> float:
    """Residual of the cache key: 0 for an object that is hashable and equal to a copy."""
    other = copy.deepcopy(x)
    return 0.0 if hash(other) == hash(x) and other == x else np.inf


def _forces(law: Law, model: Model, state: State, touches: frozenset[str]) -> float:
    law.check(model)
    found = np.asarray(law.forces(model, 0.3, state, touches), dtype=float)
    return 0.0 if found.shape == (model.nv,) and np.isfinite(found).all() else np.inf


def forces_at(model: Model, state: State, t: Scalar, memory: Vector, *, law: Law, touches: frozenset[str]) -> Vector:
    """Forces of a law, and the rate of its own state, for kernels."""
    law = law.with_memory(memory)
    return concatenate([law.forces(model, t, state, touches), law.memory_rate(model, t, state)])


def _compiled_residual(laws: list[Law], model: Model, states: list[State], touches: frozenset[str]) -> float:
    law = laws[0].with_memory(np.zeros(0))
    inputs: dict[str, int | tuple[int, ...]] = {"t": (), "memory": len(laws[0].memory)}
    kernel = compile(model, forces_at, inputs=inputs, state=State._fields, law=law, touches=touches)
    found, expected = [], []
    for i, (one, state) in enumerate(zip(laws, states, strict=True)):
        found.append(kernel(*fields(state), 0.1 * i, one.memory))
        forces, rate = one.forces(model, 0.1 * i, state, touches), one.memory_rate(model, 0.1 * i, state)
        expected.append(np.concatenate([forces, rate]).astype(float))
    return relative_difference(np.array(found), np.array(expected))


def _gradient(law: Any, model: Model, state: State, touches: frozenset[str]) -> float:
    slopes = [np.imag(law.energy(model, displace(model, state, 1j * STEP * unit))) / STEP for unit in np.eye(model.nv)]
    return relative_difference(law.forces(model, 0.3, state, touches), -np.array(slopes))


def _energy_balance(law: Law, model: Model, state: State, dt: float) -> float:
    return require_complete(simulate(model, state, 0.05, law, integrator="rkmk4", dt=dt, passive=False)).energy_residual


def _state(law: Law, awake: Law, model: Model, state: State) -> float:
    size = (law.memory_size(model),)
    begun, rate = np.asarray(law.begin(model, state)), np.asarray(awake.memory_rate(model, 0.3, state), dtype=float)
    fits = begun.shape == rate.shape == size and np.isfinite(begun).all() and np.isfinite(rate).all()
    return 0.0 if fits else np.inf


def _memory_residual(law: Law, model: Model, state: State) -> float:
    now = relative_difference(law.after(model, 0.3, state, 0.0), law.memory)
    slope = np.imag(law.after(model, 0.3, state, 1j * STEP)) / STEP
    return max(now, relative_difference(slope, np.asarray(law.memory_rate(model, 0.3, state), dtype=float)))


PLAIN_DATA = Requirement("plain data", "hashable, equal to its copy", 0.0, plain_data)
FORCES = Requirement("forces", "nv finite numbers", 0.0, _forces)
COMPILED = Requirement("compiled", "machine code gives the same numbers", 1e-12, _compiled_residual)
GRADIENT = Requirement("gradient", "forces = -d energy, by complex step", 1e-11, _gradient)
STATE = Requirement("state", "memory_size finite numbers begin, and change", 0.0, _state)
MEMORY_AFTER = Requirement("after", "its state changes by its rate, by complex step", 1e-11, _memory_residual)
ENERGY_BALANCE = Requirement("energy balance", "its work = energy of the robot, in a run", 1e-6, _energy_balance)
