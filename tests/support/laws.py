"""The groups under test, and random points of them."""

import numpy as np
from hypothesis import strategies as st

from fallingcat.lie import (
    R1,
    R2,
    R3,
    SE2,
    SE3,
    SO2,
    SO3,
    Cylindrical,
    Group,
    Helical,
    Product,
    PseudoPlanar,
    Schoenflies,
    SEk3,
    Trivial,
)

TILTED = (0.6, 0.0, 0.8)
GROUPS: list[Group] = [
    SE3(),
    SE2(),
    SO3(),
    Schoenflies(),
    SO2(),
    SO2(TILTED),
    R1(),
    R1(TILTED),
    R2(),
    R3(),
    Helical(pitch=0.3),
    Helical(TILTED, pitch=-1.5),
    Cylindrical(TILTED),
    PseudoPlanar(pitch=0.3),
    Trivial(),
    Product((SO2(), R1())),
    Product((SE3(), SO3(), R2())),
]

EXTENDED: list[Group] = [SEk3(2)]
"""Groups in which no base or joint moves."""


def name(group: Group) -> str:
    return f"{group}{'*' if getattr(group, 'axis', None) == SO2(TILTED).axis else ''}"


def generators(magnitude: float = 3.0):
    """Random number generators whose seeds hypothesis chooses and shrinks."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def algebra(group: Group, rng: np.random.Generator, angle: float | None = None) -> np.ndarray:
    """A random algebra vector; with ``angle``, every rotation in it has that angle."""
    if isinstance(group, Product):
        return np.concatenate([algebra(f, rng, angle) for f in group.factors])
    x = rng.normal(size=group.dim)
    turning = group.selection[3:].any(axis=0)
    length = np.linalg.norm(x[turning])
    if angle is None:
        angle = float(rng.uniform(0.0, 3.0))
    if length > 0:
        x[turning] *= angle / length
    return x
