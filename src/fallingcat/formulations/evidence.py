"""Equations of motion link by link, and the natural sizes of their entries.

A residual is measured entry by entry against what the entry is a sum of over the links, so that a light joint of a
heavy robot counts as much as its trunk.  Two velocities i, j have ``sum |J_i|' |L| |J_j|`` of mass between them; to it
comes ``LOST_DIGITS`` of the most that they could have, ``(M_ii M_jj)^1/2`` before a change cancels anything: what is
smaller drowns in rounding.  Coriolis matrices are measured likewise, times the rate at which links and frames turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays.types import Float_nv_nv, Matrix
from ..caching import cached_property
from ..errors import FallingCatError
from ..model.literals import Factorization
from .links import Links, over_links
from .time import STEP, is_rate

if TYPE_CHECKING:
    from .velocity_change import VelocityChange

LOST_DIGITS = 1e-5
"""An entry that is smaller than this part of what it could be is not seen apart from rounding."""


class UnprovedError(FallingCatError):
    """Error of a claim that cannot be checked; the message says why.

    Example:
        >>> import fallingcat as fc
        >>> raise fc.formulations.UnprovedError("the change has no clock")
        Traceback (most recent call last):
        fallingcat.formulations.evidence.UnprovedError: the change has no clock
    """


class Evidence:
    """Equations of a robot for the velocity ``v_y = T [twist; rates]``, link by link.

    Args:
        links: Jacobians, inertias and weights of all links at a state.
        change: Velocity change ``T``.

    Example:
        >>> import fallingcat as fc
        >>> from fallingcat.formulations.links import Links
        >>> hopper = fc.robots.revolute_hopper()
        >>> state = hopper.random_state(np.random.default_rng(0))
        >>> evidence = Evidence(Links(hopper, state), fc.changes.centroidal(hopper, state))
        >>> evidence.M.shape == evidence.M_size.shape == (hopper.nv, hopper.nv)
        True
    """

    def __init__(self, links: Links, change: VelocityChange) -> None:
        self.links, self.change = links, change
        self.T, self.inverse = change.T, change.inverse
        self.J = np.tensordot(links.J, change.inverse, 1)  # one product, not one for each link
        """links x 6 x (size of v_y)"""
        self.M = over_links(self.J, links.inertia, self.J)
        self.g = -np.einsum("lai,la->i", self.J[:, :3], links.weights)
        self._reach = np.abs(change.inverse).T @ links.scale

    def __repr__(self) -> str:
        return f"<Evidence for {self.change.name!r}>"

    @cached_property
    def T_dot(self) -> np.ndarray:
        """Rate ``dT/dt`` by complex step, not as the change has it."""
        rate = np.asarray(np.imag(self._change_at(1j * STEP)) / STEP)
        if not is_rate(rate, self._change_at, float(np.abs(self.links.state.velocity).max(initial=0.0))):
            raise UnprovedError("the change's `at` does not compute with complex numbers: its rate cannot be checked")
        return rate

    @cached_property
    def T_now(self) -> np.ndarray:
        """Matrix ``T`` as the change has it at this moment of its clock."""
        return np.asarray(np.real(self._change_at(1j * STEP)))

    def _change_at(self, step: complex) -> Matrix:
        if self.change.at is None:
            raise UnprovedError("the change gives no `at`: its rate cannot be checked")
        return self.change.at(step)

    @cached_property
    def turn(self) -> np.ndarray:
        """Matrix ``(dT/dt) T^-1``."""
        if self.T.shape[0] < self.T.shape[1]:
            raise UnprovedError("the change drops velocities: how its right inverse moves is not known")
        return np.asarray(self.T_dot @ self.inverse)

    @cached_property
    def J_dot(self) -> np.ndarray:
        """Rates of the Jacobians ``J``."""
        return np.asarray(np.tensordot(self.links.J_dot, self.inverse, 1) - np.tensordot(self.J, self.turn, 1))

    @cached_property
    def Mdot(self) -> np.ndarray:
        """Rate of the mass matrix ``dM/dt``."""
        half = over_links(self.J, self.links.inertia, self.J_dot)
        return half + half.T

    def coriolis(self, factorization: Factorization) -> Float_nv_nv:
        """Coriolis matrix ``C`` by its definition.

        Args:
            factorization: Coriolis matrix among those that give the same forces.

        Returns:
            ``nv x nv`` matrix.
        """
        Ti = self.inverse
        return np.asarray(Ti.T @ self.links.coriolis(factorization) @ Ti - self.M @ self.turn)

    @cached_property
    def acceleration(self) -> np.ndarray:
        """Acceleration ``dv_y/dt`` for the one that the links try."""
        turned = self.turn @ (self.T @ self.links.state.velocity)
        return np.asarray(self.T @ self.links.acceleration + turned)

    # sizes --------------------------------------------------------------------------------------------------------

    @cached_property
    def _mass(self) -> np.ndarray:
        """Sum of absolute values behind the entries of ``M``, link by link."""
        return over_links(np.abs(self.J), np.abs(self.links.inertia), np.abs(self.J))

    @cached_property
    def _largest_entries(self) -> np.ndarray:
        """Largest possible entries, if nothing cancelled in changes of velocity, there and back."""
        return np.asarray(np.outer(self._reach, self._reach) + self._mass @ row_maxima(self.T) @ np.abs(self.inverse))

    @cached_property
    def M_size(self) -> np.ndarray:
        """Sizes of the entries of ``M``."""
        return self._mass + LOST_DIGITS * self._largest_entries

    @cached_property
    def C_size(self) -> np.ndarray:
        """Sizes of the entries of ``C``, whatever the factorization."""
        links = self.links
        turning = ratio(links.sizes(links.J, links.J_dot), np.outer(links.scale, links.scale)).max(initial=0.0)
        rate = max(turning, ratio(self._reach @ np.abs(self.turn), self._reach).max(initial=0.0))
        moved = self._mass @ row_maxima(self.T_dot) @ np.abs(self.inverse)
        return links.sizes(self.J, self.J_dot) + LOST_DIGITS * (rate * self._largest_entries + moved)

    @cached_property
    def g_size(self) -> np.ndarray:
        """Sizes of the entries of ``g``."""
        weight = np.linalg.norm(self.links.weights, axis=1)
        lifted, moved = (weight @ np.linalg.norm(J[:, :3], axis=1) for J in (self.J, self.links.J))
        return lifted + LOST_DIGITS * ratio(moved, self.links.scale).max(initial=0.0) * self._reach

    @cached_property
    def F_size(self) -> np.ndarray:
        """Sizes of the forces that give ``acceleration``."""
        v = self.T @ self.links.state.velocity
        return np.asarray(self.M_size @ np.abs(self.acceleration) + self.C_size @ np.abs(v) + self.g_size)


def row_maxima(T: np.ndarray) -> np.ndarray:
    """Largest entry of its row for every entry that is not exactly zero: what it may be a difference of."""
    return np.asarray((T != 0.0) * np.abs(T).max(axis=1, keepdims=True, initial=0.0))


def ratio(error: Matrix, size: Matrix) -> np.ndarray:
    """Ratio ``|error| / size`` of each entry: 0 where there is no error, infinite where there should be none."""
    error, size = np.abs(error), np.broadcast_to(size, np.shape(error))
    # an entry that must be exactly zero has no size: any error there is infinite, 0 / 0 is none
    return np.divide(error, size, out=np.where(error == 0.0, 0.0, np.inf), where=size > 0.0)


def worst(error: Matrix, size: Matrix) -> float:
    """Largest entry of ``error``, each relative to its ``size``.

    Args:
        error: Residual, any shape.
        size: Natural sizes of its entries, of a shape that broadcasts against ``error``.

    Returns:
        Largest ratio; infinite where an entry without size has an error.

    Example:
        >>> worst(np.array([1e-9, -3e-9]), np.array([1.0, 10.0]))
        1e-09
    """
    return float(ratio(error, size).max(initial=0.0))
