"""Laws of dry friction: Coulomb's impulses, and one motion for every integrator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..arrays import array, concatenate, cos, sin
from ..arrays.types import Scalar, Vector
from ..caching import cached_property
from ..contact import Contact, corners
from ..control import Law
from ..errors import ModelError, describe
from ..formulations import UnprovedError
from ..lie import R3
from ..model import Body, Model, State, robots
from ..simulation import Integrator, Trajectory, simulate
from ..simulation.defaults import INTEGRATORS
from .report import Report, Requirement, of_type, require_complete

METHODS = ("implicit", "moreau", "rosenbrock", "located", "rkmk4")
"""Integrators that are tried unless others are named, where they take the contact."""
SPEED, DROP = 2.0, 0.002
"""m/s, at which a box slides; m, from which it is dropped."""
DURATION = 0.1
"""s: not long enough for friction to stop a box"""


@dataclass(frozen=True)
class RotatingForce(Law):
    """Horizontal force on the base whose direction turns."""

    size: float
    """N"""
    turn: float = 0.0
    """rad/s"""
    name: str = "pull"

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector:
        """``J' f`` of the force at time ``t``."""
        force = array([self.size * cos(self.turn * t), self.size * sin(self.turn * t), 0.0 * t])
        return concatenate([state.pose[:3, :3].T @ force, np.zeros(model.nv - 3)])


def check_friction(
    contact: Callable[[tuple[str, ...]], Contact],
    friction: float,
    *,
    integrators: Sequence[str | Integrator] | None = None,
    masses: Sequence[float] = (0.5, 5.0),
    dt: float = 1e-4,
) -> Report:
    """Try the laws of dry friction on boxes that slide, land, accelerate and turn on a contact.

    While a body slides, friction takes ``friction`` times the impulse of the normal forces from its momentum, whatever
    the contact does along its normal: this is exact for every compliant and hard contact with Coulomb's cone.  And all
    integrators find the same motion.  Friction should be saturated at a speed of 2 m/s: that of a compliant floor is
    where its tangential damping is not below its normal damping, else points stick for a moment while they land, and
    friction takes less.

    Args:
        contact: Function of the names of points that returns the contact under them: level ground at height 0.
        friction: Coulomb's coefficient of the contact.
        integrators: Names of integrators, or integrators; None: all of :data:`METHODS` that take the contact.
        masses: Masses of the boxes (kg).
        dt: Step (s) of integrators with fixed steps; it should resolve springs and dampers of the contact.

    Returns:
        Report of the laws.

    Raises:
        BrokenLawError: A law does not hold.

    Example:
        >>> import fallingcat as fc
        >>> def floor(points):
        ...     return fc.contact.CompliantFloor(points, (1e4, 1e3), (1e3, 300.0), friction=0.5)
        >>> print(check_friction(floor, 0.5, integrators=["rosenbrock", "rkmk4"], masses=[2.0]))
        friction of CompliantFloor: passed
          braking         ...  holds        sliding takes friction times the normal impulse
          accelerating    ...  holds        a force adds its impulse less that of friction
          landing         ...  holds        impacts take friction times the normal impulse
          methods         ...  holds        all integrators find the same motion
          steps           ...  holds        smaller steps do not change it
    """
    made = contact(("point",))
    of_type(made, Contact, "contact must be a function that returns a Contact")
    if not np.isfinite(friction) or friction <= 0.0:
        raise ModelError(f"friction must be a positive number, got {describe(friction)}")
    subject = f"friction of {type(made).__name__}"
    trials = [_Trial(contact, float(friction), float(mass), dt, integrators) for mass in masses]
    return Report.of(subject, (law.check_cases(subject, [(trial,) for trial in trials]) for law in LAWS))


