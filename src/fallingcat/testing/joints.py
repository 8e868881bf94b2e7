"""Laws of joints: a motion subspace is the derivative of a placement, and robots with the joint obey Lagrange."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from ..arrays import Graph, concatenate
from ..arrays.types import FloatArray, Scalar
from ..compiler import compile
from ..dynamics import displace, inverse_dynamics, inverse_dynamics_derivatives, kinetic_energy, potential_energy
from ..errors import ModelError, describe
from ..formulations.time import STEP, state_after
from ..lie import SE3
from ..model import Joint, JointKind, Limits, Model, State, robots
from .report import Report, Requirement, count, generator, largest, relative_difference

G = SE3()


def check_joint(kind: type[JointKind] | JointKind, rounds: int = 10, seed: int = 0) -> Report:
    """Check the laws of joints on a kind, or on one joint of it, from both sides.

    A class is asked for its :meth:`~.JointKind.sample`.

    Args:
        kind: Class of joints that is not abstract, or one joint.
        rounds: Number of random joints and states.
        seed: Seed of the random numbers.

    Returns:
        Table of residuals.

    Raises:
        BrokenLawError: A law does not hold.

    Example:
        >>> from fallingcat.model import Universal
        >>> print(check_joint(Universal))
        joint kind 'universal': passed
          subspace        ...  holds        S = H^-1 dH, by complex step
          subspace rate   ...  holds        dS/dt, by complex step
          fixed axes      ...  holds        S is constant where declared so
          neutral         ...  holds        H(neutral) = 1
          other side      ...  holds        the reversed joint is the inverse
          turned twice    ...  holds        reversed twice is the joint itself
          traced          ...  holds        expressions give the same numbers
          power           ...  holds        v' F = d/dt energy, of a robot with it
          lagrange        ...  holds        Newton-Euler = Lagrange, of a robot with it
          compiled        ...  holds        machine code gives the same numbers
          derivatives     ...  holds        dF/dq in machine code, by complex step
    """
    whole = issubclass(kind, JointKind) and not inspect.isabstract(kind) if isinstance(kind, type) else None
    if not (isinstance(kind, JointKind) if whole is None else whole):
        raise ModelError(f"kind must be a class of joints that is not abstract, or one joint, got {describe(kind)}")
    count(rounds, "rounds")
    generator(seed)
    sampled = (lambda rng: kind.sample(rng)) if isinstance(kind, type) else (lambda rng: kind)
    subject = f"joint kind {kind.name!r}"
    alone = (law.check_cases(subject, _single_joints(sampled, rounds, seed)) for law in SINGLE_JOINT)
    built = (law.check_cases(subject, _robots_with_joint(sampled, rounds, seed)) for law in WHOLE_ROBOT)
    compiled = (law.check_cases(subject, _robots_with_joint(sampled, 1, seed)) for law in COMPILED)
    return Report.of(subject, chain(alone, built, compiled))


JointSampler = Callable[[np.random.Generator], JointKind]


def _single_joints(sampled: JointSampler, rounds: int, seed: int) -> Iterator[tuple[Joint, np.random.Generator]]:
    """Joints with random placements and offsets, from the inner and from the outer side."""
    for i in range(2 * rounds):
        rng = np.random.default_rng([seed, i])
        joint = Joint("j", sampled(rng), "a", "b", G.random(rng), G.random(rng))
        yield (joint.reversed() if i % 2 else joint), rng


def _robots_with_joint(
    sampled: JointSampler, rounds: int, seed: int
) -> Iterator[tuple[Model, State, np.random.Generator]]:
    """Random robots with the joint, a hinge, and the joint seen from its other side."""
    for i in range(rounds):
        rng = np.random.default_rng([seed, i])
        tree = robots.random_tree(rng, 3, kinds=["revolute"])
        kinds = sampled(rng), tree.joints[1].kind, sampled(rng).reversed()
        joints = tuple(replace(j, kind=k, limits=Limits()) for j, k in zip(tree.joints, kinds, strict=True))
        model = replace(tree, joints=joints)
        yield model, model.random_state(rng), rng


def _point(joint: Joint, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    return joint.kind.group.random_coordinates(rng), rng.normal(size=joint.kind.nv)


def _coordinates_after(kind: JointKind, q: Any, rates: Any) -> Any:
    """Coordinates after an imaginary time step at constant rates: the group's own exponential."""
    group = kind.group
    return group.coordinates(group.compose(group.element(q), group.exp(1j * STEP * rates)))


# of a joint -----------------------------------------------------------------------------------------------------------


def _subspace(joint: Joint, rng: np.random.Generator) -> float:
    q, rates = _point(joint, rng)
    derivative = np.imag(joint.transform(_coordinates_after(joint.kind, q, rates))) / STEP
    S = joint.motion_subspace(q)
    right_shape = np.shape(S) == (6, joint.kind.nv)
    return relative_difference(G.inverse(joint.transform(q)) @ derivative, G.hat(S @ rates)) if right_shape else np.inf


def _subspace_rate(joint: Joint, rng: np.random.Generator) -> float:
    q, rates = _point(joint, rng)
    derivative = np.imag(joint.motion_subspace(_coordinates_after(joint.kind, q, rates))) / STEP
    return relative_difference(joint.motion_subspace_derivative(q, rates), derivative)


def _fixed_axes(joint: Joint, rng: np.random.Generator) -> float:
    if not joint.kind.fixed_axes:
        return 0.0
    there, here = (joint.kind.motion_subspace(_point(joint, rng)[0]) for _ in range(2))
    return relative_difference(there, here)


def _neutral(joint: Joint, rng: np.random.Generator) -> float:
    kind, at = joint.kind, joint.kind.neutral()
    placed = relative_difference(joint.transform(at), joint.placement @ joint.offset)
    return largest(placed, relative_difference(kind.transform(at), np.eye(4))) if at.shape == (kind.nq,) else np.inf


