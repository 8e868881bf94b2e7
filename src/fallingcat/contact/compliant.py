"""The compliant floor: springs and dampers under the feet ([Feurstein] 4.1.4, [ETH] 3.7.1), with friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import array, concatenate, less, sqrt, where
from ..errors import ModelError
from ..model import Model, State
from .contact import Contact, Jump, Mode
from .points import (
    Plane,
    check_point_mode,
    checked_points,
    floor_points,
    plane,
    point_jacobian,
    point_motions,
    position,
    positions,
)


class Support(NamedTuple):
    """What a point feels at the end of a step, along normal and tangents: ``force - gain * (its velocity then)``."""

    force: Any
    """``3`` (N)"""
    gain: Any
    """``3`` (N s/m), not negative"""


@dataclass(frozen=True)
class CompliantFloor(Contact):
    """A visco-elastic plane under the points of the robot.

    A point below the plane, at depth ``y < 0``, feels ``F_n = max(-K_n y - D_n dy/dt, 0)`` out of it and, along it,
    ``F_t = -K_t (x - x_touchdown) - D_t dx/dt``: [Feurstein] (4.13)-(4.14) with their signs put right and the place of
    touchdown remembered.  ``F_t`` stays on while ``F_n`` is clipped at zero, until the point is above the plane.

    With ``friction`` (Coulomb's coefficient) ``|F_t| <= friction F_n``: beyond that the anchor is dragged along, at
    the rate at which spring and damper together pull with exactly the limit.

    >>> import fallingcat as fc
    >>> floor = fc.contact.CompliantFloor(("foot",), stiffness=(1e4, 1e4), damping=(1e3, 1e3))
    >>> hopper = fc.robots.revolute_hopper()
    >>> floor.begin(hopper, hopper.neutral())[0]
    (False,)
    """

    points: tuple[str, ...]
    """links or frames whose origins may touch"""
    stiffness: tuple[float, float]
    """normal, tangential (N/m)"""
    damping: tuple[float, float]
    """normal, tangential (N s/m)"""
    friction: float | None = None
    """Coulomb's coefficient; None holds every point where it touched down"""
    normal: tuple[float, float, float] | None = None
    """out of the ground (world); None: against gravity"""
    height: float = 0.0
    """of the plane along its normal (m)"""

    ports = ("floor normal", "floor tangential")
    asks_forces = False
    stiff = True
    most_events = 100_000  # a foot that settles flips between spring and damper every microsecond: that is its physics

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", floor_points(self.points))
        try:
            friction = 0.0 if self.friction is None else self.friction
            numbers = [float(x) for x in (*self.stiffness, *self.damping, self.height, friction)]
        except (TypeError, ValueError, OverflowError):
            numbers = []
        if len(numbers) != 6 or not np.isfinite(numbers).all() or min(numbers[:4]) < 0.0 or numbers[5] < 0.0:
            raise ModelError("stiffness, damping and friction of a floor are finite numbers that are not negative")
        if self.friction is not None and not self.damping[1] > 0.0:
            raise ModelError(
                "a floor with friction needs tangential damping: it says how fast a sliding anchor follows"
            )

    @property
    def memory_size(self) -> int:
        return 2 * len(self.points)

    def check_mode(self, mode: Any) -> None:
        check_point_mode(mode, self.points, (False, True))

    # modes ----------------------------------------------------------------------------------------------------

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Points that start below the plane touch where they are: their springs start without tangential load."""
        checked_points(model, self.points)
        ground = self.ground(model)
        places = positions(model, state, self.points)
        mode = tuple(bool(self._depth(ground, p) < 0.0) for p in places)
        return mode, np.concatenate([np.zeros(0), *(ground.tangents @ p for p in places)])

    def touching(self, mode: Mode) -> frozenset[str]:
        return frozenset(place for place, touches in zip(self.points, mode, strict=True) if touches)

    def guards(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        """Height of the points in the air, depth of the points in the ground."""
        ground = self.ground(model)
        heights = [self._depth(ground, position(model, state, place)) for place in self.points]
        signed = [-h if touches else h for h, touches in zip(heights, mode, strict=True)]
        return concatenate([np.zeros(0), *(np.reshape(h, 1) for h in signed)])

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: np.ndarray) -> Jump:
        if guard >= len(mode):
            raise ModelError(f"there is no guard {guard}: each of the points {', '.join(self.points)} has one")
        place, lands = self.points[guard], not mode[guard]
        mode = (*mode[:guard], lands, *mode[guard + 1 :])
        if lands:
            memory = memory.copy()
            memory[2 * guard : 2 * guard + 2] = self.ground(model).tangents @ position(model, state, place)
        return Jump(f"{'touchdown' if lands else 'lift-off'} {place}", mode, state, memory)

    # forces ---------------------------------------------------------------------------------------------------

    def forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> dict[str, Any]:
        normal, tangential = np.zeros(model.nv), np.zeros(model.nv)
        ground = self.ground(model)
        for i, touches in enumerate(mode):
            if touches:
                J = ground.axes @ point_jacobian(model, state, self.points[i])
                push, drag, _ = self._point(model, ground, i, state, memory, J)
                normal = normal + J[0] * push
                tangential = tangential + J[1:].T @ drag
        return {"floor normal": normal, "floor tangential": tangential}

    def impedance(self, model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
        """``J' K J`` and ``J' D J`` of all points, as if all were in the ground."""
        axes = self.ground(model).axes
        J = np.array([axes @ motion.J for motion in point_motions(model, state, self.points)], dtype=float)
        (K_n, K_t), (D_n, D_t) = self.stiffness, self.damping
        K, D = (np.einsum("pki,k,pkj->ij", J, x, J) for x in ((K_n, K_t, K_t), (D_n, D_t, D_t)))
        return K, D

    def point_forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        ground, rows = self.ground(model), [np.zeros((0, 3))]
        for i, (touches, motion) in enumerate(zip(mode, point_motions(model, state, self.points), strict=True)):
            push, drag, _ = self._point(model, ground, i, state, memory, ground.axes @ motion.J)
            force = ground.axes.T @ concatenate([np.reshape(push, 1), drag])
            rows.append(np.reshape(force if touches else np.zeros(3), (1, 3)))
        return concatenate(rows)

    def memory_rate(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        if self.friction is None:
            return np.zeros(len(memory))
        ground, rates = self.ground(model), [np.zeros(0)]
        for i, touches in enumerate(mode):
            J = ground.axes @ point_jacobian(model, state, self.points[i]) if touches else None
            rates.append(self._point(model, ground, i, state, memory, J)[2] if touches else np.zeros(2))
        return concatenate(rates)

    def _point(self, model: Model, ground: Plane, i: int, state: State, memory: Any, J: Any) -> tuple[Any, Any, Any]:
        """Normal force, tangential force (2) and rate of the anchor (2) of a point in the ground."""
        p, v = position(model, state, self.points[i]), J @ state.velocity
        (K_n, K_t), (D_n, D_t) = self.stiffness, self.damping
        push = -K_n * self._depth(ground, p) - D_n * v[0]
        push = where(less(push, 0.0), 0.0 * push, push)
        drag = -K_t * (ground.tangents @ p - memory[2 * i : 2 * i + 2]) - D_t * v[1:]
        if self.friction is None:
            return push, drag, np.zeros(2)
        square, limit = drag @ drag, self.friction * push
        slides = less(limit * limit, square)
        share = where(slides, limit / sqrt(where(slides, square, 1.0 + 0.0 * square)), 1.0 + 0.0 * square)
        return push, drag * share, drag * ((share - 1.0) / D_t)

    # steps ----------------------------------------------------------------------------------------------------

    def support(self, position: Any, ahead: Any, anchor: Any, dt: Any, sticks: bool) -> Support:
        """The law above at the end of a step of ``dt`` (s), which a point begins at ``position`` (3: height over the
        ground, along it), if it will move with the velocity ``ahead`` (3): linear in the velocity.  With ``sticks``
        what is below the plane then is held, whatever it takes.
        """
        (K_n, K_t), (D_n, D_t) = self.stiffness, self.damping
        height, u = position[0], ahead[0]
        away = where(less(height, 0.0), position[1:] - anchor, 0.0 * position[1:])
        gain_n, gain_t = D_n + dt * K_n, D_t + dt * K_t
        push = -K_n * height - gain_n * u
        pushes, inside = less(0.0, push), less(height + dt * u, 0.0)
        share = where(inside, 1.0 + 0.0 * push, 0.0 * push)
        holds = share if sticks else where(pushes, share, 0.0 * push)
        if self.friction is not None and not sticks:
            drag = K_t * away + gain_t * ahead[1:]
            square, limit = drag @ drag, self.friction * push
            slides = less(limit * limit, square)
            share = holds * where(slides, limit / sqrt(where(slides, square, 1.0 + 0.0 * square)), 1.0 + 0.0 * square)
        force = concatenate([np.reshape(-K_n * height * holds, 1), away * (-K_t * share)])
        return Support(force, array([gain_n * holds, gain_t * share, gain_t * share]))

    def anchor(self, position: Any, velocity: Any, force: Any, before: Any) -> Any:
        """Where a point is held (2) after a step that it ends at ``position`` with ``velocity`` and ``force`` (3 each):
        as ``before``, or dragged along where it slides.
        """
        (_, K_t), (_, D_t) = self.stiffness, self.damping
        here = position[1:]
        if K_t == 0.0 or self.friction is None:
            return where(less(position[0], 0.0), before, here)
        pulled = K_t * (here - before) + D_t * velocity[1:]
        dragged = here + (force[1:] + D_t * velocity[1:]) * (1.0 / K_t)
        slides = less(force[1:] @ force[1:] * (1.0 + 1e-9), pulled @ pulled)
        return where(less(position[0], 0.0), where(slides, dragged, before), here)

    def ground(self, model: Model) -> Plane:
        return plane(model, self.normal, self.height)

    @staticmethod
    def _depth(ground: Plane, p: Any) -> Any:
        return ground.normal @ p - ground.height
