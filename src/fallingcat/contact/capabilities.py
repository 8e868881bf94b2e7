"""Optional protocols of contacts that integrators need, by name."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..arrays.types import Scalar, Vector, Vector_2, Vector_3, Vector_nv
from ..errors import ModelError
from ..geometry.contact_points import Site
from ..model import Model, State
from .base import Contact, Jump, Mode
from .support_points import Landing, Support
from .theta_weights import ThetaWeights


class HybridModes(Protocol):
    """Modes in which motion is smooth, guards that end a mode, jumps that begin the next.

    For integrators that locate events.

    Example:
        >>> import fallingcat as fc
        >>> offers(fc.contact.HardContacts(("body",)), HybridModes)
        True
    """

    def guards(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Vector:
        """Numbers that are not negative while the mode lasts; the first that becomes negative ends it.

        Args:
            model: Robot.
            mode: Mode.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv) of everything else.

        Returns:
            Values (k) of all guards.
        """

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: Vector_nv) -> Jump:
        """Event where a guard has become negative.

        Args:
            model: Robot.
            mode: Mode.
            guard: Index of the guard.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv) of everything else.

        Returns:
            New mode, state and memory.
        """


class LinearizedForces(Protocol):
    """Forces at single points as linear functions of the velocity at the end of a step: for implicit integrators.

    A mode is one truth value for each point, the ports are those of normal and of tangential forces, and the memory has
    the same length for each point.  :class:`.CompliantContact` has all of this for a force law of single points.

    Example:
        >>> import fallingcat as fc
        >>> offers(fc.contact.HardContacts(("body",)), LinearizedForces)
        False
    """

    def point_impedance(self, model: Model) -> tuple[Vector_3, Vector_3]:
        """Typical stiffness and damping of a point.

        Args:
            model: Robot.

        Returns:
            Stiffness (N/m) and damping (N s/m) along normal and tangents (3 each).
        """

    def touchdown(self, position: Vector_3, velocity: Vector_3, anchor: Vector, dt: Scalar) -> Landing:
        """Landing of a point within a step.

        Args:
            position: Position (3, m: normal, tangents) in the middle of the step at constant velocity.
            velocity: Velocity (3, m/s) at its start.
            anchor: Memory of the point (k).
            dt: Step size (s).

        Returns:
            Position, memory, and the part of the step in contact.
        """

    def support(self, point: Any, ahead: Vector_3, seen: ThetaWeights) -> Support:
        """Contact force of a step, linearized at the velocity at its end.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            seen: Weights of the step.

        Returns:
            Force as a linear function of the velocity.
        """

    def step_force(self, point: Any, ahead: Vector_3, seen: ThetaWeights) -> Vector_3:
        """Contact force of a step.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            seen: Weights of the step.

        Returns:
            Force (3, N) along normal and tangents.
        """

    def anchor(self, point: Any, ahead: Vector_3, friction: Vector_2, seen: ThetaWeights) -> tuple[Vector, Any]:
        """Memory of a point at the end of a step.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            friction: Tangential force (2, N) of the step.
            seen: Weights of the step.

        Returns:
            Memory (k), and the condition that the point is in the ground.
        """

    def rolls(self, i: int) -> bool:
        """True if the memory of a point is the way that it has slipped, and not a position.

        Args:
            i: Index of the point.

        Returns:
            True for balls, and for all points on terrain.
        """

    def unloaded(self, i: int, site: Site, p: Vector_3) -> Vector:
        """Memory of a point that touches down.

        Args:
            i: Index of the point.
            site: Ground below it.
            p: Position (3, world, m).

        Returns:
            Memory (k) without tangential load.
        """


class AdmissibleImpulses(Protocol):
    """Sets of the admissible impulses of a time step: for time stepping.

    Example:
        >>> import fallingcat as fc
        >>> offers(fc.contact.HardContacts(("body",)), AdmissibleImpulses)
        True
    """

    def time_stepping(self, further: int) -> Contact:
        """Contact with the memory of time steps.

        Args:
            further: Number of further rows, of loops and dry friction.

        Returns:
            The same contact for time stepping.
        """


Capability = type[HybridModes] | type[LinearizedForces] | type[AdmissibleImpulses]

_WORDS: dict[Capability, str] = {
    HybridModes: "hybrid modes",
    LinearizedForces: "linearised forces",
    AdmissibleImpulses: "admissible impulses",
}
_METHODS: dict[Capability, tuple[str, ...]] = {
    kind: tuple(name for name in vars(kind) if not name.startswith("_")) for kind in _WORDS
}


def offers(contact: Contact | None, capability: Capability) -> bool:
    """True if there is a contact with these methods."""
    return contact is not None and not _missing(contact, capability)


def _missing(contact: Contact, capability: Capability) -> list[str]:
    return [name for name in _METHODS[capability] if not hasattr(contact, name)]


def check_offers(contact: Contact, capability: Capability, method: str) -> None:
    """Refuse a contact without the capability of an integrator, by name."""
    missing = _missing(contact, capability)
    if missing:
        base = " (CompliantContact has them)" if capability is LinearizedForces else ""
        raise ModelError(
            f"the integrator {method!r} needs {_WORDS[capability]}, which {type(contact).__name__} does not offer: "
            f"add {', '.join(missing)}{base}"
        )