def _reversed_joint(joint: Joint, rng: np.random.Generator) -> float:
    turned, (q, rates) = joint.reversed(), _point(joint, rng)
    H = joint.transform(q)
    # the parent relative to the child moves against the child relative to the parent
    moves = relative_difference(turned.motion_subspace(q) @ rates, -(G.Ad(H) @ joint.motion_subspace(q) @ rates))
    return largest(relative_difference(turned.transform(q), G.inverse(H)), moves)


def _reversed_twice(joint: Joint, rng: np.random.Generator) -> float:
    again, q = joint.reversed().reversed(), _point(joint, rng)[0]
    same = (again.kind, again.parent, again.child, again.limits) == (
        joint.kind, joint.parent, joint.child, joint.limits,
    )  # fmt: skip
    return largest(0.0 if same else np.inf, relative_difference(again.transform(q), joint.transform(q)))


def _compiled_difference(joint: Joint, rng: np.random.Generator) -> float:
    q, rates = _point(joint, rng)
    graph, expected = Graph(), _all_quantities(joint, q, rates)
    values = {f"q{i}": x for i, x in enumerate(q)} | {f"v{i}": x for i, x in enumerate(rates)}
    found = _all_quantities(joint, graph.inputs("q", len(q)), graph.inputs("v", len(rates)))
    return relative_difference(np.array(graph.evaluate([found], values), dtype=float).reshape(-1), expected)


def _all_quantities(joint: Joint, q: Any, rates: Any) -> Any:
    S, dS = joint.motion_subspace(q), joint.motion_subspace_derivative(q, rates)
    return concatenate([joint.transform(q)[:3].reshape(-1), S @ rates, dS @ rates])


# of a robot with it ---------------------------------------------------------------------------------------------------


def _power(model: Model, state: State, rng: np.random.Generator) -> float:
    a = rng.normal(size=model.nv)
    moved = state_after(model, state, 1j * STEP, a)
    rate = np.imag(kinetic_energy(model, moved) + potential_energy(model, moved)) / STEP
    forces = inverse_dynamics(model, state, a)
    return abs(float(state.velocity @ forces - rate)) / float(np.abs(state.velocity) @ np.abs(forces) + 1.0)


def _lagrange(model: Model, state: State, rng: np.random.Generator) -> float:
    """Boltzmann-Hamel: ``d/dt dT/dv - ad(v)' dT/dv - d(T - V)/dx = F``, from energies alone."""
    a, units = rng.normal(size=model.nv), np.eye(model.nv)
    rate = np.imag(_momenta(model, state_after(model, state, 1j * STEP, a))) / STEP
    turning = model.configuration.ad(state.velocity).T @ _momenta(model, state)

    def slope(unit: np.ndarray) -> float:
        moved = displace(model, state, 1j * STEP * unit)
        return float(np.imag(kinetic_energy(model, moved) - potential_energy(model, moved)) / STEP)

    expected = rate - turning - np.array([slope(unit) for unit in units])
    return relative_difference(inverse_dynamics(model, state, a), expected)


def _momenta(model: Model, state: State) -> np.ndarray:
    """``dT/dv`` (nv), exactly, for ``T`` is quadratic: ``(T(v + e) - T(v - e)) / 2``."""

    def energy(v: np.ndarray) -> Scalar:
        return kinetic_energy(model, state._replace(twist=v[: model.m], rates=v[model.m :]))

    v = state.velocity
    return np.array([0.5 * (energy(v + unit) - energy(v - unit)) for unit in np.eye(model.nv)])


def _compiled_residual(model: Model, state: State, rng: np.random.Generator) -> float:
    a = rng.normal(size=model.nv)
    found = compile(model, inverse_dynamics)(*model.flatten(state), a)
    return relative_difference(found, inverse_dynamics(model, state, a))


def _derivatives(model: Model, state: State, rng: np.random.Generator) -> float:
    """Compiled, against complex step through the plain function."""
    a = rng.normal(size=model.nv)
    found = compile(model, inverse_dynamics_derivatives)(*model.flatten(state), a)
    moved = [displace(model, state, 1j * STEP * unit) for unit in np.eye(model.nv)]
    by_q = [np.imag(inverse_dynamics(model, at, a)) / STEP for at in moved]
    return relative_difference(found.configuration, np.stack(by_q, axis=1))


SINGLE_JOINT = (
    Requirement("subspace", "S = H^-1 dH, by complex step", 1e-12, _subspace),
    Requirement("subspace rate", "dS/dt, by complex step", 1e-12, _subspace_rate),
    Requirement("fixed axes", "S is constant where declared so", 0.0, _fixed_axes),
    Requirement("neutral", "H(neutral) = 1", 1e-14, _neutral),
    Requirement("other side", "the reversed joint is the inverse", 1e-12, _reversed_joint),
    Requirement("turned twice", "reversed twice is the joint itself", 1e-14, _reversed_twice),
    Requirement("traced", "expressions give the same numbers", 1e-12, _compiled_difference),
)
"""Laws of a joint and its random numbers."""
WHOLE_ROBOT = (
    Requirement("power", "v' F = d/dt energy, of a robot with it", 1e-12, _power),
    Requirement("lagrange", "Newton-Euler = Lagrange, of a robot with it", 1e-11, _lagrange),
)
"""Laws of a robot, a state and random numbers."""
COMPILED = (
    Requirement("compiled", "machine code gives the same numbers", 1e-12, _compiled_residual),
    Requirement("derivatives", "dF/dq in machine code, by complex step", 1e-11, _derivatives),
)
"""The same, once: a robot takes a second to compile."""