@dataclass(frozen=True)
class _Trial:
    """A box on four points of a contact, and its runs."""

    contact: Callable[[tuple[str, ...]], Contact]
    friction: float
    mass: float
    dt: float
    integrators: Sequence[str | Integrator] | None

    def box(self, turns: bool) -> tuple[Model, tuple[str, ...]]:
        """Box of 0.3 x 0.2 x 0.1 m, which ``turns`` or only translates."""
        squares = np.array([0.3, 0.2, 0.1]) ** 2
        body = Body(self.mass, np.zeros(3), self.mass / 12.0 * np.diag(squares.sum() - squares))
        model = robots.free_body(None if turns else R3(), body)
        return corners(model, "body", [(x, y, -0.05) for x, y in product((0.15, -0.15), (0.1, -0.1))])

    @cached_property
    def methods(self) -> tuple[Integrator, ...]:
        """Integrators that support the contact."""
        given = METHODS if self.integrators is None else self.integrators
        chosen = [INTEGRATORS[x] if isinstance(x, str) else x for x in given]
        model, points = self.box(turns=False)
        return tuple(x for x in chosen if self.integrators is not None or self._accepts(x, model, points))

    def _accepts(self, method: Integrator, model: Model, points: tuple[str, ...]) -> bool:
        try:
            simulate(model, self.start(model), 0.0, contact=self.contact(points), integrator=method)
        except ModelError:
            return False
        return True

    def start(self, model: Model, falling: float = 0.0, spin: Any = (0.0, 0.0, 0.0)) -> State:
        """Initial state at 2 m/s."""
        pose = np.eye(4)
        pose[2, 3] = 0.05 + DROP
        return model.state(pose=pose, twist=[SPEED, 0.0, -falling, *spin][: model.m])

    def run(self, method: Integrator, pull: float, turn: float, finer: float = 1.0, **start: Any) -> Trajectory:
        """Run from the start, with a force relative to the limit of friction."""
        model, points = self.box("spin" in start)
        laws = RotatingForce(pull * self.friction * self.mass * 9.81, turn) if pull else None
        dt = self.dt / finer if method.tolerance is None else None
        options: dict[str, Any] = {"integrator": method, "dt": dt, "every": 10**6}
        return require_complete(
            simulate(model, self.start(model, **start), DURATION, laws, self.contact(points), **options)
        )

    def impulses(self, pull: float = 0.0, **start: Any) -> Iterator[float]:
        """Relative error of the impulse along the way, by integrator."""
        for method in self.methods:
            run = self.run(method, pull, 0.0, **start)
            change = run.poses[-1, :3, :3] @ run.twists[-1, :3] - run.twists[0, :3]
            pushed = change[2] + 9.81 * DURATION
            if run.twists[-1, 0] < 0.05 * SPEED or pushed <= 0.0:
                raise UnprovedError("the box stopped, or did not touch: nothing slides at the end")
            wanted = self.friction * (pull * 9.81 * DURATION - pushed)
            yield abs(change[0] - wanted) / (self.friction * pushed)

    def ends(self, finer: float = 1.0) -> list[np.ndarray]:
        """Final position of a spinning box under a force whose direction turns, by integrator."""
        start = {"spin": (0.0, 0.0, 5.0)}
        return [self.run(method, 2.0, 30.0, finer, **start).poses[-1, :3] for method in self.methods]

    @cached_property
    def coarse(self) -> list[np.ndarray]:
        """Final positions with the given step size."""
        return self.ends()


def _braking_residual(trial: _Trial) -> float:
    return max(trial.impulses())


def _accelerating_residual(trial: _Trial) -> float:
    return max(trial.impulses(pull=2.0))


def _landing_residual(trial: _Trial) -> float:
    return max(trial.impulses(falling=0.5))


def _end_difference(ends: list[np.ndarray], others: list[np.ndarray]) -> float:
    """Differences of the ends, relative to the way of a box without friction."""
    return max(float(np.abs(a - b).max()) / (SPEED * DURATION) for a, b in zip(ends, others, strict=True))


def _methods(trial: _Trial) -> float:
    if len(trial.methods) < 2:
        raise UnprovedError("one integrator alone agrees with itself: name another")
    return max(_end_difference([end] * len(trial.coarse), trial.coarse) for end in trial.coarse)


def _steps(trial: _Trial) -> float:
    return _end_difference(trial.coarse, trial.ends(finer=2.0))


LAWS = (
    Requirement("braking", "sliding takes friction times the normal impulse", 2e-3, _braking_residual),
    Requirement("accelerating", "a force adds its impulse less that of friction", 2e-3, _accelerating_residual),
    Requirement("landing", "impacts take friction times the normal impulse", 2e-3, _landing_residual),
    Requirement("methods", "all integrators find the same motion", 5e-3, _methods),
    Requirement("steps", "smaller steps do not change it", 5e-3, _steps),
)
