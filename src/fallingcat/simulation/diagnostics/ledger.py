"""Energy ledger: work through every port."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...dynamics.checks import choice, numbers
from ...records import concise

ROUNDING = 16.0 * float(np.finfo(float).eps)
"""Relative size of a difference of two energies that says nothing."""


@concise
class Ledger(NamedTuple):
    """Energy ledger: work (J) from the start to every sample, through every port.

    Integrated with the motion by the same rule.  Positive work increases the robot's mechanical energy, kinetic and
    gravitational; the energy of a virtual spring is not part of it.

    Example:
        >>> Ledger(("push",), np.array([[0.0], [2.0]]), np.zeros((2, 1))).work("push")
        array([0., 2.])
    """

    ports: tuple[str, ...]
    base: np.ndarray
    """``N x ports``: through the wrench on the base"""
    joints: np.ndarray
    """``N x ports``: through the joints"""

    @property
    def works(self) -> np.ndarray:
        """Work through base and joints (N x ports; J)."""
        return self.base + self.joints

    def work(self, port: str) -> np.ndarray:
        """Work through one port.

        Args:
            port: Name of the port.

        Returns:
            Work (N; J) from the start to every sample.
        """
        k = self.ports.index(choice(port, self.ports, "port"))
        return np.asarray(self.base[:, k] + self.joints[:, k])

    def residual(self, kinetic: np.ndarray, potential: np.ndarray) -> float:
        """Relative violation of the energy balance.

        ``max |E(t) - E(0) - W(t)| / max (T(t) + sum |W_p(t)|)`` with ``E = T + V`` and the works ``W_p`` of the ports:
        the largest unaccounted energy, relative to the largest energy that moved or was transferred.  It does not
        depend on where the potential energy is zero.  A gap of the size of the rounding of ``E`` counts as zero, so
        that a robot at rest has 0; energy that changes while nothing moves or works is ``inf``.

        Args:
            kinetic: Kinetic energy (N; J) at the samples.
            potential: Potential energy (N; J) at the samples.

        Returns:
            Residual, 0 for an exact balance.

        Example:
            >>> still = Ledger((), np.zeros((2, 0)), np.zeros((2, 0)))
            >>> still.residual(np.array([0.0, 2.0]), np.array([5.0, 3.0])), still.residual(np.zeros(2), np.ones(2))
            (0.0, 0.0)
        """
        kinetic, potential = (numbers(np.asarray(x), (len(self.base),), "energy") for x in (kinetic, potential))
        return float(residuals(kinetic, potential, self.works))


def residuals(kinetic: np.ndarray, potential: np.ndarray, works: np.ndarray) -> np.ndarray:
    """:meth:`Ledger.residual` of many runs (...): energies are ``N x ...``, works ``N x ... x ports``."""
    energy = kinetic + potential
    gap = np.abs(energy - energy[0] - works.sum(axis=-1)).max(axis=0, initial=0.0)
    none = gap <= ROUNDING * (np.abs(kinetic).max(axis=0, initial=0.0) + np.abs(potential).max(axis=0, initial=0.0))
    size = (kinetic + np.abs(works).sum(axis=-1)).max(axis=0, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(none, 0.0, gap / size)
