"""1: the group of no motion; a fixed base, a fixed joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays.types import Float_4_4, Float_6_m, Float_m, Floats_nq, Pose, Vector_m
from ..caching import cached_property
from .abelian import Abelian
from .group import constant


@dataclass(frozen=True)
class Trivial(Abelian):
    """Group whose only element is the identity.

    Example:
        >>> Trivial().exp(np.zeros(0)).shape
        (4, 4)
    """

    name = "1"
    dim = 0
    coordinate_names = ()

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Float_4_4:
        """Exponential map."""
        return np.eye(4)

    def log(self, g: Pose) -> Float_m:
        """Logarithm."""
        return np.zeros(0)

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 0)."""
        return constant(np.zeros((6, 0)))

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements: empty."""
        return np.zeros((*batch, 0))
