"""Passive forces of tendons: springs, damping, dry friction and limits along their lengths.

A force ``F`` along a tendon acts on the robot by its moment arms ``J = dL/dv``: generalized forces are ``J' F``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import absolute, clip, less, less_equal, scale, sqrt, stack, where
from ...arrays.types import Matrix, Matrix_2_n, Matrix_nv_nv, Scalar, Vector, Vector_nv
from ...dynamics import mass_matrix
from ...dynamics.link_motion import TreeMotion
from ...model import Model, State, Tendon
from .base import Law
from .carried_inertia import shapes

STOP_FREQUENCY = 250.0
"""Frequency (rad/s) of the limits of tendons, as of joint stops, where steps resolve it."""
MIN_FRICTION_SPEED = 1e-3
"""Least speed (m/s) below which dry friction along a tendon is smooth."""


def tendon_laws(model: Model, step: float) -> tuple[Law, ...]:
    """Laws of the tendons of a robot, in steps of ``step`` (s).

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> cord = fc.model.FixedTendon("cord", arm.joint_names[:2], (0.1, -0.1), stiffness=100.0)
        >>> [law.name for law in tendon_laws(replace(arm, tendons=(cord,)), 1e-3)]
        ['tendon springs']
    """
    tendons = model.tendons
    found: list[tuple[Law, bool]] = [
        (TendonSprings(), any(tendon.stiffness for tendon in tendons)),
        (TendonDamping(), any(tendon.damping for tendon in tendons)),
        (TendonFriction(step), any(tendon.friction for tendon in tendons)),
        (TendonLimits(step), any(tendon.limited for tendon in tendons)),
    ]
    return tuple(law for law, acts in found if acts)


class _TendonLaw(Law):
    """Base class: a force along each of some tendons."""

    commanded = False
    ignores_contact = True

    def _acts_on(self, tendon: Tendon) -> bool:
        """True for the tendons along which it acts."""
        raise NotImplementedError

    def _tension(self, model: Model, i: int, length: Scalar, rate: Scalar) -> Scalar:
        """Force (N) along tendon ``i`` of the model."""
        raise NotImplementedError

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """``J' F`` of all tendons."""
        total: Any = np.zeros(model.nv)
        for i, length, rate, J in moment_arms(model, state, self._acts_on):
            total = total + scale(self._tension(model, i, length, rate), J)
        return total

    def _squares(self, model: Model, state: State, numbers: Callable[[Tendon], float]) -> Matrix:
        """Sum of ``number J' J`` (nv x nv)."""
        total: Any = np.zeros((model.nv, model.nv))
        for i, _, _, J in moment_arms(model, state, self._acts_on):
            total = total + scale(numbers(model.tendons[i]), J[:, None] * J[None, :])
        return total

    def joint_impedance(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar
    ) -> Matrix_2_n:
        """Row sums of :meth:`impedance` on single joints: an upper bound of what couples them."""
        said = self.impedance(model, state)
        if said is None:
            return np.zeros((2, model.n))
        return stack([absolute(x[model.m :, model.m :]) @ np.ones(model.n) for x in said])


@dataclass(frozen=True)
class TendonSprings(_TendonLaw):
    """Springs ``F = -stiffness (L - rest)``, beyond the lengths of rest.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> cord = fc.model.FixedTendon("cord", arm.joint_names[:2], (0.1, -0.1), stiffness=100.0)
        >>> arm = replace(arm, tendons=(cord,))
        >>> TendonSprings().forces(arm, 0.0, arm.state(joints=[0.5, 0.0, 0.0]), frozenset()) + 0.0
        array([-0.5,  0.5,  0. ])
    """

    name: str = "tendon springs"

    def _acts_on(self, tendon: Tendon) -> bool:
        """True for tendons with a stiffness."""
        return tendon.stiffness > 0.0

    def _tension(self, model: Model, i: int, length: Scalar, rate: Scalar) -> Scalar:
        """Force of a spring (N)."""
        return model.tendons[i].pull(length)

    def energy(self, model: Model, state: State) -> Scalar:
        """Energy ``stiffness stretch^2 / 2`` of the springs.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Energy (J).
        """
        total: Any = 0.0
        for i, length, _, _ in moment_arms(model, state, self._acts_on):
            stretch = model.tendons[i].stretch(length)
            total = total + 0.5 * model.tendons[i].stiffness * stretch * stretch
        return total

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """``J' stiffness J``; no damping."""
        return self._squares(model, state, lambda tendon: tendon.stiffness), np.zeros((model.nv, model.nv))


@dataclass(frozen=True)
class TendonDamping(_TendonLaw):
    """Viscous damping ``F = -damping dL/dt``.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> cord = fc.model.FixedTendon("cord", arm.joint_names[:2], (1.0, -1.0), damping=0.5)
        >>> arm = replace(arm, tendons=(cord,))
        >>> TendonDamping().forces(arm, 0.0, arm.state(rates=[1.0, 0.0, 0.0]), frozenset()) + 0.0
        array([-0.5,  0.5,  0. ])
    """

    name: str = "tendon damping"

    def _acts_on(self, tendon: Tendon) -> bool:
        """True for tendons with damping."""
        return tendon.damping > 0.0

    def _tension(self, model: Model, i: int, length: Scalar, rate: Scalar) -> Scalar:
        """Force of a damper (N)."""
        return -model.tendons[i].damping * rate

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """``J' damping J``; no stiffness."""
        return np.zeros((model.nv, model.nv)), self._squares(model, state, lambda tendon: tendon.damping)


