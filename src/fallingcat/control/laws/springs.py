"""Joint springs and dampers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import concatenate
from ...arrays.types import Matrix, Matrix_nv_nv, Scalar, Vector, Vector_nv
from ...dynamics.checks import vector
from ...errors import ModelError, describe
from ...model import Model, State
from ...records import concise
from .base import Law


@concise
@dataclass(frozen=True)
class JointSpring(Law):
    """Joint springs ``tau = -K (q - q_rest)`` on all joints or on those named in ``only``.

    For joints that are angles and lengths.  One law is one line of the energy ledger: give each joint a law of its own
    to see its work alone.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> bent = cat.state(joints=[0.1, 0.2])
        >>> JointSpring(2.0).forces(cat, 0.0, bent, frozenset())[cat.m :]
        array([-0.2, -0.4])
        >>> JointSpring(2.0, only=cat.joint_names[1:], name="arch").forces(cat, 0.0, bent, frozenset())[cat.m :]
        array([-0. , -0.4])
    """

    stiffness: float
    """N m/rad or N/m"""
    rest: tuple[float, ...] | None = None
    """coordinates of all joints; None: all zero"""
    only: tuple[str, ...] | None = None
    """names of joints; None: all"""
    name: str = "joint springs"

    def __post_init__(self) -> None:
        """Check the fields; the stiffness is one number."""
        _refuse_joint_values(self.stiffness, "stiffness", self.name)
        super().__post_init__()

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """``-K (q - q_rest)`` on the joints; no wrench on the base."""
        return concatenate([np.zeros(model.m), -self.stiffness * self._deflections(model, state)])

    def energy(self, model: Model, state: State) -> Scalar:
        """Energy ``K |q - q_rest|^2 / 2`` of the springs.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Energy (J).
        """
        away = self._deflections(model, state)
        return 0.5 * self.stiffness * (away @ away)

    def impedance(self, model: Model, state: State) -> tuple[Matrix, Matrix]:
        """``K`` on the diagonal of the named joints; no damping."""
        return on_joints(model, self.stiffness * _joint_mask(model, self.only)), np.zeros((model.nv, model.nv))

    def _deflections(self, model: Model, state: State) -> Any:
        """Deflections (n); 0 for joints without a spring."""
        if model.nq - model.base.nq != model.n:
            raise ModelError(f"joint springs act on angles and lengths; {model.name!r} has joints of other kinds")
        rest = np.zeros(model.n) if self.rest is None else vector(self.rest, model.n, f"rest of {self.name!r}")
        return (state.joints - rest) * _joint_mask(model, self.only)


@concise
@dataclass(frozen=True)
class JointDamper(Law):
    """Joint dampers ``tau = -D rates`` on all joints or on those named in ``only``.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> JointDamper(0.5).forces(cat, 0.0, cat.state(rates=[1.0, 2.0]), frozenset())[cat.m :]
        array([-0.5, -1. ])
    """

    damping: float
    """N m s/rad or N s/m"""
    only: tuple[str, ...] | None = None
    """names of joints; None: all"""
    name: str = "joint dampers"

    def __post_init__(self) -> None:
        """Check the fields; the damping is one number."""
        _refuse_joint_values(self.damping, "damping", self.name)
        super().__post_init__()

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """``-D rates`` on the joints; no wrench on the base."""
        return concatenate([np.zeros(model.m), -self.damping * (state.rates * _joint_mask(model, self.only))])

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv]:
        """``D`` on the diagonal of the named joints; no stiffness."""
        return np.zeros((model.nv, model.nv)), on_joints(model, self.damping * _joint_mask(model, self.only))


def _refuse_joint_values(x: Any, what: str, name: str) -> None:
    """Raise an error for one number per joint, which names the law that takes it."""
    if isinstance(x, (list, tuple)) or np.ndim(x) > 0:
        rule = f"{what} of {name!r} must be one number for all of its joints"
        raise ModelError(f"{rule}, got {describe(x)}: Impedance(goal, stiffness, damping) takes one for each")


def on_joints(model: Model, values: np.ndarray) -> np.ndarray:
    """Diagonal matrix (nv x nv) of one number (n) for each rate, zero for the base."""
    return np.diag(np.concatenate([np.zeros(model.m), values]))


def on_rates(model: Model, rates: np.ndarray, forces: Vector) -> Vector:
    """Forces on some rates as generalised forces (nv)."""
    return replaced(np.zeros(model.nv), model.m + rates, forces)


def replaced(all_: Vector, places: np.ndarray, some: Vector) -> Vector:
    """Numbers with some entries replaced."""
    from_ = np.arange(len(all_))
    from_[places] = len(all_) + np.arange(len(places))
    return concatenate([all_, some])[from_]


def _joint_mask(model: Model, only: tuple[str, ...] | None) -> np.ndarray:
    """1 for each degree of freedom of the named joints, else 0."""
    if only is None:
        return np.ones(model.n)
    chosen = np.zeros(model.n)
    for name in only:
        chosen[model.v_slices[model.leading_index(name)]] = 1.0
    return chosen
