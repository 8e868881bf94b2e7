"""Laws of force laws: machine code gives the same forces, and work is energy."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..control import Law
from ..dynamics import displace
from ..errors import ModelError, told
from ..formulations.time import STEP
from ..kernels import compile, fields
from ..model import Model, State
from ..simulation import simulate
from .report import Report, Requirement, apart, generator, of_type, whole


def check_law(
    law: Law,
    model: Model,
    states: Iterable[State] | None = None,
    touching: Iterable[str] = (),
    dt: float = 1e-4,
    seed: int = 0,
) -> Report:
    """Try the laws of forces on a force law of ``model``, at ``states`` (ten random ones if left out).

    ``touching`` are points on which the law depends: it is tried with none and with all of them on the ground.  A law
    with a method ``energy(model, state)`` claims to be its gradient.  Runs take steps of ``dt`` (s): a stiff law needs
    smaller ones.  Raises :class:`~fallingcat.errors.BrokenLawError`.

    >>> import fallingcat as fc
    >>> print(check_law(fc.control.JointSpring(2.0), fc.robots.cat()))
    law 'joint springs': passed
      plain data      ...  holds        hashable, equal to its copy
      forces          ...  holds        nv finite numbers
      compiled        ...  holds        machine code gives the same numbers
      gradient        ...  holds        forces = -d energy, by complex step
      books           ...  holds        its work = energy of the robot, in a run
    """
    of_type(law, Law, "check_law takes a force law")
    of_type(model, Model, "check_law takes a model")
    if not isinstance(touching, (list, tuple, set, frozenset)) or not all(isinstance(p, str) for p in touching):
        raise ModelError(f"touching are names of points, not {told(touching)}")
    if states is not None and (isinstance(states, State) or not isinstance(states, Iterable)):
        raise ModelError(f"states is a list of states, not {told(states)}")
    rng = generator(seed)
    at = [model.random_state(rng) for _ in range(10)] if states is None else list(states)
    contacts = list(dict.fromkeys((frozenset[str](), frozenset(touching))))
    cases = [(law, model, state, touches) for touches in contacts for state in at]
    subject = f"law {law.name!r}"
    trials: list[tuple[Requirement, list[Any]]] = [
        (PLAIN_DATA, [(law,)]),
        (FORCES, cases),
        (COMPILED, [(law, model, at, touches) for touches in contacts]),
        (GRADIENT, cases),
        (BOOKS, [(law, model, state, dt) for state in at[:3]]),
    ]
    claims = callable(getattr(law, "energy", None))
    return Report.of(subject, (one.tried(subject, given) for one, given in trials if one is not GRADIENT or claims))


def plain_data(x: Any) -> float:
    """What kernels are remembered by: 0 for what is hashable and equal to another of the same numbers."""
    other = copy.deepcopy(x)
    return 0.0 if hash(other) == hash(x) and other == x else np.inf


def _forces(law: Law, model: Model, state: State, touches: frozenset[str]) -> float:
    law.check(model)
    found = np.asarray(law.forces(model, 0.3, state, touches), dtype=float)
    return 0.0 if found.shape == (model.nv,) and np.isfinite(found).all() else np.inf


def forces_at(model: Model, state: State, t: Any, *, law: Law, touches: frozenset[str]) -> Any:
    """The forces of a law, for kernels."""
    return law.forces(model, t, state, touches)


def _compiled(law: Law, model: Model, states: list[State], touches: frozenset[str]) -> float:
    kernel = compile(model, forces_at, inputs={"t": ()}, state=State._fields, law=law, touches=touches)
    found, expected = [], []
    for i, state in enumerate(states):
        found.append(kernel(*fields(state), 0.1 * i))
        expected.append(np.asarray(law.forces(model, 0.1 * i, state, touches), dtype=float))
    return apart(np.array(found), np.array(expected))


def _gradient(law: Any, model: Model, state: State, touches: frozenset[str]) -> float:
    slopes = [np.imag(law.energy(model, displace(model, state, 1j * STEP * unit))) / STEP for unit in np.eye(model.nv)]
    return apart(law.forces(model, 0.3, state, touches), -np.array(slopes))


def _books(law: Law, model: Model, state: State, dt: float) -> float:
    return whole(simulate(model, state, 0.05, law, integrator="rkmk4", dt=dt, passive=False)).energy_residual


PLAIN_DATA = Requirement("plain data", "hashable, equal to its copy", 0.0, plain_data)
FORCES = Requirement("forces", "nv finite numbers", 0.0, _forces)
COMPILED = Requirement("compiled", "machine code gives the same numbers", 1e-12, _compiled)
GRADIENT = Requirement("gradient", "forces = -d energy, by complex step", 1e-11, _gradient)
BOOKS = Requirement("books", "its work = energy of the robot, in a run", 1e-6, _books)
