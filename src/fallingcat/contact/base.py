"""Base class for contacts; what integrators ask for beside it is in :mod:`fallingcat.contact.capabilities`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..arrays.arguments import holds_numbers, look_first
from ..dynamics.checks import check_fields, check_model
from ..errors import ModelError, NumericsError, describe
from ..geometry.contact_points import Ground, each_radius, point_motions
from ..model import Model, State
from ..records import concise
from .placement import rest_on

Mode = tuple[Any, ...]
"""What is constant between two events, such as which points touch; hashable, plain data."""


@concise
class Jump(NamedTuple):
    """What an event does."""

    name: str
    """what happened, such as ``touchdown foot``"""
    mode: Mode
    state: State
    memory: np.ndarray
    loss: float = 0.0
    """kinetic energy that an impact took (J)"""


class Touch(NamedTuple):
    """What a contact does at a state: see :class:`Contact`."""

    forces: Mapping[str, Any]
    memory_rate: Any
    guards: Any
    strain: Any = 0.0
    """how much a step has lost of what the contact holds, in units of what is allowed: above 1, steps are shortened"""
    motion: Any = None
    """``nv``: the acceleration under all forces, where the contact had to work it out"""


def _look(contact: Contact, model: Any, mode: Any, state: Any, memory: Any, applied: Any) -> None:
    """Whether a contact can answer this; values are not looked at."""
    check_fields(model, state)
    contact.check_mode(mode)
    for name, x, size in (("memory", memory, contact.memory_size), ("applied", applied, model.nv)):
        shape = getattr(x, "shape", None)
        if shape is None or len(shape) != 1 or size not in (None, shape[0]) or not holds_numbers(x):
            raise ModelError(f"{name} is an array of {'' if size is None else f'{size} '}numbers, not {describe(x)}")


def _look_at_jump(contact: Contact, model: Any, mode: Any, guard: Any, state: Any, memory: Any, applied: Any) -> None:
    _look(contact, model, mode, state, memory, applied)
    if isinstance(guard, bool) or not isinstance(guard, (int, np.integer)) or guard < 0:
        raise ModelError(f"guard is the number of a guard, not {describe(guard)}")


_LOOKS: Mapping[str, Callable[..., None]] = {
    "begin": lambda contact, model, state: check_fields(model, state),
    "touching": lambda contact, mode: contact.check_mode(mode),
    **dict.fromkeys(["forces", "guards", "memory_rate", "touch", "point_forces"], _look),
    "jump": _look_at_jump,
    "prepared": lambda contact, model: check_model(model),
}


class Contact(ABC):
    """Base class for contacts: forces on a robot in a mode.

    Everything that takes a ``state`` is smooth within a mode and runs on every kind of number, so that a step of an
    integrator can be compiled; :meth:`begin` looks at numbers.  ``memory`` holds what a contact remembers between
    events, such as where a foot touched down.

    An integrator asks for one of the protocols of :mod:`fallingcat.contact.capabilities` beside it, and refuses a contact without it by
    name: :class:`.HybridModes` (``guards``, ``jump``) to locate events, :class:`.LinearizedForces` for implicit steps,
    :class:`.AdmissibleImpulses` for time stepping.  A contact may offer several.
    Derive from :class:`.CompliantContact` where points feel forces while they are in the ground.
    """

    ports: tuple[str, ...]
    """Names of the ways in which energy passes, for the ledger."""
    points: tuple[str, ...]
    """Links and frames whose origins may touch; a contact of another kind has none."""
    radius: float | tuple[float, ...] = 0.0
    """of a ball around each point (m)"""
    asks_forces: bool = True
    """Whether guards and jumps look at the ``applied`` forces; where not, these need not be worked out."""
    stiff: bool = False
    """Whether its forces change within a step of the others, as a floor of springs does: then an implicit integrator is
    the default."""

    beside_loops: bool = False
    """Whether it acts on robots with closed loops."""
    one_code: bool = False
    """Whether what it does is the same code in all modes, of which each is a tuple of truth values."""
    most_events: int = 1000
    """within a millisecond; more are chatter, and the run stops"""
    passive: bool = False
    """Whether it can only take energy: a run in which it gives some does not end without saying so."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        look_first(cls, _LOOKS)

    @property
    def radii(self) -> tuple[float, ...]:
        """The radius (m) of the ball around each point; 0: the point itself touches."""
        return each_radius(self.radius, self.points)

    @property
    def memory_size(self) -> int | None:
        """How many numbers the memory holds; None: the contact does not say."""
        return None

    def check_mode(self, mode: Any) -> None:
        """Raises where this is no mode of the contact."""
        if not isinstance(mode, tuple):
            raise ModelError(f"a mode is a tuple, as begin() gives it, not {describe(mode)}")

    @abstractmethod
    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """The mode and the memory at a state from which a simulation starts."""

    @abstractmethod
    def touching(self, mode: Mode) -> frozenset[str]:
        """The names of the points that touch in this mode."""

    @abstractmethod
    def forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Mapping[str, Any]:
        """Generalised forces (nv) by port, beside the ``applied`` ones (nv) of everything else."""

    def seize(
        self, model: Model, mode: Mode, state: State, memory: np.ndarray, applied: np.ndarray, within: float
    ) -> Jump:
        """What happens where forces grow so fast that no step, however small, holds the points: something does
        ``within`` a time (s) shorter than any step.  Unless a contact says what, an error that names them.
        """
        raise self.unheld(mode)

    def unheld(self, mode: Mode, time: float | None = None) -> NumericsError:
        """The error of a step in which points that should be held move, or energy comes from nowhere, however short."""
        names = ", ".join(sorted(self.touching(mode)))
        what = f"holds {names} on the ground" if names else "accounts for the energy of the motion"
        return NumericsError(f"no step, however small, {what}", time=time)

    def replaces(self) -> frozenset[str]:
        """Names of laws of the robot's own joints that do not act beside it, because it does what they do."""
        return frozenset()

    def memory_rate(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        """``d memory / dt``; zero unless the contact slips."""
        return np.zeros(len(memory))

    def touch(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Touch:
        """Forces, rate of the memory and guards; to be overridden where they share work."""
        asked, guards = (model, mode, state, memory, applied), getattr(self, "guards", None)
        ends = np.zeros(0) if guards is None else guards(*asked)
        return Touch(self.forces(*asked), self.memory_rate(*asked), ends)

    def point_forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        """The force (points x 3, N, world) on the robot at each of :attr:`points`; zero where nothing touches."""
        raise ModelError(f"{type(self).__name__} does not say what it does at single points: it needs point_forces")

    def ground(self, model: Model) -> Ground:
        """What points touch."""
        raise ModelError(f"{type(self).__name__} does not say where the ground is: it needs ground")

    def sites(self, model: Model, state: State) -> list[tuple[Any, Any, Any]]:
        """Of each point its height (m), ``axes`` (3 x 3: normal and tangents as rows, world), and ``J`` (3 x nv): its
        velocity along these is ``J [twist; rates]``.
        """
        ground, found = self.ground(model), []
        for motion, radius in zip(point_motions(model, state, self.points), self.radii, strict=True):
            site = ground.site(motion.position, radius)
            found.append((site.height, site.axes, site.axes @ motion.rim(site.axes[0], radius)[0]))
        return found

    def check_start(self, model: Model, state: State) -> None:  # noqa: B027
        """Refuses a state from which no run should start; by default none."""

    def check_heights(self, model: Model, heights: np.ndarray) -> None:  # noqa: B027
        """Refuses robots that start with their points at these heights over the ground (N x points, m); by default
        none.
        """

    def place(self, model: Model, state: State) -> State:
        """State with the base moved along the normal of the ground until the robot rests on it.

        The lowest point touches, or, on springs, they carry the weight; joints and orientation stay.
        """
        return rest_on(self, model, state)

    def resting_shift(self, model: Model, heights: np.ndarray) -> float:
        """How far (m) points at these heights over the ground have to be lowered until the robot rests on it."""
        return float(heights.min())

    def impedance(self, model: Model, state: State) -> tuple[np.ndarray, np.ndarray] | None:
        """Stiffness and damping (nv x nv) at most, near a state: how short steps have to be.  None: no springs."""
        return None

    def end_diagnosis(self, memory: np.ndarray) -> str:
        """What is wrong with runs (..., k) that remember this at their end, if anything is: for their status."""
        return ""

    def prepared(self, model: Model) -> Contact | None:
        """The same contact for plain numbers, fast in all modes, where modes are too many or too large to be compiled
        one by one; None: each mode is compiled when it begins.
        """
        return None


look_first(Contact, _LOOKS)
