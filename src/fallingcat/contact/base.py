"""Base class for contacts; :mod:`fallingcat.contact.capabilities` has the protocols of integrators beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._deprecated import former_methods
from ..arrays.arguments import check_arguments_first
from ..arrays.types import Float_nv_nv, Matrix, Matrix_points_3, Scalar, Vector, Vector_nv
from ..caching import cached_property
from ..errors import ModelError, NumericsError, describe
from ..geometry.body_pairs import BodyPair
from ..geometry.contact_points import Ground, each_radius, point_motions
from ..geometry.ellipsoids import Around
from ..model import Model, State
from ..records import concise
from .argument_checks import ARGUMENT_CHECKS
from .default_springs import DEFAULT_STEP
from .placement import rest_on

Mode = tuple[Any, ...]
"""Constant data between two events, such as which points touch; hashable."""


@concise
class Jump(NamedTuple):
    """Event of a contact: the new mode, state and memory.

    Example:
        >>> import fallingcat as fc
        >>> ball = fc.robots.free_body()
        >>> Jump("touchdown foot", (True,), ball.neutral(), np.zeros(0)).loss
        0.0
    """

    name: str
    """name of the event, such as ``touchdown foot``"""
    mode: Mode
    state: State
    memory: np.ndarray
    loss: float = 0.0
    """kinetic energy that an impact took (J)"""


class Touch(NamedTuple):
    """Forces, memory rate and guards of a contact at a state, see :class:`Contact`."""

    forces: Mapping[str, Any]
    memory_rate: Any
    guards: Any
    strain: Any = 0.0
    """error of a step in what the contact holds, in units of what is allowed: above 1, steps are shortened"""
    motion: Any = None
    """``nv``: the acceleration under all forces, where the contact had to work it out"""


class Contact(ABC):
    """Base class for contacts: forces on a robot in a mode.

    All methods with a ``state`` are smooth within a mode and work on every kind of number, so that a step of an
    integrator can be compiled; :meth:`begin` needs numbers.  ``memory`` holds the state of a contact between events,
    such as where a foot touched down.

    An integrator needs one of the protocols of :mod:`fallingcat.contact.capabilities` beside it, and refuses a contact
    without it by name: :class:`.HybridModes` (``guards``, ``jump``) to locate events, :class:`.LinearizedForces` for
    implicit steps, :class:`.AdmissibleImpulses` for time stepping.  A contact may offer several.  Derive from
    :class:`.CompliantContact` where points feel forces while they are in the ground.

    Example:
        >>> import fallingcat as fc
        >>> floor = fc.contact.HardContacts(("body",))
        >>> isinstance(floor, fc.contact.Contact), floor.ports
        (True, ('contact normal', 'contact tangential'))
    """

    ports: tuple[str, ...]
    """Names of the ways in which energy passes, for the ledger."""
    points: tuple[str, ...]
    """Links and frames whose origins may touch; a contact of another kind has none."""
    pairs: tuple[BodyPair, ...] = ()
    """Pairs of bodies between which its points are; none: they are links and frames that touch the ground."""
    radius: Around | tuple[Around, ...] = 0.0
    """radius of a ball around each point (m), or a :class:`.ContactEllipsoid`"""
    needs_applied_forces: bool = True
    """True if guards and jumps look at the ``applied`` forces; else these need not be worked out."""
    stiff: bool = False
    """True if its forces change within a step of the others, as a floor of springs does: then an implicit integrator is
    the default."""

    acts_with_loops: bool = False
    """True if it acts on robots with closed loops."""
    one_code: bool = False
    """True if one code serves all modes, of which each is a tuple of truth values."""
    max_events: int = 1000
    """within a millisecond; more are chatter, and the run stops"""
    passive: bool = False
    """True if it can only take energy: a run in which it adds some ends with a warning."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        former_methods(cls)
        check_arguments_first(cls, ARGUMENT_CHECKS)

    @cached_property
    def radii(self) -> tuple[Around, ...]:
        """Radius (m) of the ball around each point, or its ellipsoid; 0: the point itself touches."""
        return each_radius(self.radius, self.points)

    @property
    def parts(self) -> tuple[Contact, ...]:
        """Contacts of which it consists, in the order of their points: by default itself."""
        return (self,)

    @property
    def on_ground(self) -> Contact | None:
        """Contact of the points that touch the ground; None: there are none."""
        return None if self.pairs else self

    def on_robot(self, model: Model, step: float = DEFAULT_STEP) -> tuple[Model, Contact]:
        """Contact with points on a robot, and the model that has them.

        Args:
            model: Robot.
            step: Time step (s).

        Returns:
            Both as they are by default; a floor without points takes all collision shapes of the robot.
        """
        return model, self

    def for_robot(self, model: Model, step: float = DEFAULT_STEP) -> Contact:
        """Contact with the parameters that follow from the robot and from the time step.

        Args:
            model: Robot.
            step: Time step (s).

        Returns:
            The contact itself by default.
        """
        return self

    @property
    def friction_follows(self) -> bool:
        """True if friction follows normal forces.

        Implicit steps then use the ``tangent`` of the contact, a :class:`.Support` with all derivatives.
        """
        return False

    @property
    def memory_size(self) -> int | None:
        """Size of the memory; None: unknown."""
        return None

    def check_mode(self, mode: Any) -> None:
        """Check that a value is a mode of the contact.

        Args:
            mode: Value, as :meth:`begin` returns it.

        Raises:
            ModelError: It is not a mode.
        """
        if not isinstance(mode, tuple):
            raise ModelError(f"a mode is a tuple, as begin() gives it, not {describe(mode)}")

    @abstractmethod
    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Mode and memory at the start of a simulation.

        Args:
            model: Robot.
            state: Initial state.

        Returns:
            Mode (hashable) and memory.
        """

    @abstractmethod
    def touching(self, mode: Mode) -> frozenset[str]:
        """Names of the points that touch in a mode.

        Args:
            mode: Mode.

        Returns:
            Names of links and frames.
        """

    @abstractmethod
    def forces(
        self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv
    ) -> Mapping[str, Vector_nv]:
        """Generalized contact forces by port.

        Args:
            model: Robot.
            mode: Mode.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv) of everything else.

        Returns:
            Generalized forces (nv) for each of :attr:`ports`.
        """

    def step_failure(self, mode: Mode, time: float | None = None) -> NumericsError:
        """Error of a step in which held points move, or energy is created, however short it is.

        Args:
            mode: Mode.
            time: Time (s) of the step.

        Returns:
            Error to be raised.
        """
        names = ", ".join(sorted(self.touching(mode)))
        what = f"holds {names} on the ground" if names else "accounts for the energy of the motion"
        return NumericsError(f"no step, however small, {what}", time=time)

    def replaces(self) -> frozenset[str]:
        """Names of passive joint laws that do not act beside the contact, because it does the same.

        Returns:
            Names of laws, such as that of compliant joint stops.
        """
        return frozenset()

    def memory_rate(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Vector:
        """Time derivative of the memory; zero unless the contact slips.

        Args:
            model: Robot.
            mode: Mode.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv) of everything else.

        Returns:
            ``d memory / dt``, of the shape of the memory.
        """
        return np.zeros(len(memory))

    def touch(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Touch:
        """Forces, rate of the memory and guards; to be overridden where they share work.

        Args:
            model: Robot.
            mode: Mode.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv) of everything else.

        Returns:
            Forces by port, rate of the memory, guards.
        """
        asked, guards = (model, mode, state, memory, applied), getattr(self, "guards", None)
        ends = np.zeros(0) if guards is None else guards(*asked)
        return Touch(self.forces(*asked), self.memory_rate(*asked), ends)

    def point_forces(
        self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv
    ) -> Matrix_points_3:
        """Contact forces on the robot at each of :attr:`points`.

        Args:
            model: Robot.
            mode: Mode.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv) of everything else.

        Returns:
            Forces (points x 3, N, world); zero where a point does not touch.
        """
        raise ModelError(f"{type(self).__name__} does not say what it does at single points: it needs point_forces")

    def ground(self, model: Model) -> Ground:
        """Ground under the points.

        Args:
            model: Robot.

        Returns:
            Plane or terrain.
        """
        raise ModelError(f"{type(self).__name__} does not say where the ground is: it needs ground")

    def sites(self, model: Model, state: State) -> list[tuple[Scalar, Matrix, Matrix]]:
        """Heights, axes and Jacobians of the points.

        The velocity of a point along its axes is ``J [twist; rates]``.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Height (m), ``axes`` (3 x 3: normal and tangents as rows, world) and ``J`` (3 x nv), for each point.
        """
        ground, found = self.ground(model), []
        for motion, around in zip(point_motions(model, state, self.points), self.radii, strict=True):
            site, lever = motion.touch(ground, around)
            found.append((site.height, site.axes, site.axes @ motion.jacobian_at(lever)))
        return found

    def check_start(self, model: Model, state: State) -> None:  # noqa: B027
        """Refuse a state from which no run should start; by default none.

        Args:
            model: Robot.
            state: Initial state.
        """

    def check_heights(self, model: Model, heights: np.ndarray) -> None:  # noqa: B027
        """Refuse robots by the initial heights of their points; by default none.

        Args:
            model: Robot.
            heights: Heights over the ground (N x points, m).
        """

    def place(self, model: Model, state: State) -> State:
        """State with the base moved along the normal of the ground until the robot rests on it.

        The lowest point touches, or, on springs, they carry the weight; joints and orientation stay.

        Args:
            model: Robot.
            state: State to be moved.

        Returns:
            State on the ground.
        """
        return rest_on(self, model, state)

    def resting_shift(self, model: Model, heights: np.ndarray) -> float:
        """Distance by which points have to be lowered until the robot rests on the ground.

        Args:
            model: Robot.
            heights: Heights of the points over the ground (m).

        Returns:
            Distance (m).
        """
        return float(heights.min())

    def impedance(self, model: Model, state: State) -> tuple[Float_nv_nv, Float_nv_nv] | None:
        """Upper bounds of stiffness and damping near a state, from which step sizes follow.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Stiffness and damping (nv x nv each), or None for contacts without springs.
        """
        return None

    def end_diagnosis(self, memory: np.ndarray) -> str:
        """Warning about runs by their final memory, for their status.

        Args:
            memory: Memory at the end of runs (..., k).

        Returns:
            Text; empty where nothing is wrong.
        """
        return ""

    def unlocated_reason(self, model: Model) -> str:
        """Reason why events of the contact are not located on a robot.

        Args:
            model: Robot.

        Returns:
            Text; empty where they are, by default on every robot.
        """
        return ""


check_arguments_first(Contact, ARGUMENT_CHECKS)
