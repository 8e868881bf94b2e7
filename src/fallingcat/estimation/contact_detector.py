"""Contact detection from the generalized-momentum observer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, less, solve, where
from ..arrays.arguments import LARGEST_FLOAT
from ..arrays.types import Matrix_points_3, Scalar, Vector, Vector_nv
from ..dynamics import jacobian
from ..errors import ModelError, describe
from ..geometry.contact_points import checked_points
from ..model import State
from ..records import concise
from .momentum_observer import MomentumObserver, ObserverState

REGULARIZATION = 1e-9
"""Damping of the forces at feet, relative to the mean size of ``J J'``: legs may be stretched."""


@concise
class ContactState(NamedTuple):
    """State of a :class:`ContactDetector` at one time.

    Example:
        >>> ContactState._fields
        ('observer', 'forces', 'touching')
    """

    observer: ObserverState
    forces: Matrix_points_3
    """``feet x 3``: estimated forces on the robot, world axes (N)"""
    touching: Vector
    """one for each foot: 1 where it touches the ground, else 0"""


@concise
@dataclass(frozen=True)
class ContactDetector:
    """Contacts of feet from joint torques and motion, without force sensors.

    Forces at the feet that explain the residual of a :class:`.MomentumObserver` best are compared with two thresholds:
    a foot touches from where its upward force is above ``threshold``, until it is below ``release``.  Works on every
    kind of number, so that it compiles.

    Args:
        observer: Observer of external forces; its gain sets the delay.
        feet: Links or frames.
        threshold: Force of touchdown (N).
        release: Force of liftoff (N); None: half the threshold.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [frame.name for frame in dog.frames]
        >>> detector = ContactDetector(MomentumObserver(dog, gain=200.0), feet, threshold=15.0)
        >>> state = dog.state(joints=(0.0, 0.7, -1.4) * 4)
        >>> hold = fc.control.torques(dog, state, [[fc.control.BaseTask(state.pose)]], contacts=feet)
        >>> seen = detector.begin(state)
        >>> for _ in range(40):  # it stands still, so something carries it
        ...     seen = detector.step(seen, state, np.append(np.zeros(6), hold.torques), 1e-3)
        >>> seen.touching, bool(np.isclose(seen.forces[:, 2].sum(), 9.81 * dog.mass, rtol=1e-3))
        (array([1., 1., 1., 1.]), True)
    """

    observer: MomentumObserver
    feet: Sequence[str]
    threshold: float
    release: float | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        if not isinstance(self.observer, MomentumObserver):
            raise ModelError(f"observer must be a MomentumObserver, got {describe(self.observer)}")
        if not isinstance(self.feet, (list, tuple)) or not self.feet:
            raise ModelError(f"feet must be a list of names of links and frames, got {describe(self.feet)}")
        checked_points(self.observer.model, tuple(self.feet))
        for name, x in (("threshold", self.threshold), ("release", self.release)):
            if x is None and name == "release":
                continue
            if isinstance(x, bool) or not isinstance(x, (int, float, np.number)) or not 0.0 < x <= LARGEST_FLOAT:
                raise ModelError(f"{name} of a ContactDetector must be positive (N), got {describe(x)}")
        if self.released > self.threshold:
            raise ModelError(f"release must be at most the threshold ({self.threshold:g} N), got {self.released:g} N")

    @property
    def released(self) -> float:
        """Force of liftoff (N)."""
        return 0.5 * self.threshold if self.release is None else self.release

    def begin(self, state: State) -> ContactState:
        """State of the detector at the start, with no contact.

        Args:
            state: State of the robot.

        Returns:
            State of the detector.
        """
        return ContactState(self.observer.begin(state), np.zeros((len(self.feet), 3)), np.zeros(len(self.feet)))

    def step(self, before: ContactState, state: State, forces: Vector_nv, dt: Scalar) -> ContactState:
        """State of the detector one period later.

        Args:
            before: One period before.
            state: State of the robot now.
            forces: Known generalized forces over the period, nv (zero for a floating base, then joint torques).
            dt: Period (s).

        Returns:
            State of the detector now.
        """
        if not isinstance(before, ContactState):
            raise ModelError(f"before must be the last ContactState, such as of begin, got {describe(before)}")
        seen = self.observer.step(before.observer, state, forces, dt)
        J: Any = concatenate([jacobian(self.observer.model, state, foot, "mixed")[:3] for foot in self.feet])
        square = J @ J.T
        size = sum(square[i, i] for i in range(len(J))) * (REGULARIZATION / len(J))
        pushes = solve(square + size * np.eye(len(J)), J @ seen.residual).reshape(-1, 3)
        # two levels (hysteresis): noise about one of them would switch a foot at every step
        levels = where(less(0.5, before.touching), self.released, self.threshold)
        ones = np.ones(len(self.feet))
        return ContactState(seen, pushes, where(less(levels, pushes[:, 2]), ones, 0.0 * ones))
