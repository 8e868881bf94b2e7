"""Joint-space control: impedance and inverse dynamics ([ETH] 3.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import block, solve
from ...arrays.types import Matrix, Matrix_nv_nv, Scalar, Vector, Vector_n
from ...dynamics import bias_forces, gravity_forces, inverse_dynamics, mass_matrix
from ...dynamics.checks import positive
from ...errors import ModelError, describe
from ...model import Model, State
from ...records import concise
from .references import Reference, desired_motion, plain_goal
from .springs import on_joints
from .torque_law import TorqueLaw, as_gain, drives, per_row


class Gains(NamedTuple):
    """Gains of the error dynamics ``e'' + damping e' + stiffness e = 0``.

    Example:
        >>> Gains(100.0, 20.0).damping
        20.0
    """

    stiffness: float
    """1/s^2"""
    damping: float
    """1/s"""


def gains(hertz: float, ratio: float = 1.0) -> Gains:
    """Gains for a frequency and a damping ratio ([ETH] (3.79), (3.80)).

    ``k_p = w^2``, ``k_d = 2 ratio w`` with ``w = 2 pi hertz``.

    Args:
        hertz: Natural frequency (Hz).
        ratio: Damping over critical damping; 1 is critical.

    Returns:
        Stiffness (1/s^2) and damping (1/s).

    Example:
        >>> [round(k, 2) for k in gains(hertz=3.0)]  # [ETH] rounds them to 350 and 37
        [355.31, 37.7]
    """
    w = 2.0 * np.pi * positive(hertz, "hertz")
    return Gains(w * w, 2.0 * as_gain(ratio, "ratio") * w)


@dataclass(frozen=True)
class JointLaw(TorqueLaw):
    """Base class for laws that track a desired joint motion.

    ``goal`` has the coordinates of all joints, or is a mapping from names, or a function of time (s) that returns the
    coordinates.  Rates and accelerations (n), constant or functions of time, are the derivatives of such a function
    where they are left out, else zero.  Gains are one number, or one for each rate.
    """

    goal: Any
    stiffness: Any
    damping: Any
    rates: Any = None
    accelerations: Any = None

    def __post_init__(self) -> None:
        """Check goal, references and gains, and turn them into plain data."""
        super().__post_init__()
        for part in ("goal", "rates", "accelerations"):
            object.__setattr__(self, part, plain_goal(getattr(self, part), f"{part} of {self.name!r}"))
        if self.goal is None:
            raise ModelError(f"goal of {self.name!r} is missing")
        for part in ("stiffness", "damping"):
            object.__setattr__(self, part, as_gain(getattr(self, part), f"{part} of {self.name!r}"))

    def check(self, model: Model) -> None:
        """Check that goal, references and gains have the sizes of the robot."""
        super().check(model)
        self._feedback_forces(model, self._reference(model, 0.0, model.neutral()), model.neutral())

    def _reference(self, model: Model, t: Scalar, state: State) -> Reference:
        return desired_motion(model, t, state, self.goal, self.rates, self.accelerations)

    def _feedback_forces(self, model: Model, wanted: Reference, state: State) -> Any:
        """``k_p e + k_d (v* - v)`` (n)."""
        k, d = self._gains(model)
        return k * wanted.error + d * (wanted.rates - state.rates)

    def _gains(self, model: Model) -> tuple[Any, Any]:
        k, d = ((part, getattr(self, part)) for part in ("stiffness", "damping"))
        return per_row(k[1], model.n, f"{k[0]} of {self.name!r}"), per_row(d[1], model.n, f"{d[0]} of {self.name!r}")


@concise
@dataclass(frozen=True)
class Impedance(JointLaw):
    """Joint impedance ``tau = K e + D (v* - v)``, with gravity compensation by ``gravity=True`` ([ETH] (3.73), (3.75)).

    Without gravity compensation joints sag by ``K^-1 g`` (3.74).

    Args:
        goal: Coordinates of all joints (rad or m), a mapping from joint names, or a function of time (s).
        stiffness: ``K`` (N m/rad or N/m), one number or one for each rate.
        damping: ``D`` (N m s/rad or N s/m), one number or one for each rate.
        rates: Desired rates (n), or a function of time; None: derivative of the goal.
        accelerations: Not used by an impedance.
        gravity: Compensate the weight of the robot.
        name: Line in the energy ledger.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> law = Impedance([0.5, 0.0, 0.0], stiffness=[200.0, 100.0, 50.0], damping=20.0, gravity=True)
        >>> law.torques(arm, arm.state(joints=[0.5, 0.0, 0.0])).round(3)  # at its goal it carries the weight
        array([-21.164,  -9.406,  -2.352])
    """

    gravity: bool = False
    name: str = "joint impedance"

    def __post_init__(self) -> None:
        """Check the fields; ``gravity`` is a truth value."""
        super().__post_init__()
        if not isinstance(self.gravity, (bool, np.bool_)):
            raise ModelError(f"gravity of {self.name!r} must be True or False, got {describe(self.gravity)}")

    def commanded_torques(self, model: Model, t: Scalar, state: State) -> Vector_n:
        """``K e + D (v* - v)``, plus gravity forces if they are compensated."""
        pull = self._feedback_forces(model, self._reference(model, t, state), state)
        return pull + gravity_forces(model, state)[model.m :] if self.gravity else pull

    def impedance(self, model: Model, state: State) -> tuple[Matrix, Matrix]:
        """``K`` and ``D`` on the diagonal."""
        k, d = self._gains(model)
        return on_joints(model, k), on_joints(model, d)


@concise
@dataclass(frozen=True)
class InverseDynamics(JointLaw):
    """Inverse dynamics control: joints follow ``a = a* + k_d (v* - v) + k_p e`` ([ETH] (3.76)-(3.78)).

    A floating base, and joints without a drive, move as they do under these torques; where :attr:`estimate` is the
    robot, driven joints follow the linear equation exactly.  Contact forces are not part of its model: a robot that
    stands on its legs folds them under its weight, and needs :class:`.WholeBody`, :class:`.PrioritizedControl` or
    position servos.

    Args:
        goal: Coordinates of all joints (rad or m), a mapping from joint names, or a function of time (s).
        stiffness: ``k_p`` (1/s^2), one number or one for each rate; see :func:`gains`.
        damping: ``k_d`` (1/s), one number or one for each rate.
        rates: Desired rates (n), or a function of time; None: derivative of the goal.
        accelerations: Desired accelerations (n), or a function of time; None: second derivative of the goal.
        name: Line in the energy ledger.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> law = InverseDynamics(lambda t: [np.sin(t), 0.0, 0.0], *gains(hertz=3.0))
        >>> at = arm.state(rates=[1.0, 0.0, 0.0])  # where it should be at t = 0, and as fast
        >>> fc.forward_dynamics(arm, at, law.forces(arm, 0.0, at, frozenset())).round(9) + 0.0
        array([0., 0., 0.])
    """

    name: str = "inverse dynamics"

    def commanded_torques(self, model: Model, t: Scalar, state: State) -> Vector_n:
        """Torques for the desired accelerations, by :func:`driven_inverse_dynamics`."""
        wanted = self._reference(model, t, state)
        return driven_inverse_dynamics(model, state, wanted.accelerations + self._feedback_forces(model, wanted, state))

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """Gains times the inertia that the joints feel."""
        k, d = self._gains(model)
        inertia = _joint_inertia(model, state)
        above, left = np.zeros((model.m, model.nv)), np.zeros((model.n, model.m))
        K, D = (block([[above], [left, inertia * x]]) for x in (k, d))
        return K, D


def _joint_inertia(model: Model, state: State) -> Any:
    """Inertia (n x n) that joints feel while the base moves freely, of any kind of number."""
    M, m = mass_matrix(model, state), model.m
    return M[m:, m:] - M[m:, :m] @ solve(M[:m, :m], M[:m, m:]) if m else M


def driven_inverse_dynamics(model: Model, state: State, accelerations: Vector) -> Vector:
    """Joint torques (n) for ``accelerations`` (n) of the driven joints, while all else moves freely.

    With ``S a = S a*`` and ``Z' (M a + h) = 0`` along the motions without drives, that of the base among them:
    ``tau = M a + h`` ([ETH] (3.76); for an underactuated robot, partial feedback linearization).
    """
    S, right, Z, _ = drives(model)
    a = right @ (S[:, model.m :] @ accelerations)
    if Z.shape[1]:
        M, h = mass_matrix(model, state), bias_forces(model, state)
        a = a - Z @ solve(Z.T @ M @ Z, Z.T @ (M @ a + h))
    return S[:, model.m :].T @ (right.T @ inverse_dynamics(model, state, a))
