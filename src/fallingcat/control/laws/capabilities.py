"""Optional capabilities of force laws that integrators use beside the forces.

Each is a mix-in of :class:`.Law` whose defaults mean "not offered"; a law overrides the methods of the capabilities
that it has.
"""

from __future__ import annotations

import copy
from typing import Self

import numpy as np

from ..._deprecated import former_attribute
from ...arrays import stack
from ...arrays.types import Float_n, Matrix_2_n, Matrix_nv_nv, Scalar, Vector, Vector_n, Vector_nv
from ...model import Model, State


class Impedance:
    """Stiffness and damping of a law: implicit steps use them, and default step sizes resolve them."""

    def impedance(self, model: Model, state: State) -> tuple[Matrix_nv_nv, Matrix_nv_nv] | None:
        """Upper bounds of stiffness and damping near a state, from which default step sizes follow.

        Args:
            model: Robot.
            state: State near which the bounds hold.

        Returns:
            Stiffness and damping (nv x nv each; N m/rad or N/m, N m s/rad or N s/m), or None where they are unknown.
        """
        return None

    def joint_impedance(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar
    ) -> Matrix_2_n:
        """Stiffness and damping of single joints for an implicit step; by default the diagonals of :meth:`impedance`.

        Args:
            model: Robot.
            t: Time (s).
            state: State at the start of the step.
            touching: Names of the points on the ground.
            dt: Step size (s).

        Returns:
            ``2 x n``: stiffness and damping.
        """
        said = self.impedance(model, state)
        return np.zeros((2, model.n)) if said is None else stack([np.diagonal(x)[model.m :] for x in said])

    def loaded_impedance(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], dt: Scalar, load: Vector_n
    ) -> Matrix_2_n:
        """:meth:`joint_impedance` of laws that act on one side only, and begin to act where a step ends under a load.

        Args:
            model: Robot.
            t: Time (s).
            state: State at the start of the step.
            touching: Names of the points on the ground.
            dt: Step size (s).
            load: Joint forces of the other laws and of the controller, before limits of drives.

        Returns:
            ``2 x n``: stiffness and damping.
        """
        return self.joint_impedance(model, t, state, touching, dt)

    def for_linearized_steps(self, model: Model) -> Self:
        """Law for steps that take forces as linear in the velocity at their end; by default as it is.

        Args:
            model: Robot.

        Returns:
            The law.
        """
        return self

    def for_implicit_steps(self) -> Self:
        """Law as implicit steps use it, which need not resolve stiff springs and dampers.

        Returns:
            The law itself by default.
        """
        return self

    def fastest_rate(self, model: Model) -> float:
        """Largest rate at which the law moves a robot, for laws whose stiffness is not in :meth:`impedance`.

        Default step sizes resolve it.  Intermittent forces, such as those of self-contact, have one.

        Args:
            model: Robot.

        Returns:
            Rate (1/s); 0 where it is unknown.
        """
        return 0.0

    def stored_energy(self, model: Model, state: State) -> float | None:
        """Stored energy of a passive law, one that never returns more energy than it received.

        A run in which the law returns more reports it.

        Args:
            model: Robot.
            state: Configuration.

        Returns:
            Energy (J), or None where the law makes no such claim.
        """
        return None


class Saturation:
    """Forces that depend on the commands to the drives, such as their limits."""

    saturates: bool = False
    """True if its forces depend on the commands of laws and controller: then :meth:`notes` returns them."""

    def saturated_forces(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], asked: Vector_nv
    ) -> Vector_nv:
        """Forces of a law with ``saturates``, given the commands to the drives.

        Args:
            model: Robot.
            t: Time (s).
            state: Configuration and velocity.
            touching: Names of the points on the ground.
            asked: Sum of the forces of all commanded laws and the controller (nv).

        Returns:
            Generalized forces (nv), as of :meth:`.Law.forces`.
        """
        return self.forces(model, t, state, touching)  # type: ignore[attr-defined]

    def implicit_damping(self, model: Model, state: State, asked: Vector_nv, dt: Scalar) -> Vector_n:
        """Joint damping that an implicit step assumes for a law with ``saturates``.

        Args:
            model: Robot.
            state: State at the start of the step.
            asked: Forces commanded to the drives (nv).
            dt: Step size (s).

        Returns:
            Damping of each rate (n; N m s/rad or N s/m).
        """
        return np.zeros(model.n)


class DryFrictionLimit:
    """Dry friction that holds joints at rest."""

    def dry_friction(self, model: Model) -> Float_n | None:
        """Dry friction up to which the law holds joints at rest, and with which it opposes their motion.

        Steps that support it hold joints exactly, instead of using :meth:`.Law.forces`.

        Args:
            model: Robot.

        Returns:
            Friction of each rate (n; N m or N), or None for laws without dry friction.
        """
        return None

    def fade_rates(self, model: Model) -> Vector_n:
        """Speeds below which the smooth friction of :meth:`.Law.forces` fades.

        Where no step holds the joints exactly they creep at less than this speed.

        Args:
            model: Robot.

        Returns:
            Speed of each rate (n; rad/s or m/s); zero where joints do not creep.
        """
        return np.zeros(model.n)


class OwnState:
    """State of a law, as of an observer or an integral controller."""

    memory: Vector = np.zeros(0)
    """current state of the law, set by :meth:`with_memory`"""

    def memory_size(self, model: Model) -> int:
        """Number of entries of the law's state.

        Args:
            model: Robot.

        Returns:
            Size of ``memory``; 0 for laws without a state.
        """
        return 0

    def begin(self, model: Model, state: State) -> np.ndarray:
        """Initial state of the law.

        Args:
            model: Robot.
            state: State of the robot at the start of the run.

        Returns:
            Initial ``memory`` (:meth:`memory_size`).
        """
        return np.zeros(self.memory_size(model))

    def with_memory(self, memory: Vector) -> Self:
        """Copy of the law with another state.

        Args:
            memory: State of the law (:meth:`memory_size`), of any kind of number.

        Returns:
            The same law with this ``memory``.
        """
        changed = copy.copy(self)
        object.__setattr__(changed, "memory", memory)
        return changed

    remembering = former_attribute("remembering", "with_memory")

    def memory_rate(self, model: Model, t: Scalar, state: State) -> Vector:
        """Time derivative of the law's state, for laws that are integrated with the robot.

        Args:
            model: Robot.
            t: Time (s).
            state: Configuration and velocity.

        Returns:
            ``d memory / dt`` (:meth:`memory_size`).
        """
        return np.zeros(self.memory_size(model))

    def after(self, model: Model, t: Scalar, state: State, period: Scalar) -> Vector:
        """State of the law after a step, or at the next sample of a sampled law.

        By default the midpoint rule; filters with poles faster than the step override it.

        Args:
            model: Robot.
            t: Time (s).
            state: State of the robot at ``t``.
            period: Step size or sampling period (s).

        Returns:
            ``memory`` (k) at ``t + period``.
        """
        half = self.memory + (0.5 * period) * self.memory_rate(model, t, state)
        return self.memory + period * self.with_memory(half).memory_rate(model, t, state)

    def noise_size(self, model: Model) -> int:
        """Number of random numbers that one sample of the sensors takes.

        Args:
            model: Robot.

        Returns:
            Size of the noise vector of :meth:`sensed`.
        """
        return 0

    def sensed(self, model: Model, state: State, noise: Vector) -> State:
        """Measured state that a sampled law receives.

        Args:
            model: Robot.
            state: True state.
            noise: Standard normal numbers (:meth:`noise_size`), new at every sample.

        Returns:
            State with the errors of the sensors.
        """
        return state
