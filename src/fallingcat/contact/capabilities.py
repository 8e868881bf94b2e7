"""Optional protocols of contacts: what integrators ask for, by name."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..errors import ModelError
from ..geometry.contact_points import Site
from ..model import Model, State
from .base import Contact, Jump, Mode
from .support_points import Landing, Support
from .theta_weights import ThetaWeights


class HybridModes(Protocol):
    """Modes in which motion is smooth, guards that end a mode, jumps that begin the next: for integrators that locate
    events.
    """

    def guards(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        """Numbers that are not negative while the mode lasts; the first that becomes so ends it."""

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: np.ndarray) -> Jump:
        """What happens where guard number ``guard`` has become negative, under the ``applied`` forces (nv)."""


class LinearizedForces(Protocol):
    """Forces at single points as linear functions of the velocity at the end of a step: for implicit integrators.

    A mode is one truth value for each point, the ports are those of normal and of tangential forces, and the memory has
    the same length for each point.  :class:`.CompliantContact` has all of this for a force law of single points.
    """

    def point_impedance(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """Typical stiffness (N/m) and damping (N s/m) along normal and tangents (3 each)."""

    def touchdown(self, position: Any, velocity: Any, anchor: Any, dt: Any) -> Landing:
        """A point in a step of ``dt`` (s), in whose middle it is at ``position`` (3) if it keeps its ``velocity``."""

    def support(self, point: Any, ahead: Any, seen: ThetaWeights) -> Support:
        """Contact force of a step as a function of the velocity at its end, linearised at ``ahead`` (3)."""

    def step_force(self, point: Any, ahead: Any, seen: ThetaWeights) -> Any:
        """Contact force (3, N) of a step at whose end the point has the velocity ``ahead`` (3)."""

    def anchor(self, point: Any, ahead: Any, friction: Any, seen: ThetaWeights) -> tuple[Any, Any]:
        """Memory of a point at the end of a step with the velocity ``ahead`` (3), and whether it is in the ground."""

    def rolls(self, i: int) -> bool:
        """Whether the memory of point ``i`` is how far it has slipped, and not a place."""

    def unloaded(self, i: int, site: Site, p: Any) -> Any:
        """Memory of point ``i`` that touches down at ``p`` (3, world)."""


class AdmissibleImpulses(Protocol):
    """Sets in which the impulses of a time step are: for time stepping."""

    def time_stepping(self, further: int) -> Contact:
        """The same contact with the memory of time steps, beside so many ``further`` rows of loops and dry friction."""


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
    """Whether there is a contact with these methods."""
    return contact is not None and not _missing(contact, capability)


def _missing(contact: Contact, capability: Capability) -> list[str]:
    return [name for name in _METHODS[capability] if not hasattr(contact, name)]


def check_offers(contact: Contact, capability: Capability, method: str) -> None:
    """Refuses a contact without what an integrator needs, by name."""
    missing = _missing(contact, capability)
    if missing:
        base = " (CompliantContact has them)" if capability is LinearizedForces else ""
        raise ModelError(
            f"the integrator {method!r} needs {_WORDS[capability]}, which {type(contact).__name__} does not offer: "
            f"add {', '.join(missing)}{base}"
        )
