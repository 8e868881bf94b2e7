"""Joint space: impedance and inverse dynamics ([ETH] 3.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import block, solve
from ...dynamics import bias_forces, gravity_forces, inverse_dynamics, mass_matrix
from ...dynamics.checks import positive
from ...errors import ModelError, describe
from ...model import Model, State
from ...records import concise
from .references import Reference, desired, stated
from .springs import on_joints
from .torque_law import TorqueLaw, as_gain, drives, per_row


class Gains(NamedTuple):
    """Of ``e'' + damping e' + stiffness e = 0``."""

    stiffness: float
    """1/s^2"""
    damping: float
    """1/s"""


def gains(hertz: float, ratio: float = 1.0) -> Gains:
    """``k_p = w^2``, ``k_d = 2 ratio w`` with ``w = 2 pi hertz`` ([ETH] (3.79), (3.80)); ratio 1 damps critically.

    >>> [round(k, 2) for k in gains(hertz=3.0)]  # [ETH] rounds them to 350 and 37
    [355.31, 37.7]
    """
    w = 2.0 * np.pi * positive(hertz, "hertz")
    return Gains(w * w, 2.0 * as_gain(ratio, "ratio") * w)


@dataclass(frozen=True)
class JointLaw(TorqueLaw):
    """A law that pulls joints along a desired motion.

    ``goal`` has the coordinates of all joints, or is a mapping from names, or a function of time (s) that gives the
    coordinates.  Rates and accelerations (n), constant or functions of time, are the derivatives of such a function
    where they are left out, else zero.  Gains are one number, or one for each rate.
    """

    goal: Any
    stiffness: Any
    damping: Any
    rates: Any = None
    accelerations: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in ("goal", "rates", "accelerations"):
            object.__setattr__(self, part, stated(getattr(self, part), f"{part} of {self.name!r}"))
        if self.goal is None:
            raise ModelError(f"goal of {self.name!r} is missing")
        for part in ("stiffness", "damping"):
            object.__setattr__(self, part, as_gain(getattr(self, part), f"{part} of {self.name!r}"))

    def check(self, model: Model) -> None:
        super().check(model)
        self._pull(model, self._desired(model, 0.0, model.neutral()), model.neutral())

    def _desired(self, model: Model, t: Any, state: State) -> Reference:
        return desired(model, t, state, self.goal, self.rates, self.accelerations)

    def _pull(self, model: Model, wanted: Reference, state: State) -> Any:
        """``k_p e + k_d (v* - v)`` (n)."""
        k, d = self._gains(model)
        return k * wanted.error + d * (wanted.rates - state.rates)

    def _gains(self, model: Model) -> tuple[Any, Any]:
        k, d = ((part, getattr(self, part)) for part in ("stiffness", "damping"))
        return per_row(k[1], model.n, f"{k[0]} of {self.name!r}"), per_row(d[1], model.n, f"{d[0]} of {self.name!r}")


@concise
@dataclass(frozen=True)
class Impedance(JointLaw):
    """``tau = K e + D (v* - v)``, and the weight of the robot with ``gravity=True`` ([ETH] (3.73), (3.75)).

    Stiffness is in N m/rad or N/m, damping in N m s/rad or N s/m.  Without gravity, joints sag by ``K^-1 g`` (3.74).

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> law = Impedance([0.5, 0.0, 0.0], stiffness=[200.0, 100.0, 50.0], damping=20.0, gravity=True)
    >>> law.torques(arm, arm.state(joints=[0.5, 0.0, 0.0])).round(3)  # at its goal it carries the weight
    array([-21.164,  -9.406,  -2.352])
    """

    gravity: bool = False
    name: str = "joint impedance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.gravity, (bool, np.bool_)):
            raise ModelError(f"gravity of {self.name!r} is True or False, not {describe(self.gravity)}")

    def asked(self, model: Model, t: Any, state: State) -> Any:
        pull = self._pull(model, self._desired(model, t, state), state)
        return pull + gravity_forces(model, state)[model.m :] if self.gravity else pull

    def impedance(self, model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
        k, d = self._gains(model)
        return on_joints(model, k), on_joints(model, d)


@concise
@dataclass(frozen=True)
class InverseDynamics(JointLaw):
    """Joints follow ``a = a* + k_d (v* - v) + k_p e``, whatever the robot weighs ([ETH] (3.76)-(3.78)).

    Stiffness is in 1/s^2 and damping in 1/s: see :func:`gains`.  A base that moves, and joints without a drive, move as
    they do under these torques; where :attr:`estimate` is the robot, driven joints follow the linear equation exactly.

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> law = InverseDynamics(lambda t: [np.sin(t), 0.0, 0.0], *gains(hertz=3.0))
    >>> at = arm.state(rates=[1.0, 0.0, 0.0])  # where it should be at t = 0, and as fast
    >>> fc.forward_dynamics(arm, at, law.forces(arm, 0.0, at, frozenset())).round(9) + 0.0
    array([0., 0., 0.])
    """

    name: str = "inverse dynamics"

    def asked(self, model: Model, t: Any, state: State) -> Any:
        wanted = self._desired(model, t, state)
        return driven_inverse_dynamics(model, state, wanted.accelerations + self._pull(model, wanted, state))

    def impedance(self, model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
        k, d = self._gains(model)
        inertia = _joint_inertia(model, state)
        above, left = np.zeros((model.m, model.nv)), np.zeros((model.n, model.m))
        K, D = (block([[above], [left, inertia * x]]) for x in (k, d))
        return K, D


def _joint_inertia(model: Model, state: State) -> Any:
    """``n x n``: inertia that joints feel while the base moves freely, of any kind of number."""
    M, m = mass_matrix(model, state), model.m
    return M[m:, m:] - M[m:, :m] @ solve(M[:m, :m], M[:m, m:]) if m else M


def driven_inverse_dynamics(model: Model, state: State, accelerations: Any) -> Any:
    """Joint torques (n) with which driven joints have these ``accelerations`` (n), and all else moves freely.

    With ``S a = S a*`` and ``Z' (M a + h) = 0`` along what no drive moves, the base among it: ``tau = M a + h``
    ([ETH] (3.76); for an underactuated robot, partial feedback linearisation).
    """
    S, right, Z, _ = drives(model)
    a = right @ (S[:, model.m :] @ accelerations)
    if Z.shape[1]:
        M, h = mass_matrix(model, state), bias_forces(model, state)
        a = a - Z @ solve(Z.T @ M @ Z, Z.T @ (M @ a + h))
    return S[:, model.m :].T @ (right.T @ inverse_dynamics(model, state, a))
