"""Compliant joint stops: springs and dampers beyond the limits of the joints."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import clip, is_numeric, less, less_equal, maximum, minimum, scale, sqrt, stack, where
from ...arrays.types import Matrix_2_n, Scalar, Vector_n, Vector_nv
from ...contact.rigid.joint_stops import LAW, LOWER, UPPER, beyond, joint_stops
from ...dynamics.kinematics import world_poses
from ...errors import ModelError, describe
from ...model import Model, State
from ...records import concise
from .base import Law
from .carried_inertia import carried_inertia, coupling
from .drive_limits import limited_rates, limits_of_rates
from .springs import on_rates

STEP = 1e-3
"""Default step size that stops and friction are made for (s)."""
MAX_START_DEPTH = 0.1
"""Largest depth beyond a limit at which a run may start, as after one that ended there (rad, m)."""
MIN_START_DEPTH = 1e-3
"""The same from which on a run says so where its steps return the joint more slowly than the law does (rad, m)."""
RETURN_TIME = 8e-3
"""Damping over stiffness of a stop (s): a joint at the depth ``y`` returns at ``y / RETURN_TIME`` at most, however
stiff the stop is; the softest one, of ``2 / RETURN_TIME``, is critically damped"""
MAX_STOP_PHASE = 1.0 / 3.0
"""Product of step and frequency ``w`` up to which implicit steps follow the arrival of a joint at a stop"""
ARRIVAL_RATIO = 1.25
"""Way of a joint in a step, relative to its depth there, from which on it arrives: it may come half a step earlier"""
IMPACT_DAMPING = 1e4
"""Damping of a joint that arrives at a stop that steps do not resolve, in inertias a step: more than any inertia"""
MAX_DEPTH = 0.02
"""Depth beyond a limit at which a stop holds the drive of its joint (rad, m)."""


def check_step(step: Any, name: str) -> None:
    """Raise an error for a step size that is not positive; one of a compiled step is not checked."""
    if is_numeric(step) and not step > 0.0:
        raise ModelError(f"step of {name!r} must be positive (s), got {describe(step)}")


@concise
@dataclass(frozen=True)
class JointStops(Law):
    """Compliant joint limits: springs and dampers beyond ``limits.lower`` and ``limits.upper``.

    At a depth ``y`` beyond a limit, ``F = m w^2 (y + T dy/dt)``, not below 0 (stops do not pull) and not above
    ``4 m w^2 y`` (so that it starts from 0), with the inertia ``m`` of :func:`carried_inertia` and ``T = 8 ms``.  ``w``
    is 250 rad/s, and more where it takes more to hold the drive of the joint (``limits.effort``) at a depth of 0.02
    rad, or to take up a fall of a free robot within 0.1 rad (:func:`fall_load`).  Explicit steps, which have to resolve
    stops, limit ``w`` to ``1 / sqrt(2 T step)``, and take ``T = 8 step`` above 1 ms.  It only dissipates energy.

    A joint that starts beyond its stop returns at ``y / T`` at most.  One that arrives with the speed ``v`` and the
    inertia ``a >= m`` behind it goes at most ``sqrt(a / m) v / w`` beyond and leaves with about
    ``v / (1 + 2 w T sqrt(m / a))``, which is 0.2 v at the softest stop, and next to nothing at a stiff one.  Steps of
    ``implicit`` and ``moreau`` that do not resolve ``w`` give it this speed as an impulse, for the inertia ``a`` of the
    joint by itself.

    Equal limits mean none, as in many files.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> inside = JointStops(1e-3).forces(dog, 0.0, dog.neutral(), frozenset())
        >>> bool((inside == 0.0).all())
        True
    """

    step: float
    """s"""
    name: str = LAW
    foreseen: bool = False
    """True for implicit steps, which need not resolve ``w``"""
    unresolved: tuple[bool, ...] = ()
    """True for joints whose ``w`` is not resolved by steps that take forces as linear in the velocity at their end;
    none: all are resolved"""
    commanded = False
    ignores_contact = True

    def __post_init__(self) -> None:
        """Check the fields; the step size is positive."""
        super().__post_init__()
        check_step(self.step, self.name)

    def for_implicit_steps(self) -> JointStops:
        """Stops for implicit steps, which need not resolve them."""
        return self if self.foreseen else replace(self, foreseen=True)

    def for_linearized_steps(self, model: Model) -> JointStops:
        """Stops for steps that take forces as linear in the velocity at their end.

        Args:
            model: Robot.

        Returns:
            Stops, some of which brake joints that would pass them within a step.
        """
        found = _unresolved_stops(replace(self, unresolved=()) if self.unresolved else self, model)
        return self if found == self.unresolved else replace(self, unresolved=found)

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Stop forces of the joints beyond a limit, else zero."""
        rates, *law = self._laws(model, state)
        return on_rates(model, rates, law[0])

    def joint_impedance(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar
    ) -> Matrix_2_n:
        """Springs and dampers of the stops in contact."""
        return self.loaded_impedance(model, t, state, touching, dt, np.zeros(model.n))

    def loaded_impedance(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar, load: Vector_n
    ) -> Matrix_2_n:
        """The same under a ``load`` (n) of other forces, which may press a joint onto its stop within the step."""
        rates, _, K, D = self._laws(model, state, scale(dt, load / carried_inertia(model)))
        return stack([on_rates(model, rates, x)[model.m :] for x in (K, D)])

    def _laws(self, model: Model, state: State, change: Any = None) -> tuple[Any, Any, Any, Any]:
        """Places of the rates of joints with stops, and force, stiffness and damping of each.

        Dampers that steps do not resolve act also where a ``change`` (n) of the rates would press joints onto them.
        """
        places, rates, lower, upper = _ends(model)
        q, v, m, w = (
            state.joints[places],
            state.rates[rates],
            carried_inertia(model)[rates],
            self._frequencies(model)[rates],
        )
        inward, zero = _way_inside(q, lower, upper), 0.0 * q
        stiffness = m * (w * w)
        damping, spring = self._return_time() * stiffness, stiffness * inward
        push = spring - damping * v
        along, most = push * spring, 4.0 * spring  # signs are those of the end: the law is the same at both
        free, capped = less_equal(along, zero), less(most * spring, along)
        force = where(free, zero, where(capped, most, push))
        K, D = where(capped, zero, stiffness), where(capped, zero, damping)
        law = force, where(free, zero, K), where(free, zero, D)
        coarse = np.array(self.unresolved or (False,) * len(rates), dtype=bool)
        if not coarse.any():
            return rates, *law
        # a joint that arrives leaves at once with its rebound: no depth throws it back, and no drive holds its speed
        square, passing = inward * inward, _way_inside(q + self.step * v, lower, upper)
        beyond, passes = less(zero, square), less(zero, passing * passing)
        hit, alone = (IMPACT_DAMPING / self.step) * m, np.sqrt(coupling(model)[rates])
        leaves = 1.0 / (1.0 + 2.0 * self._return_time() * alone * w)
        impact = -(1.0 + leaves) * hit * v, zero, hit
        ahead = push if change is None else push - damping * change[rates]
        pressed = where(less(zero, ahead * spring), damping, where(free, zero, damping))
        held = where(free, zero, push), where(free, zero, stiffness), pressed
        late = less(square, (-ARRIVAL_RATIO * self.step) * (inward * v))
        found = (
            where(coarse, where(beyond, where(late, hits, holds), where(passes, hits, zero)), resolved)
            for hits, holds, resolved in zip(impact, held, law, strict=True)
        )
        return rates, *found

    def _return_time(self) -> Any:
        """Damping over stiffness (s)."""
        return RETURN_TIME if self.foreseen else RETURN_TIME / STEP * maximum(self.step, STEP)

    def softened(self, model: Model) -> np.ndarray:
        """Mask of the rates whose stops are softer than the law, as explicit steps do not resolve them.

        Args:
            model: Robot.

        Returns:
            ``n`` truth values.
        """
        return np.asarray(self._frequencies(model) < (1.0 - 1e-9) * _stiffest(model), dtype=bool)

    def _frequencies(self, model: Model) -> Any:
        """Frequencies ``w`` (n; rad/s) of the stops, in these steps."""
        w = _stiffest(model)
        return w if self.foreseen else minimum(w, 1.0 / sqrt(2.0 * self.step * self._return_time()))


