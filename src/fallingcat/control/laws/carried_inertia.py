"""Inertia that a joint moves at least, whatever the other joints do."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays.types import Vector
from ...dynamics import mass_matrix
from ...dynamics.forward import check_mass
from ...model import Model, State

RANDOM_SHAPES = 4
"""Number of random configurations at which inertias are evaluated, beside the neutral one."""
MAX_SAMPLED_RATES = 60
"""Largest number of joint rates of robots of which random configurations are evaluated."""
KEPT_BITS = 40
"""Bits of an inertia: the others hang on the processor, and would make the equal legs of a robot different."""


def carried_inertia(model: Model) -> Vector:
    """Lower bounds ``m`` (n; kg m^2 or kg) of the inertia behind each joint, whatever the other joints do.

    With the joints' block ``B`` of ``M^-1`` (the base is free to move), ``m_i = 1 / (c B_ii)`` with the least ``c`` for
    which ``diag(m) <= B^-1``; the smallest of the neutral and a few random configurations.
    """
    return _least_inertia(model) if model.carried_inertias is None else model.carried_inertias


@functools.lru_cache(maxsize=8)
def _least_inertia(model: Model) -> np.ndarray:
    masses = [np.asarray(mass_matrix(model, state), dtype=float) for state in shapes(model)]
    try:
        return least_inertia(np.array(masses), model.m)
    except np.linalg.LinAlgError:
        for M in masses:
            check_mass(model, M)
        raise


@functools.lru_cache(maxsize=8)
def coupling(model: Model) -> np.ndarray:
    """Ratio ``m / a`` (n, at most 1) of :func:`carried_inertia` to the inertia ``a = 1 / B_ii`` of a joint by itself.

    It is the largest of the neutral and a few random configurations of the nominal robot.
    """
    nominal = model.nominal
    masses = np.array([np.asarray(mass_matrix(nominal, state), dtype=float) for state in shapes(nominal)])
    free = np.diagonal(np.linalg.inv(masses), axis1=1, axis2=2)[:, model.m :]
    return np.asarray((carried_inertia(nominal) * free).max(axis=0))


def shapes(model: Model) -> list[State]:
    """Configurations at which :func:`carried_inertia` evaluates inertias."""
    rng = np.random.default_rng(0)
    count = RANDOM_SHAPES if model.n <= MAX_SAMPLED_RATES else 0
    return [model.neutral(), *(model.random_state(rng) for _ in range(count))]


def least_inertia(masses: np.ndarray, m: int) -> np.ndarray:
    """Inertias of joints (... x n) from mass matrices (shapes x ... x nv x nv) with ``m`` base rates."""
    B = np.linalg.inv(masses)[..., m:, m:]
    alone = 1.0 / np.diagonal(B, axis1=-2, axis2=-1)
    root = np.sqrt(alone)
    largest = np.linalg.eigvalsh(root[..., :, None] * B * root[..., None, :]).max(axis=-1, initial=0.0)
    fraction, exponent = np.frexp((alone / largest[..., None]).min(axis=0))
    return np.asarray(np.ldexp(np.round(np.ldexp(fraction, KEPT_BITS)), exponent - KEPT_BITS))
