"""Equations of motion, and the one operation behind every formulation: a change of velocity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import solve
from ..arrays.types import Matrix_nv_nv, Vector_nv
from ..dynamics import coriolis_matrix, gravity_forces, mass_matrix, mass_matrix_derivative
from ..dynamics.checks import check_robot, vector
from ..errors import ModelError, describe
from ..model import Model, State
from ..model.literals import Factorization
from ..progress import check_memory, report_progress, warn_of_time
from ..records import concise
from .velocity_change import VelocityChange, identity

if TYPE_CHECKING:
    from .certificate import Certificate

MATRICES = 6
"""nv x nv, in memory at once"""


@concise
@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """Equations of motion ``M dv/dt + C v + g = forces``, for one state and one choice of velocity.

    The first ``m`` entries belong to the base (or what a change made of it), the others to the joints.  SI units
    throughout.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> eom = fc.equations(cat, cat.random_state(np.random.default_rng(0)))
        >>> bool(np.allclose(eom.forces(eom.forward(np.ones(cat.nv))), 1.0))
        True
    """

    M: Matrix_nv_nv
    """``nv x nv``: mass matrix"""
    C: Matrix_nv_nv
    """``nv x nv``: Coriolis matrix"""
    g: Vector_nv
    """``nv``: gravity forces"""
    Mdot: Matrix_nv_nv
    """``nv x nv``: ``dM/dt``"""
    v: Vector_nv
    """``nv``: velocity"""
    factorization: Factorization
    """that of ``C``, one of :data:`FACTORIZATIONS`"""
    model: Model
    """robot"""
    state: State
    """configuration and body-fixed velocity"""
    changes: VelocityChange
    """All changes so far, as one; the identity for body-fixed equations."""

    @property
    def name(self) -> str:
        """Name of the formulation."""
        return self.changes.name

    @property
    def m(self) -> int:
        """Size of the first block."""
        return self.model.m

    def change(self, change: VelocityChange) -> EquationsOfMotion:
        """Equations for ``v_y = T v``: [Feurstein] (3.77), [Traversaro] Theorem 2 (23).

        ``M_y = T^-T M T^-1``, ``C_y = T^-T C T^-1 - M_y (dT/dt) T^-1``, ``g_y = T^-T g``; ``Mdot = C + C'`` survives.

        Args:
            change: Change of velocity.

        Returns:
            Equations of the same motion.
        """
        if not isinstance(change, VelocityChange):
            raise ModelError(
                f"a change is a VelocityChange, such as changes.mixed(model, state), not {describe(change)}"
            )
        if np.shape(change.T)[1] != len(self.v):
            raise ModelError(f"the change {change.name!r} takes {np.shape(change.T)[1]} velocities, not {len(self.v)}")
        if np.shape(change.T)[0] != len(self.v):
            raise ModelError(f"the change {change.name!r} drops velocities: what is left has no equations of its own")
        Ti = change.inverse
        M = Ti.T @ self.M @ Ti
        turn = change.T_dot @ Ti
        return EquationsOfMotion(
            M,
            Ti.T @ self.C @ Ti - M @ turn,
            Ti.T @ self.g,
            Ti.T @ self.Mdot @ Ti - M @ turn - turn.T @ M,
            change.T @ self.v,
            self.factorization,
            self.model,
            self.state,
            self.changes.then(change) if self.changes.name != "body" else change,
        )

    def forces(self, acceleration: Vector_nv) -> Vector_nv:
        """Forces that give an acceleration.

        Args:
            acceleration: ``dv/dt``, ``nv``.

        Returns:
            Forces collocated with ``v``, ``nv``.
        """
        return self.M @ vector(acceleration, len(self.v), "acceleration") + self.C @ self.v + self.g

    def forward(self, forces: Vector_nv) -> Vector_nv:
        """Acceleration under forces.

        Args:
            forces: Forces collocated with ``v``, ``nv``.

        Returns:
            ``dv/dt``, ``nv``.
        """
        return solve(self.M, vector(forces, len(self.v), "forces") - self.C @ self.v - self.g)

    def certify(self, tolerance: float = 1e-9) -> Certificate:
        """Certificate of everything that these equations claim, against quantities that they were not made from.

        Each claim holds, is broken, or is unproved; the certificate has passed if every one holds.

        Args:
            tolerance: Largest relative residual with which a claim holds.

        Returns:
            Checks, with their residuals and verdicts.
        """
        from .certificate import certify

        what = f"certifying {self.model.name!r}"
        warn_of_time(what, _certificate_seconds(self), "lock joints (model.lock), or take a part of it")
        with report_progress(what, by_clock=True):
            return certify(self, tolerance)


def _certificate_seconds(eom: EquationsOfMotion) -> float:
    """Estimated time (s) of a certificate, measured with 50 to 1,000 joints."""
    # Hamel's matrix has one sum over the links for each joint
    squared = float(eom.model.nv**2)
    return (8e-6 + (2.5e-4 + 1.2e-9 * squared) * (eom.factorization == "hamel")) * squared


def equations(model: Model, state: State, factorization: Factorization = "christoffel") -> EquationsOfMotion:
    """Body-fixed equations of motion ``M dv/dt + C v + g = forces`` of ``v = [twist; rates]``.

    Args:
        model: Robot.
        state: Configuration and velocity.
        factorization: Coriolis matrix: one of :data:`FACTORIZATIONS`.

    Returns:
        Equations at this state.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> eom = fc.equations(cat, state).change(fc.changes.centroidal(cat, state))
        >>> bool(abs(eom.M[:6, 6:]).max() < 1e-12)  # base and joints decouple
        True
    """
    check_robot(model, state)
    check_memory(f"the equations of {model.name!r}", MATRICES * 8.0 * model.nv**2, "lock joints (model.lock)")
    return EquationsOfMotion(
        mass_matrix(model, state),
        coriolis_matrix(model, state, factorization),
        gravity_forces(model, state),
        mass_matrix_derivative(model, state),
        state.velocity,
        factorization,
        model,
        state,
        identity(model),
    )
