r"""Cartesian coordinates, [ETH] (2.3), (2.4), (2.12): the position itself, :math:`E_P = 1`."""

from typing import Any, final

import numpy as np

from .chart import PositionChart


@final
class Cartesian(PositionChart):
    """``(x, y, z)`` in metres; nowhere singular.

    >>> Cartesian().to_position([1.0, 2.0, 3.0])
    array([1., 2., 3.])
    """

    name = "Cartesian"
    symbols = ("x", "y", "z")

    def singularity(self, x: Any) -> Any:
        """Infinity: there is no singular line."""
        return float("inf")

    def _position(self, x: Any) -> Any:
        return x

    def _coordinates(self, r: Any) -> Any:
        return r

    def _rates(self, x: Any) -> Any:
        return np.eye(3)

    def _rates_inverse(self, x: Any) -> Any:
        return np.eye(3)
