"""Optional capabilities of force laws: what integrators ask for beside forces.

Each is a mix-in of :class:`.Law` whose defaults say that a law does not offer it; a law overrides those of the
capability that it has.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from ...arrays import stack
from ...model import Model, State


class Impedance:
    """Stiffness and damping: implicit steps foresee them, and default steps resolve them."""

    def impedance(self, model: Model, state: State) -> tuple[np.ndarray, np.ndarray] | None:
        """Stiffness and damping (nv x nv) at most, near a state: how short steps have to be.  None: not said."""
        return None

    def joint_impedance(self, model: Model, t: Any, state: State, touching: frozenset[str], dt: Any) -> Any:
        """``2 x n``: stiffness and damping of single joints that an implicit step of ``dt`` (s) foresees; by default
        those of :meth:`impedance`.
        """
        said = self.impedance(model, state)
        return np.zeros((2, model.n)) if said is None else stack([np.diagonal(x)[model.m :] for x in said])

    def for_implicit_steps(self) -> Self:
        """The law as implicit steps take it, which foresee springs and dampers that others would have to resolve."""
        return self

    def fastest_rate(self, model: Model) -> float:
        """The rate (1/s) at which it moves a robot at most, if its stiffness is not in :meth:`impedance`, because it
        acts now and then: default steps follow it.  0: not said.
        """
        return 0.0

    def stored_energy(self, model: Model, state: State) -> float | None:
        """The energy (J) that it holds at a state, of a law that never gives more than it holds and was given: a run in
        which it does says so.  None: not said.
        """
        return None


class Saturation:
    """Forces that follow from what is asked of the drives, such as their limits."""

    saturates: bool = False
    """Whether its forces follow from what commanded laws and controller ask for: then :meth:`beside` gives them."""

    def saturated_forces(self, model: Model, t: Any, state: State, touching: frozenset[str], asked: Any) -> Any:
        """:meth:`.Law.forces` of a law that ``saturates``, beside those (nv) that are ``asked`` of the drives."""
        return self.forces(model, t, state, touching)  # type: ignore[attr-defined]

    def implicit_damping(self, model: Model, state: State, asked: Any, dt: Any) -> Any:
        """``n``: the damping of joints that an implicit step of ``dt`` (s) foresees of a law that ``saturates``."""
        return np.zeros(model.n)


class DryFrictionLimit:
    """Dry friction that holds joints at rest."""

    def dry_friction(self, model: Model) -> np.ndarray | None:
        """Dry friction (n): the forces up to which the law holds joints at rest, and with which it pulls against their
        motion.  Steps that can do so hold them exactly, instead of by :meth:`.Law.forces`.  None: it is no such law.
        """
        return None

    def fade_rates(self, model: Model) -> Any:
        """Rates (n; rad/s or m/s) below which the smooth friction of :meth:`.Law.forces` fades: joints that should be
        held creep at less than that where no step holds them.  Zero: they do not.
        """
        return np.zeros(model.n)


class OwnState:
    """A state of the law, as an observer or an integral controller has."""

    memory: Any = np.zeros(0)
    """what it remembers now, as :meth:`remembering` has set it"""

    def memory_size(self, model: Model) -> int:
        """How many numbers it remembers."""
        return 0

    def begin(self, model: Model, state: State) -> np.ndarray:
        """What it remembers at the start of a run."""
        return np.zeros(self.memory_size(model))

    def remembering(self, memory: Any) -> Self:
        """The same law that remembers this, of any kind of number."""
        changed = copy.copy(self)
        object.__setattr__(changed, "memory", memory)
        return changed

    def memory_rate(self, model: Model, t: Any, state: State) -> Any:
        """``d memory / dt``, of laws that run with the robot."""
        return np.zeros(self.memory_size(model))

    def after(self, model: Model, t: Any, state: State, period: Any) -> Any:
        """The memory ``period`` (s) later: after a step, or at the next look of a sampled law.  By the midpoint rule,
        unless it knows better, as a filter does whose poles are faster than steps.
        """
        half = self.memory + (0.5 * period) * self.memory_rate(model, t, state)
        return self.memory + period * self.remembering(half).memory_rate(model, t, state)

    def noises(self, model: Model) -> int:
        """How many random numbers a look at the robot takes."""
        return 0

    def sensed(self, model: Model, state: State, noise: Any) -> State:
        """What a sampled law sees of a state, with ``noise``: standard normal numbers, new at every look."""
        return state