def _stiffest(model: Model) -> Any:
    """Frequencies ``w`` (n; rad/s) of the law."""
    drive = np.where(limited_rates(model, "effort"), limits_of_rates(model, "effort"), 0.0)
    holding = sqrt((maximum(drive, fall_load(model)) / MAX_DEPTH) / carried_inertia(model))
    return maximum(holding, 2.0 / RETURN_TIME)


def _way_inside(q: Any, lower: Any, upper: Any) -> Any:
    """Way of coordinates back into their limits, 0 within these."""
    return clip(q, lower, upper) - q


@functools.lru_cache(maxsize=64)
def _unresolved_stops(stops: JointStops, model: Model) -> tuple[bool, ...]:
    """Joints whose stops linearized steps do not resolve: :attr:`JointStops.unresolved`."""
    w = np.asarray(stops._frequencies(model))[_ends(model)[1]]
    return tuple((stops.step * w > MAX_STOP_PHASE).tolist())


@functools.lru_cache(maxsize=64)
def fall_load(model: Model) -> float:
    """Load (N m or N) at which a stop yields by :data:`MAX_DEPTH`; it stops a fall within :data:`MAX_START_DEPTH`.

    A free robot falls by its reach, along its longest chain of links: ``K MAX_START_DEPTH^2 / 2 = m g reach``.
    """
    nominal = model.nominal
    if not model.m or not nominal.joints:
        return 0.0
    poses = world_poses(nominal, nominal.neutral())
    reach = np.array([0.0, *(np.linalg.norm(link.body.center) for link in nominal.links[1:])])
    for i in reversed(range(len(nominal.joints))):  # children first
        here, top = poses[i + 1][:3, 3], nominal.parents[i]
        reach[top] = max(reach[top], reach[i + 1] + float(np.linalg.norm(here - poses[top][:3, 3])))
    fall = float(nominal.mass * np.linalg.norm(nominal.gravity) * reach.max())
    return 2.0 * fall / MAX_START_DEPTH**2 * MAX_DEPTH


@functools.lru_cache(maxsize=64)
def _ends(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, rates, lower and upper limits of joints with limits; a missing limit is infinite."""
    ends: dict[tuple[int, int], dict[str, float]] = {}
    for stop in joint_stops(model):
        limits = ends.setdefault((stop.coordinate(model), stop.rate(model)), {LOWER: -np.inf, UPPER: np.inf})
        limits[stop.end] = stop.limit
    places, rates = np.array([*ends], dtype=int).reshape(-1, 2).T
    lower, upper = (np.array([pair[end] for pair in ends.values()]) for end in (LOWER, UPPER))
    return places, rates, lower, upper


def check_stops(model: Model, joints: np.ndarray) -> None:
    """Raise an error if a joint starts far beyond a limit, which would throw it back.

    Args:
        model: Robot.
        joints: Joint coordinates, ``... x (nq - base.nq)``.
    """
    found = beyond(model, joints, joint_stops(model), MAX_START_DEPTH)
    if found:
        raise ModelError(f"{found}: start within its limits, or give passive=False")
