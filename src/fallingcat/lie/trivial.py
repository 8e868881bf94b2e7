"""1: the group of no motion; a fixed base, a fixed joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..caching import cached_property
from .abelian import Abelian
from .group import constant


@dataclass(frozen=True)
class Trivial(Abelian):
    """The group whose only element is the identity.

    >>> Trivial().exp(np.zeros(0)).shape
    (4, 4)
    """

    name = "1"
    dim = 0
    coordinate_names = ()

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Any) -> np.ndarray:
        return np.eye(4)

    def log(self, g: Any) -> np.ndarray:
        return np.zeros(0)

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> np.ndarray:
        return constant(np.zeros((6, 0)))

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> np.ndarray:
        return np.zeros((*batch, 0))
