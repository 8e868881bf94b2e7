"""Hard contacts in time steps: what they remember from one step to the next, and the forces of the last one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ....arrays import array, concatenate, less, scale
from ....compiler.compilation import compile_step
from ....errors import ModelError
from ....geometry.contact_points import Ground
from ....geometry.point_positions import level_heights
from ....model import Model, State
from ...base import Contact, Jump, Mode, Touch
from ...sample_modes import modes_of_samples
from ..event_driven.contact_kinematics import ContactKinematics, contact_kinematics
from ..hard_contacts import HardContacts
from ..joint_stops import beside_stops, beyond, with_stops
from ..solvers.cone_projection import ImpulseSet
from .contact_jacobian import StackedJacobian, stacked_jacobian

MAX_LAW_ERROR = 1e-3
"""m/s or rad/s: how far velocities may be from the law of contact in any step of a run that is called finished.  In a
millisecond that takes a point 1 um astray."""


class ContactMemory(NamedTuple):
    """Memory of a run in time steps."""

    forces: Any
    """N, mean of the last step: of each point along normal and tangents, of each stop, of further rows"""
    left: Any
    """1: how far velocities were from the law of contact, at most, in any step (m/s or rad/s)"""
    stretch: Any = np.zeros(0)
    """m, two for each compliant point: of its spring along the tangents"""


@dataclass(frozen=True)
class SteppedContacts(HardContacts):
    """The same as :class:`HardContacts`, for steps in which nothing is located: forces are those of the last step."""

    one_code = True

    further: int = 0
    """rows of loops and of dry friction that are solved with those of points and stops"""
    source: HardContacts | None = None
    """contact of the user, whose :meth:`.HardContacts.impulse_sets` hold"""

    @classmethod
    def of(cls, contact: HardContacts, further: int) -> SteppedContacts:
        """Contact in time steps of the one of a user."""
        given: dict[str, Any] = {field.name: getattr(contact, field.name) for field in fields(HardContacts)}
        return cls(**given, further=further, source=contact)

    @property
    def memory_size(self) -> int:
        """Size of the memory."""
        return sum(self._sizes)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return 3 * len(self.points) + len(self.stops) + self.further, 1

    def unpack_memory(self, memory: Any) -> ContactMemory:
        """``memory`` (..., k) in its parts."""
        ends = np.cumsum(self._sizes)
        return ContactMemory(*(memory[..., end - n : end] for end, n in zip(ends, self._sizes, strict=True)))

    @property
    def first_rows(self) -> list[int]:
        """Index of the normal force of each point and stop among the forces."""
        points = len(self.points)
        return [*range(0, 3 * points, 3), *range(3 * points, 3 * points + len(self.stops))]

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """No point may start below the ground."""
        self.check_starts(model, State(*(x[None] for x in state)))
        return (), np.zeros(self.memory_size)

    def check_starts(self, model: Model, many: State) -> None:
        """Refuse states (fields ``N x ...``) in which a point is below the ground, or a joint beyond its stop."""
        self.check_points(model)
        ground = self.ground(model)
        if model.loops or not ground.flat or any(len(axes) < 3 for axes in self.axes(model)[: len(self.points)]):
            HardContacts.begin(self, model, many.at(0))  # with checks of what holds points in a plane, or loops
        far = beyond(model, many.joints, self.stops, self.tolerance)
        if far:
            raise ModelError(f"{far}: start within its limits")
        if not self.points:
            return
        heights = self._heights(model, ground, many)
        robot, i = np.unravel_index(np.argmin(heights), heights.shape)
        if heights[robot, i] < -self.tolerance:
            whose = f"{self.points[i]!r} of robot {robot}" if len(heights) > 1 else repr(self.points[i])
            way = "start on it or above it, as model.standing(ground) does"
            raise ModelError(f"{whose} starts {-heights[robot, i]:.3g} m below the ground: {way}")

    def _heights(self, model: Model, ground: Ground, many: State) -> np.ndarray:
        """``N x points`` (m)."""
        if ground.flat:
            return level_heights(model, ground, many.pose, many.joints, self.points, self.radii)
        kernel = compile_step(model, gaps_at, {}, ["pose", "joints"], contact=self)
        return np.asarray(kernel(many.pose[:, :3], many.joints))[:, : len(self.points)]

    def modes(self, memory: np.ndarray) -> tuple[Mode, ...]:
        """Modes of samples (N x k): which points and stops pushed in the last step."""
        pushes = self.unpack_memory(memory).forces[:, self.first_rows]
        return modes_of_samples(pushes > 0.0)

    def check_mode(self, mode: Any) -> None:
        """Any will do: forces are remembered."""

    def touching(self, mode: Mode) -> frozenset[str]:
        """Names of the points that push."""
        return frozenset(place for place, pushes in zip(self.points, mode, strict=False) if pushes)

    def touched(self, memory: Any) -> dict[str, Any]:
        """The same as conditions on what is remembered."""
        forces = self.unpack_memory(memory).forces
        return {place: less(0.0, forces[3 * i]) for i, place in enumerate(self.points)}

    def time_stepping(self, further: int) -> Contact:
        """The contact itself."""
        return self

    def seen(self, model: Model, state: State) -> ContactKinematics:
        """Points and stops at a state, on any kind of number; loops are rows of their own."""
        return with_stops(
            contact_kinematics(model, state, self.points, self.ground(model), self.radii), model, self.stops
        )

    def stacked_jacobian(self, model: Model, state: State) -> StackedJacobian:
        """Points and stops at a state; each stop is a row of its own."""
        axes = [axes[: cone.rows] for axes, cone in zip(self.axes(model), self.cones(model), strict=True)]
        rows = len(self.stops) + self.further
        on = stacked_jacobian(model, state, self.points, self.ground(model), self.radii, axes, rows)
        return beside_stops(on, model, state.joints, self.stops)

    def softness(self, dt: Any) -> list[Any] | None:
        """Compliance (1/kg) of each point and stop in a step of ``dt`` (s); None: all are hard."""
        return None

    def wanted(self, heights: list[Any], sets: list[ImpulseSet], stretch: Any, dt: Any) -> list[Any]:
        """Velocities (m/s) of the rows of points and stops that their law asks for, or asks for at least."""
        return [array([-height / dt, *np.zeros(cone.rows - 1)]) for height, cone in zip(heights, sets, strict=True)]

    def next_stretch(self, stretch: Any, forces: Any, dt: Any) -> Any:
        """:attr:`ContactMemory.stretch` after a step under these forces (N, as they are remembered)."""
        return stretch

    def cones(self, model: Model) -> list[ImpulseSet]:
        """Impulse sets of the rows of points and stops, as the contact of the user has them."""
        source = copy.copy(self if self.source is None else self.source)
        object.__setattr__(source, "friction", self.friction)  # which may be a number of each robot
        return source.impulse_sets(model)

    def touch(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Touch:
        """Mean forces of the last step by port; the memory has no rate, and there are no guards."""
        at, forces = self.seen(model, state), self.unpack_memory(memory).forces
        normal, tangential = np.zeros(model.nv), np.zeros(model.nv)
        for i, first in enumerate(self.first_rows):
            normal = normal + scale(forces[first], at.J[i][0])
            if i < len(self.points):
                tangential = tangential + at.J[i][1:].T @ forces[first + 1 : first + 3]
        ports: Mapping[str, Any] = dict(zip(self.ports, (normal, tangential), strict=True))
        return Touch(ports, np.zeros(len(memory)), np.zeros(0))

    def point_forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        """Mean forces (points x 3, N, world) of the last step."""
        at, forces = self.seen(model, state), self.unpack_memory(memory).forces
        rows = [np.reshape(at.axes[i].T @ forces[3 * i : 3 * i + 3], (1, 3)) for i in range(len(self.points))]
        return concatenate([np.zeros((0, 3)), *rows])

    def end_diagnosis(self, memory: np.ndarray) -> str:
        """Warning where the law of contact was missed by more than :data:`MAX_LAW_ERROR`."""
        left = float(np.max(self.unpack_memory(memory).left))
        better = "give a friction, 1.0, say" if self.coefficient(0) is None else "take smaller steps"
        return f"the law of contact was missed by up to {left:.2g} m/s; {better}" if not left <= MAX_LAW_ERROR else ""

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: np.ndarray) -> Jump:
        """Nothing: there are no guards, and no mode ends."""
        return Jump("", mode, state, memory)


def gaps_at(model: Model, state: State, *, contact: SteppedContacts) -> Any:
    """Gaps of points over the ground (m) and of stops (m or rad)."""
    return array([place[0] for place in contact.seen(model, state).places])
