"""Laws of integrators: the order is the slope of the error, and motion stays on its group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from .._deprecated import former_arguments
from ..arrays import array, concatenate, sin
from ..arrays.types import Scalar, Vector
from ..caching import cached_property
from ..control import Law
from ..errors import ModelError
from ..formulations import Check, UnprovedError
from ..model import Model, State, robots
from ..simulation import RKMK4, Integrator, Rule, Trajectory, rollout, simulate
from .report import Report, Requirement, largest, of_type, relative_difference, require_complete

STEPS = (0.02, 0.01, 0.005)
"""s; errors of these are compared."""
DURATION, FINE_STEP = 0.4, 1e-3
ROUNDING_ERROR = 1e-11
"""Errors below this say nothing of an order."""


@former_arguments(method="integrator")
def check_integrator(integrator: Integrator) -> Report:
    """Check the laws of integrators on a method.

    Runs are those of a cat that tumbles, a cat that is driven, and a robot of all joint kinds.  The order of a method
    that chooses its steps is measured with ``tolerance=None``.  A system that the method refuses by a ``ModelError`` is
    not claimed.

    Args:
        integrator: Integrator.

    Returns:
        Table of residuals.

    Raises:
        BrokenLawError: A law does not hold.

    Example:
        >>> from fallingcat.simulation import RKMK4
        >>> print(check_integrator(RKMK4()))
        integrator 'rkmk4': passed
          order           ...  holds        slope of the error of a free motion = order
          driven          ...  holds        the same under a force that depends on time
          energy          ...  holds        its error falls as fast, or is rounding
          momentum        ...  holds        its error falls as fast, or is rounding
          energy balance  ...  holds        work through ports = energy, falling as fast
          plain           ...  holds        compiled steps = steps in plain Python
          every joint     ...  holds        all joint kinds: energy falls as fast, poses stay poses
          rollout         ...  holds        many at once = one by one
    """
    of_type(integrator, Integrator, "integrator must be an Integrator")
    trial, subject = _Trial(integrator), f"integrator {integrator.name!r}"
    own = [(ROLLOUT, isinstance(integrator, Rule)), (TOLERANCE, integrator.tolerance is not None)]
    first = (law.check_cases(subject, [(trial,)]) for law in LAWS)
    every_joint = (_of_every_joint(trial, subject) for _ in range(1))
    last = (law.check_cases(subject, [(trial,)]) for law, claimed in own if claimed)
    return Report.of(subject, chain(first, every_joint, last))


@dataclass(frozen=True)
class ShakingTorques(Law):
    """Joint torques that depend on time."""

    name: str = "shaking"

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector:
        """Torques of the joints; no wrench on the base."""
        return concatenate([np.zeros(model.m), array([0.03 * sin(9.0 * t), -0.02 + 0.01 * sin(7.0 * t)])])


class _Trial:
    """Integrator with given steps, and its runs."""

    def __init__(self, method: Integrator) -> None:
        self.method = method
        self.fixed_step_method: Any = method if method.tolerance is None else replace(method, tolerance=None)  # type: ignore[type-var]
        self.cat = replace(robots.two_cylinder_cat(), gravity=np.zeros(3))
        twist, rates = [0.1, 0.2, 0.3, 0.8, 1.0, 1.2], [2.0, -1.0]
        self.start = self.cat.state(joints=[0.4, 0.3], twist=twist, rates=rates)

    def run(self, dt: float, controller: Any = None, duration: float = DURATION, method: Any = None) -> Trajectory:
        return require_complete(
            simulate(self.cat, self.start, duration, controller, integrator=method or self.fixed_step_method, dt=dt)
        )

    @cached_property
    def free_runs(self) -> list[Trajectory]:
        return [self.run(dt) for dt in STEPS]

    @cached_property
    def driven_runs(self) -> list[Trajectory]:
        return [self.run(dt, ShakingTorques()) for dt in STEPS]

    def errors(self, runs: list[Trajectory], controller: Any = None) -> list[float]:
        """Errors at the end, relative to a fine run of order 4."""
        fine = self.run(FINE_STEP, controller, method=RKMK4())
        return [
            largest(
                relative_difference(run.poses[-1], fine.poses[-1]), relative_difference(run.joints[-1], fine.joints[-1])
            )
            for run in runs
        ]


def _slopes(errors: list[float]) -> np.ndarray:
    """Observed orders: number of halvings of the error where the step halves."""
    if not np.isfinite(errors).all():
        raise UnprovedError("an error is not a finite number")
    resolved = [error for error in errors if error > ROUNDING_ERROR]
    if len(resolved) < 2:
        raise UnprovedError(f"errors of {max(errors):.1g} and less are rounding: there is no slope")
    return np.log2(np.array(resolved[:-1]) / resolved[1:])


def _order(trial: _Trial) -> float:
    return float(np.abs(_slopes(trial.errors(trial.free_runs)) - trial.method.order).max())


def _order_deviation(trial: _Trial) -> float:
    return float(np.abs(_slopes(trial.errors(trial.driven_runs, ShakingTorques())) - trial.method.order).max())


def _shortfall(errors: list[float], order: int) -> float:
    """Order minus observed slope; zero where errors are rounding, as soon as the order predicts it."""
    rounding = errors[0] < ROUNDING_ERROR * 2.0**order and max(errors[1:]) < ROUNDING_ERROR
    return 0.0 if rounding else max(0.0, order - float(_slopes(errors).min()))


def _energy(trial: _Trial) -> float:
    return _shortfall([_gap(run) for run in trial.free_runs], trial.method.order)


def _gap(run: Trajectory) -> float:
    """Largest change of the energy, relative to the initial one."""
    energy = np.sum(run.energies(), axis=0)
    return float(np.abs(energy - energy[0]).max()) / max(1.0, abs(float(energy[0])))


def _momentum(trial: _Trial) -> float:
    momenta = [run.momenta() for run in trial.free_runs]
    return _shortfall([float(np.abs(h - h[0]).max()) for h in momenta], trial.method.order)


def _energy_balance(trial: _Trial) -> float:
    return _shortfall([run.energy_residual for run in trial.driven_runs], trial.method.order)


def _callback_residual(trial: _Trial) -> float:
    law, cat = ShakingTorques(), trial.cat

    def controller(t: float, state: State) -> np.ndarray:
        return np.asarray(law.forces(cat, t, state, frozenset())[cat.m :])

    a, b = (trial.run(0.01, force, duration=0.05) for force in (law, controller))
    pairs = ((a.poses, b.poses), (a.rates, b.rates), (a.ledger.works, b.ledger.works))
    return largest(*(relative_difference(x, y) for x, y in pairs))


def _every_joint(trial: _Trial, model: Model, state: State) -> float:
    runs = [
        require_complete(simulate(model, state, 0.02, integrator=trial.fixed_step_method, dt=dt)) for dt in (2e-3, 1e-3)
    ]
    end = runs[-1].state(-1)
    joints = [(j.kind.group, end.joints[q]) for j, q in zip(model.joints, model.q_slices, strict=True)]
    on_group = model.base.contains(end.pose) and all(group.contains(group.element(q)) for group, q in joints)
    return largest(0.0 if on_group else np.inf, _shortfall([_gap(run) for run in runs], trial.method.order))


def _of_every_joint(trial: _Trial, subject: str) -> Check:
    law = Requirement("every joint", "all joint kinds: energy falls as fast, poses stay poses", 0.7, _every_joint)
    rng = np.random.default_rng(5)
    model = robots.random_tree(rng, 4, kinds=["spherical", "revolute", "planar", "universal"])
    state = model.random_state(rng)
    try:
        simulate(model, state, 0.0, integrator=trial.fixed_step_method)
    except ModelError as refusal:
        return law.unproved_check(str(refusal), claimed=False)
    return law.check_cases(subject, [(trial, model, state)])


def _rollout(trial: _Trial) -> float:
    starts = [trial.start, trial.start._replace(rates=-trial.start.rates)]
    many = rollout(trial.cat, starts, 0.05, ShakingTorques(), integrator=trial.fixed_step_method, dt=0.01)
    one = trial.run(0.01, ShakingTorques(), duration=0.05)
    return largest(
        relative_difference(many.poses[-1, 0], one.poses[-1]),
        relative_difference(many.works[-1, 0], one.ledger.works[-1]),
    )


def _tolerance(trial: _Trial) -> float:
    """Law of tolerances: one a hundred times as small makes the error at most half as large."""
    first = trial.method.tolerance
    assert first is not None
    methods = [replace(trial.method, tolerance=t) for t in (first, 1e-2 * first)]  # type: ignore[type-var]
    rough, fine = trial.errors([trial.run(DURATION, method=method) for method in methods])
    return fine / max(rough, ROUNDING_ERROR)


LAWS = (
    Requirement("order", "slope of the error of a free motion = order", 0.2, _order),
    Requirement("driven", "the same under a force that depends on time", 0.4, _order_deviation),
    Requirement("energy", "its error falls as fast, or is rounding", 0.7, _energy),
    Requirement("momentum", "its error falls as fast, or is rounding", 0.7, _momentum),
    Requirement("energy balance", "work through ports = energy, falling as fast", 0.7, _energy_balance),
    Requirement("plain", "compiled steps = steps in plain Python", 1e-9, _callback_residual),
)
ROLLOUT = Requirement("rollout", "many at once = one by one", 1e-12, _rollout)
TOLERANCE = Requirement("tolerance", "a smaller tolerance, a smaller error", 0.5, _tolerance)
