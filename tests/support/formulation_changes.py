"""Every change of velocity of the library, by name: what the laws of `formulations` run over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import fallingcat as fc
from fallingcat.arrays import sin
from fallingcat.lie import SE3, Trivial

Make = Callable[[fc.Model, fc.State, np.random.Generator], fc.VelocityChange]


def invertible(rng: np.random.Generator, n: int) -> np.ndarray:
    """A random matrix far from singular: two rotations and singular values between 1/2 and 2."""
    if not n:
        return np.zeros((0, 0))
    U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    return U @ np.diag(rng.uniform(0.5, 2.0, size=n)) @ V


def varying(model: fc.Model, rng: np.random.Generator, n: int) -> Callable[[fc.State], np.ndarray]:
    """A matrix that depends on the places of the first and last link, far from singular wherever they are."""
    X, Y = invertible(rng, n), invertible(rng, n)
    weights = rng.normal(size=(2, 3, 4))

    def matrix(state: fc.State) -> np.ndarray:
        ends = [fc.link_pose(model, state, model.link_names[i])[:3] for i in (0, -1)]
        return X + 0.15 * sin(sum((w * H).sum() for w, H in zip(weights, ends, strict=True))) * Y

    return matrix


def family(model: fc.Model, state: fc.State, rng: np.random.Generator) -> fc.VelocityChange:
    """A random member of [Feurstein] (3.80), with `Tx` and `Ty` that vary in time."""
    return fc.changes.decoupling(model, state, Tx=varying(model, rng, model.m), Ty=varying(model, rng, model.n))


ON_EVERY_BASE: dict[str, Make] = {
    "body": lambda m, s, rng: fc.changes.body(m, s),
    "mixed": lambda m, s, rng: fc.changes.mixed(m, s),
    "inertial": lambda m, s, rng: fc.changes.inertial(m, s),
    "world linear": lambda m, s, rng: fc.changes.world_linear(m, s),
}
ON_A_MOVING_BASE: dict[str, Make] = {
    "centroidal": lambda m, s, rng: fc.changes.centroidal(m, s),
    "locked": lambda m, s, rng: fc.changes.locked(m, s),
    "momentum map": lambda m, s, rng: fc.changes.momentum_map(m, s),
    "momentum map, world": lambda m, s, rng: fc.changes.momentum_map(m, s, "world"),
    "decoupling": family,
}
ON_SE3: dict[str, Make] = {
    "base at, body": lambda m, s, rng: fc.changes.base_at(m, s, m.link_names[-1]),
    "base at, mixed": lambda m, s, rng: fc.changes.base_at(m, s, m.link_names[-1], representation="mixed"),
    "base at, inertial": lambda m, s, rng: fc.changes.base_at(m, s, m.link_names[-1], representation="inertial"),
    "base at E[F]": lambda m, s, rng: fc.changes.base_at(
        m, s, m.link_names[-1], orientation=m.link_names[0], representation="mixed"
    ),
    "base at E[F], body": lambda m, s, rng: fc.changes.base_at(m, s, m.link_names[0], orientation=m.link_names[-1]),
    "G[B]": lambda m, s, rng: fc.changes.center_of_mass_base(m, s),
}


def changes(model: fc.Model, state: fc.State, rng: np.random.Generator) -> dict[str, fc.VelocityChange]:
    """All changes that suit the robot; all are square."""
    suited = dict(ON_EVERY_BASE)
    if not isinstance(model.base, Trivial):
        suited |= ON_A_MOVING_BASE
    if isinstance(model.base, SE3):
        suited |= ON_SE3
    return {name: make(model, state, rng) for name, make in suited.items()}
