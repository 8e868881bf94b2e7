"""A robot in motion for printed equations, and derivatives along its motion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from printed import STEP

import fallingcat as fc
from fallingcat.lie import SE3


class Case(NamedTuple):
    """A robot, its state, its acceleration (nv), and what forces that takes (nv)."""

    model: fc.Model
    state: fc.State
    acceleration: np.ndarray
    forces: np.ndarray

    @property
    def link(self) -> str:
        """The last link."""
        return self.model.link_names[-1]

    def moved(self, displacement: Any) -> fc.State:
        """The state displaced by `i STEP displacement` (nv)."""
        return fc.dynamics.displace(self.model, self.state, 1j * STEP * np.asarray(displacement))

    def rate(self, function: Callable[[fc.State], Any]) -> Any:
        """The time derivative of a function of the state along its motion, accelerations included."""
        later = self.moved(self.state.velocity)
        v = self.state.velocity + 1j * STEP * self.acceleration
        m = self.model.m
        return np.imag(function(later._replace(twist=v[:m], rates=v[m:]))) / STEP

    def slopes(self, function: Callable[[fc.State], Any]) -> np.ndarray:
        """Derivatives along all displacements of base and joints, the last axis; velocities stay."""
        return np.stack([np.imag(function(self.moved(e))) / STEP for e in np.eye(self.model.nv)], axis=-1)


@cache
def case(seed: int = 2, joints: int = 4, base: Any = None) -> Case:
    """A random tree of hinges and sliders; the branch to its last link has several joints."""
    rng = np.random.default_rng(seed)
    kinds = ["revolute", "prismatic"]
    model = fc.robots.random_tree(rng, joints, kinds=kinds, branching=0.3, base=SE3() if base is None else base)
    state, a = model.random_state(rng), rng.normal(size=model.nv)
    return Case(model, state, a, fc.inverse_dynamics(model, state, a))
