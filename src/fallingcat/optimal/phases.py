"""Motions with given contact phases: who touches the ground when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays.arguments import as_array
from ..arrays.types import FloatArray
from ..caching import cached_property
from ..compiler import compile
from ..dynamics.checks import check_model, positive
from ..errors import ModelError, describe
from ..model import Model
from ..records import concise
from ..simulation.integrators.step_jacobian import check_differentiable
from .phase_step import linear_phase_step, phase_step

MAX_STEPS = 1_000_000
"""Largest number of steps of all phases"""


@concise
class Phase(NamedTuple):
    """Steps of a motion in which the same points are held by the ground.

    Example:
        >>> Phase(20, ("front_left_foot", "rear_right_foot")).points
        ('front_left_foot', 'rear_right_foot')
    """

    steps: int
    """number of steps"""
    points: tuple[str, ...] = ()
    """frames that do not move; none: flight"""
    dt: float | tuple[float, float] | None = None
    """s: length of a step; two: shortest and longest, between which ``"ipopt"`` finds the best; None: that of all"""


@concise
@dataclass(frozen=True)
class ContactPhases:
    """Dynamics of :class:`.Problem` with given contacts: smooth in each phase, with exact derivatives.

    Points of a phase are held where they are by forces that may pull as well as push; ``friction`` adds their friction
    cones, which forbid that, to the constraints of a problem.  Steps are those of semi-implicit Euler: ``v+ = v + dt
    a``, ``q+ = q exp(dt v+)``.  A point that begins to be held loses its velocity, within its first step unless
    ``damping`` says how fast.  Springs, damping, friction and stops of joints do not act.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = tuple(frame.name for frame in dog.frames)
        >>> jump = fc.optimal.ContactPhases(dog, [fc.optimal.Phase(20, feet), fc.optimal.Phase(15)], dt=0.02)
        >>> jump.steps, round(jump.duration, 3)
        (35, 0.7)
    """

    model: Model
    phases: Sequence[Phase]
    dt: float
    """s: length of a step, where a phase does not say its own"""
    friction: float | None = None
    """coefficient of the friction cones about the vertical; None: none"""
    stiffness: float = 0.0
    """1/s^2: pull of a held point back to its place, see ``places``"""
    damping: float | None = None
    """1/s: rate at which a held point loses its velocity; None: at once, in one step"""
    places: Any = None
    """``points x 3``: where held points should be (m) in the world; None: no place is wanted (``stiffness`` 0)"""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_model(self.model)
        check_differentiable(self.model, "ContactPhases")
        given: Any = self.phases
        if not isinstance(given, (tuple, list)):
            raise ModelError(f"phases must be a list of fc.optimal.Phase(steps, points), got {describe(given)}")
        odd = [x for x in self.phases if not isinstance(x, (tuple, list)) or len(x) > len(Phase._fields) or not len(x)]
        if odd:
            raise ModelError(f"phases must be fc.optimal.Phase(steps, points), got {describe(odd[0])}")
        object.__setattr__(self, "phases", tuple(Phase(*phase) for phase in self.phases))
        if not self.phases:
            raise ModelError("ContactPhases needs at least one phase")
        for i, phase in enumerate(self.phases):
            if isinstance(phase.steps, bool) or not isinstance(phase.steps, (int, np.integer)) or phase.steps < 1:
                raise ModelError(
                    f"steps of phase {i} must be a whole number of at least 1, got {describe(phase.steps)}"
                )
            if not isinstance(phase.points, (tuple, list)):
                raise ModelError(f"points of phase {i} must be a list of frames, got {describe(phase.points)}")
            for x in phase.dt if isinstance(phase.dt, tuple) and len(phase.dt) == 2 else (phase.dt,):
                positive(self.dt if x is None else x, f"dt of phase {i} (s)")
            low, high = self.step_bounds[i]
            if not 0.0 < low <= high < np.inf:
                dt = self.dt if phase.dt is None else phase.dt
                raise ModelError(f"dt of phase {i} must be positive (s), or its shortest and longest, got {dt!r}")
        self._check_points()
        positive(1.0 if self.friction is None else self.friction, "friction of ContactPhases")
        positive(self.stiffness, "stiffness of ContactPhases", zero=True)
        positive(0.0 if self.damping is None else self.damping, "damping of ContactPhases", zero=True)
        if self.places is None and self.stiffness:
            raise ModelError("a stiffness of held points needs their places: where they should be (points x 3)")
        if sum(phase.steps for phase in self.phases) > MAX_STEPS:
            raise ModelError(f"ContactPhases have at most {MAX_STEPS:,} steps, got {self.steps:,}")
        _ = self._places

    def _check_points(self) -> None:
        """Refuse points whose forces would not be unique."""
        if self.points and self.model.m != 6:
            rule = "held points need a base that moves freely in space"
            raise ModelError(f"{rule}, and that of {self.model.name!r} has {self.model.m} freedoms, not 6")
        for i, phase in enumerate(self.phases):
            on: dict[str, str] = {}
            for name in phase.points:
                link = self.model.frame(name).link
                if on.setdefault(link, name) != name:
                    rule = f"points {on[link]!r} and {name!r} of phase {i} are on one link, {link!r}"
                    raise ModelError(f"{rule}: their forces are not unique, hold one of them")

    # sizes ----------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Number of steps of all phases."""
        return sum(phase.steps for phase in self.phases)

    @cached_property
    def points(self) -> tuple[str, ...]:
        """Frames that are held in some phase, in the order of the phases."""
        for phase in self.phases:
            for name in phase.points:
                self.model.frame(name)
        return tuple(dict.fromkeys(name for phase in self.phases for name in phase.points))

    @cached_property
    def step_bounds(self) -> tuple[tuple[float, float], ...]:
        """Shortest and longest step (s) of each phase."""
        chosen = [self.dt if phase.dt is None else phase.dt for phase in self.phases]
        return tuple((x[0], x[1]) if isinstance(x, tuple) else (float(x), float(x)) for x in chosen)

    @property
    def free_times(self) -> bool:
        """True if a phase may be shorter or longer."""
        return any(low < high for low, high in self.step_bounds)

    @property
    def times(self) -> FloatArray:
        """Times of all nodes (s), ``steps + 1``."""
        return np.concatenate([[0.0], np.cumsum(self.rows[:, 0])])

    @property
    def duration(self) -> float:
        """Length of the motion (s)."""
        return float(self.times[-1])

    @cached_property
    def _places(self) -> FloatArray:
        shape = len(self.points), 3
        return np.zeros(shape) if self.places is None else np.array(as_array(self.places, shape, "places"))

    @cached_property
    def rows(self) -> FloatArray:
        """Numbers of each step: ``dt``, weights of the points, their places; ``steps x (1 + 4 points)``."""
        lengths = [0.5 * (low + high) for low, high in self.step_bounds]
        out = []
        for phase, dt in zip(self.phases, lengths, strict=True):
            held = [float(name in phase.points) for name in self.points]
            out += [np.concatenate([[dt], held, self._places.ravel()])] * phase.steps
        return np.array(out)

    # kernels --------------------------------------------------------------------------------------------------

    @cached_property
    def options(self) -> dict[str, Any]:
        """Options of :func:`.phase_step`."""
        frames = [self.model.frame(name) for name in self.points]
        where = tuple(
            (self.model.link_index(frame.link), np.asarray(frame.placement[:3, 3], dtype=float)) for frame in frames
        )
        return {"points": where, "gains": (float(self.stiffness), self.damping)}

    @property
    def shapes(self) -> dict[str, int]:
        """Arguments of :func:`.phase_step`."""
        model = self.model
        return {"q": model.nq, "v": model.nv, "forces": model.n, "node": self.rows.shape[1]}

    def step(self, target: str = "cpu") -> Any:
        """Kernel ``(q, v, forces, row) -> q, v, contact forces (points x 3; N, in the world)``.

        Args:
            target: ``"cpu"``, ``"casadi"``, ``"jax"``, ``"c"`` or ``"cuda"``.

        Returns:
            Compiled function; ``row`` is one of :attr:`rows`.
        """
        return compile(self.model, phase_step, inputs=self.shapes, target=target, **self.options)

    @cached_property
    def linear(self) -> Any:
        """Kernel ``(q, v, forces, row) ->`` the step, its derivatives and friction cones."""
        return self._linear_step()

    def _linear_step(self, target: str = "cpu") -> Any:
        """:attr:`linear` for any target."""
        options = {"friction": self.friction, **self.options}
        return compile(self.model, linear_phase_step, inputs=self.shapes, target=target, **options)
