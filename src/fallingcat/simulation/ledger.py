"""The energy ledger: what went through every port."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Ledger(NamedTuple):
    """Work (J) from the start to every sample, through every port.

    Integrated beside the motion by the same rule.  Everything positive has gone into the robot's mechanical energy,
    kinetic and gravitational; what a virtual spring holds, it holds outside.
    """

    ports: tuple[str, ...]
    base: np.ndarray
    """``N x ports``: through the wrench on the base"""
    joints: np.ndarray
    """``N x ports``: through the joints"""

    @property
    def works(self) -> np.ndarray:
        """``N x ports``: both together."""
        return self.base + self.joints

    def work(self, port: str) -> np.ndarray:
        """``N``: through one port."""
        return np.asarray(self.works[:, self.ports.index(port)])

    @property
    def turned_over(self) -> float:
        """All energy that went through any port in either direction between samples (J)."""
        return float(np.abs(np.diff(self.works, axis=0)).sum())

    def residual(self, energy: np.ndarray) -> float:
        """The largest difference between the change of the mechanical ``energy`` (N, J) and the sum of all works,
        relative to the energy turned over.
        """
        gap = np.abs(energy - energy[0] - self.works.sum(axis=1)).max(initial=0.0)
        size = max(self.turned_over, float(np.abs(energy - energy[0]).max(initial=0.0)))
        return float(gap / size) if size else float(gap)