@dataclass(frozen=True)
class TendonFriction(_TendonLaw):
    """Dry friction ``F = -friction v / sqrt(v^2 + s^2)`` along tendons, smooth below the speed ``s``.

    ``s = max(1e-3 m/s, 4 friction step / m)`` with the inertia ``m`` of :func:`effective_masses`, as in joints:
    near rest it is a damper that no step overshoots.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> cord = fc.model.FixedTendon("cord", arm.joint_names[:2], (1.0, -1.0), friction=0.5)
        >>> arm = replace(arm, tendons=(cord,))
        >>> TendonFriction(1e-3).forces(arm, 0.0, arm.state(rates=[9.0, 0.0, 0.0]), frozenset()).round(3) + 0.0
        array([-0.5,  0.5,  0. ])
    """

    step: float
    """s"""
    name: str = "tendon friction"

    def _acts_on(self, tendon: Tendon) -> bool:
        """True for tendons with dry friction."""
        return tendon.friction > 0.0

    def _tension(self, model: Model, i: int, length: Scalar, rate: Scalar) -> Scalar:
        """Smooth friction (N)."""
        friction = model.tendons[i].friction
        slow = where(
            less(self.step, MIN_FRICTION_SPEED * effective_masses(model)[i] / (4.0 * friction)),
            MIN_FRICTION_SPEED + 0.0 * self.step,
            (4.0 * friction / effective_masses(model)[i]) * self.step,
        )
        return -friction * rate / sqrt(rate * rate + slow * slow)


@dataclass(frozen=True)
class TendonLimits(_TendonLaw):
    """Compliant limits of lengths: ``F = m w^2 y + 2 m w dy/dt`` at a depth ``y`` beyond a limit, as of joint stops.

    ``F`` lies between 0 and ``4 m w^2 y``; ``m`` is the inertia of :func:`effective_masses`, ``w`` is 250 rad/s, or
    ``1 / (4 step)`` in longer steps.  It only dissipates energy.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> cord = fc.model.FixedTendon("cord", arm.joint_names[:2], (1.0, 1.0), limits=(-1.0, 1.0))
        >>> arm = replace(arm, tendons=(cord,))
        >>> bool(TendonLimits(1e-3).forces(arm, 0.0, arm.state(joints=[0.6, 0.5, 0.0]), frozenset())[0] < 0.0)
        True
    """

    step: float
    """s"""
    name: str = "tendon limits"

    def _acts_on(self, tendon: Tendon) -> bool:
        """True for tendons with a shortest or a longest length."""
        return tendon.limited

    def _tension(self, model: Model, i: int, length: Scalar, rate: Scalar) -> Scalar:
        """Force of the limits (N); zero between them."""
        m, w = effective_masses(model)[i], self._frequency()
        spring = m * (w * w) * (clip(length, *model.tendons[i].limits) - length)
        push = spring - 2.0 * m * w * rate
        along, most = push * spring, 4.0 * spring
        return where(less_equal(along, 0.0), 0.0 * along, where(less(most * spring, along), most, push))

    def _frequency(self) -> Any:
        fast = 0.25 / self.step
        return where(less(STOP_FREQUENCY, fast), STOP_FREQUENCY + 0.0 * fast, fast)

    def joint_impedance(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar
    ) -> Matrix_2_n:
        """Springs and dampers of the limits that are passed, on single joints."""
        total: Any = np.zeros((2, model.n))
        for i, length, rate, J in moment_arms(model, state, self._acts_on):
            w, force = self._frequency(), self._tension(model, i, length, rate)
            D = where(less(0.0, force * force), 2.0 * effective_masses(model)[i] * w, 0.0 * w)
            reach = absolute(J[model.m :])
            total = total + stack([scale(0.5 * w * D, reach), scale(D, reach)]) * (reach @ np.ones(model.n))
        return total


def moment_arms(
    model: Model, state: State, takes: Callable[[Tendon], bool]
) -> Sequence[tuple[int, Scalar, Scalar, Vector]]:
    """Index, length, rate and moment arms (nv) of the tendons that ``takes`` accepts."""
    motion, found = TreeMotion(model, state), []
    for i, tendon in enumerate(model.tendons):
        if takes(tendon):
            arm = tendon.arm(motion)
            J = motion.moments(arm)
            found.append((i, arm.length, J @ state.velocity, J))
    return found


def tendon_lengths(model: Model, state: State) -> dict[str, Scalar]:
    """Lengths of all tendons.

    Args:
        model: Robot with ``tendons``.
        state: Configuration; velocities are not used.

    Returns:
        Length (m) by name.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> arm = replace(arm, tendons=(fc.model.FixedTendon("cord", ("joint1", "joint2"), (0.1, 0.2)),))
        >>> tendon_lengths(arm, arm.state(joints=[1.0, 0.5, 0.0]))
        {'cord': np.float64(0.2)}
    """
    arms = moment_arms(model, state, lambda tendon: True)
    return {model.tendons[i].name: length for i, length, _, _ in arms}


@functools.lru_cache(maxsize=8)
def effective_masses(model: Model) -> np.ndarray:
    """Inertia ``1 / (J M^-1 J')`` (kg) along each tendon, the smallest of the neutral and a few random configurations.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> arm = replace(arm, tendons=(fc.model.FixedTendon("cord", ("joint3",), (0.1,)),))
        >>> bool(effective_masses(arm)[0] > 0.0)
        True
    """
    model = model.nominal
    found = []
    for state in shapes(model):
        M = np.asarray(mass_matrix(model, state), dtype=float)
        arms = [np.asarray(J, dtype=float) for *_, J in moment_arms(model, state, lambda tendon: True)]
        # J M^-1 J' is the mobility along the tendon; one without a moment arm anywhere has no inertia to feel
        found.append([1.0 / max(float(J @ np.linalg.solve(M, J)), 1e-300) for J in arms])
    return np.asarray(np.min(found, axis=0))
