"""Hard contacts: points that a plane holds exactly while they push on it ([ETH] 3.7), with friction and impacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import array, concatenate, scale, sqrt
from ..dynamics import bias_forces
from ..errors import ModelError, NumericsError
from ..model import Model, State
from .complementarity import OPEN, SLIDE, STICK
from .contact import Contact, Jump, Mode
from .impacts import impact, restitutions
from .points import (
    Plane,
    checked_points,
    named_points,
    plane,
    point_bias,
    point_jacobian,
    point_motions,
    position,
    stacked,
)
from .solving import check_consistent, minimum_norm, plane_axes, response, within_range

TOUCH = 1e-10
"""Depth (m) at which an open point touches down: rounding is no touchdown."""
HAIR = 1e-12
"""m: how far an open point starts from touching down."""
TOGETHER = 1e-9
"""Points nearer to the plane than this (m) take part in an impact."""
STILL = 1e-9
"""Speeds (m/s) that are rounding."""
TURNING = 2e-3
"""Below about this speed (m/s) the direction of friction is slow to turn: it keeps the equations from being stiff."""
LOAD = 1e-10
"""Forces below this part of the robot's weight are rounding."""


class _Load(NamedTuple):
    """A closed point: what the plane does to it."""

    J: Any
    """``rows x nv``: the normal first, then the tangents along which the point can move"""
    push: Any
    """N, out of the ground"""
    drag: Any
    """N, along the ground, one for each tangential row"""


@dataclass(frozen=True)
class HardContacts(Contact):
    """A rigid plane under the points of the robot.

    A closed point has no acceleration of its own: with ``applied`` the forces of everything else,
    ``M a + C v + g = applied + J' F`` and ``J a + dJ/dt v = -2 damping frequency J v - frequency^2 (p - p_touchdown)``
    give its force ``F`` ([ETH] (3.61)-(3.62)); the right side takes away what an integrator lets drift.  Each point is
    ``open``, or it does ``stick`` (three rows), or it does ``slide`` (one row, and friction against the way it slides).
    Points that depend on each other, such as the corners of a foot, share the forces of least norm.

    It ends a mode when an open point reaches the plane (impact), a closed one would have to pull (lift-off), friction
    cannot hold a sticking point, or a sliding one comes to rest.

    >>> import fallingcat as fc
    >>> ball = fc.robots.free_body()
    >>> floor = fc.contact.HardContacts(("body",))
    >>> mode, memory = floor.begin(ball, ball.neutral())
    >>> mode
    ('stick',)
    >>> forces = floor.forces(ball, mode, ball.neutral(), memory, np.zeros(6))
    >>> bool(abs(forces["contact normal"][2] - 9.81 * ball.mass) < 1e-12)
    True
    """

    points: tuple[str, ...]
    """links or frames whose origins may touch; :func:`.corners` makes those of a foot"""
    friction: float | None = None
    """Coulomb's coefficient; None: a point that touches sticks"""
    restitution: float | tuple[float, ...] = 0.0
    """Newton's, ``-v+_n / v-_n``; one for all points or one for each"""
    rest_speed: float = 1e-3
    """slower impacts (m/s) do not bounce: so a bouncing ball comes to rest"""
    frequency: float = 50.0
    """of the stabilisation (rad/s): small against 1 / time step"""
    damping: float = 1.0
    """of the stabilisation, relative to critical"""
    normal: tuple[float, float, float] | None = None
    """out of the ground (world); None: against gravity"""
    height: float = 0.0
    """of the plane along its normal (m)"""
    tolerance: float = 1e-6
    """how far (m) from the plane, and how fast (m/s), a point may start to count as resting on it"""

    ports = ("contact normal", "contact tangential")

    def __post_init__(self) -> None:
        named_points(self.points)
        restitutions(self.restitution, self.points)
        try:
            rest = [
                float(x) for x in (self.rest_speed, self.frequency, self.damping, self.tolerance, self.friction or 0.0)
            ]
        except (TypeError, ValueError):
            rest = [np.nan]
        if not np.isfinite([*rest, self.height]).all() or min(rest) < 0.0:
            raise ModelError("friction, speeds, gains and tolerance of contacts are finite and not negative")

    # modes ----------------------------------------------------------------------------------------------------

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Points that rest on the plane are closed, all others open; no point may start below it."""
        checked_points(model, self.points)
        ground, memory = self._plane(model), np.zeros((len(self.points), 5))
        mode = []
        for i, (place, axes) in enumerate(zip(self.points, self._axes(model), strict=True)):
            if 0 not in axes:
                raise ModelError(f"{place!r} cannot move along the normal of the ground: it cannot touch it")
            p, v = self._place(model, ground, state, i), self._speed(model, ground, state, i)
            if p[0] < -self.tolerance:
                raise ModelError(f"{place!r} starts {-p[0]:.3g} m below the ground: start on it or above it")
            closed = p[0] <= self.tolerance and abs(v[0]) <= self.tolerance
            slides = bool(np.linalg.norm(v[1:]) > self.tolerance)
            mode.append(OPEN if not closed or (slides and self.friction is None) else self._closed(slides))
            memory[i] = self._remembered(mode[i], p, v)
        self._check(model, tuple(mode), state)
        return tuple(mode), memory.reshape(-1)

    def touching(self, mode: Mode) -> frozenset[str]:
        return frozenset(place for place, status in zip(self.points, mode, strict=True) if status != OPEN)

    def _closed(self, slides: bool) -> str:
        return SLIDE if slides or self.friction == 0.0 else STICK

    def _remembered(self, status: str, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Five numbers of a point: a place in the axes of the plane, and the way it slides.

        The place is where a closed point is held; an open one remembers how far below zero it started, if it did, so
        that it does not touch down where it has just left.
        """
        if status == OPEN:
            return np.array([min(p[0] + TOUCH - HAIR, 0.0), 0.0, 0.0, 0.0, 0.0])
        size = float(np.linalg.norm(v[1:]))
        way = v[1:] / size if status == SLIDE and size > 0.0 else np.zeros(2)
        return np.concatenate([p, way])

    # forces ---------------------------------------------------------------------------------------------------

    def forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> dict[str, Any]:
        normal, tangential = np.zeros(model.nv), np.zeros(model.nv)
        for load in self._loads(model, mode, state, memory, applied)[0].values():
            normal = normal + scale(load.push, load.J[0])
            tangential = tangential + load.J[1:].T @ load.drag
        return {"contact normal": normal, "contact tangential": tangential}

    def point_forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        """The force (points x 3, N, world) on the robot at each point; zero where it is open."""
        ground, loads = self._plane(model), self._loads(model, mode, state, memory, applied)[0]
        rows = [np.zeros((0, 3))]
        for i, axes in enumerate(self._axes(model)):
            if i in loads:
                along = concatenate([array([loads[i].push]), loads[i].drag])
                rows.append(np.reshape(ground.axes[axes].T @ along, (1, 3)))
            else:
                rows.append(np.zeros((1, 3)))
        return concatenate(rows)

    def memory_rate(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        """The way of a sliding point turns as its velocity does: ``dw/dt = (1 - w w') (dv/dt + frequency v) / |v|``."""
        rates: list[Any] = [np.zeros(5) for _ in self.points]
        if SLIDE in mode and self.friction and max(map(len, self._axes(model))) > 2:
            loads, a = self._loads(model, mode, state, memory, applied)
            for i, status in enumerate(mode):
                if status == SLIDE:
                    rates[i] = concatenate([np.zeros(3), self._turn(model, state, memory, i, loads[i].J, a)])
        return concatenate([np.zeros(0), *rates])

    def _turn(self, model: Model, state: State, memory: Any, i: int, J: Any, a: Any) -> Any:
        if len(J) < 3:
            return np.zeros(2)  # along a line there is nothing to turn
        ground, w = self._plane(model), self._way(model, memory, i)
        v = J[1:] @ state.velocity
        change = J[1:] @ a + ground.tangents @ point_bias(model, state, self.points[i]) + self.frequency * v
        across = change - scale(w @ change, w)
        return scale(1.0 / sqrt(v @ v + TURNING**2), across)

    def _loads(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> tuple[dict[int, _Load], Any]:
        """The closed points, and the acceleration (nv) under all forces."""
        ground, v = self._plane(model), state.velocity
        all_axes = self._axes(model)
        closed = [i for i, status in enumerate(mode) if status != OPEN]
        J_of: dict[int, Any] = {}
        held, pulled, biases, errors = [], [], [], []
        for i, motion in zip(closed, point_motions(model, state, [self.points[i] for i in closed]), strict=True):
            directions = ground.axes[all_axes[i]]
            J_of[i] = J = directions @ motion.J
            count = len(J) if mode[i] == STICK else 1
            held.append(J[:count])
            pulled.append(J if mode[i] == STICK else J[:1] - self._dragged(model, memory, i, J))
            biases.append((directions @ motion.bias)[:count])
            gap = directions @ motion.position - self._held_at(all_axes[i], memory, i, ground)
            errors.append(gap[:count])
        J, K = stacked(held, model.nv), stacked(pulled, model.nv)
        free = applied - bias_forces(model, state)
        caused = response(model, state, concatenate([K.T, np.reshape(free, (model.nv, 1))], axis=1))
        MinvKt, a_free = caused[:, :-1], caused[:, -1]
        if not len(J):
            return {}, a_free
        G = J @ MinvKt
        drift = 2.0 * self.damping * self.frequency * (J @ v) + self.frequency**2 * concatenate(errors)
        x = minimum_norm(G, -(J @ a_free + concatenate(biases)) - within_range(G, drift))
        return self._split(model, mode, memory, J_of, x), a_free + MinvKt @ x

    def _split(self, model: Model, mode: Mode, memory: Any, J_of: dict[int, Any], x: Any) -> dict[int, _Load]:
        loads, start = {}, 0
        for i, J in J_of.items():
            if mode[i] == STICK:
                loads[i] = _Load(J, x[start], x[start + 1 : start + len(J)])
                start += len(J)
            else:
                drag = scale(-(self.friction or 0.0) * x[start], self._way(model, memory, i)[: len(J) - 1])
                loads[i] = _Load(J, x[start], drag)
                start += 1
        return loads

    def _dragged(self, model: Model, memory: Any, i: int, J: Any) -> Any:
        """``friction w' J_t`` (1 x nv): what friction takes for each newton of normal force."""
        w = self._way(model, memory, i)[: len(J) - 1]
        return np.reshape((self.friction or 0.0) * (w @ J[1:]), (1, model.nv)) if len(J) > 1 else 0.0 * J

    def _way(self, model: Model, memory: Any, i: int) -> Any:
        """The unit vector along which a point slides, in the tangents along which it can move."""
        w = memory[5 * i + 3 : 5 * i + 5]
        if self.friction == 0.0 or len(self._axes(model)[i]) < 3:
            return w[np.array(self._axes(model)[i][1:], dtype=int) - 1]
        return scale(1.0 / sqrt(w @ w), w)

    def _held_at(self, axes: list[int], memory: Any, i: int, ground: Plane) -> Any:
        """Where a closed point is held, in the axes of the plane along which it moves; heights count from zero."""
        offset = np.array([ground.height, 0.0, 0.0])
        return memory[5 * i : 5 * i + 3][np.array(axes)] + offset[axes]

    # guards ---------------------------------------------------------------------------------------------------

    def guards(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        """Gaps of open points; pushes, reserves of friction and speeds of closed ones, a hair wider than zero."""
        loads = self._loads(model, mode, state, memory, applied)[0]
        ground, values = self._plane(model), []
        hair = LOAD * model.mass * max(1.0, float(np.linalg.norm(model.gravity)))
        for i, what in self._guarded(model, mode):
            if what == "gap":
                gap = ground.normal @ position(model, state, self.points[i]) - ground.height
                value = gap - memory[5 * i] + TOUCH
            elif what == "push":
                value = loads[i].push + hair
            elif what == "stop":
                value = self._way(model, memory, i) @ (loads[i].J[1:] @ state.velocity) + STILL
            else:
                drag, limit = loads[i].drag, (self.friction or 0.0) * loads[i].push + hair
                value = limit - (sqrt(drag @ drag) if what == "cone" else drag[0] if what == "hold -" else -drag[0])
            values.append(value)
        return array(values)

    def _guarded(self, model: Model, mode: Mode) -> list[tuple[int, str]]:
        """The guards of a mode: which point, and what of it."""
        found = []
        for i, (status, axes) in enumerate(zip(mode, self._axes(model), strict=True)):
            found.append((i, "gap" if status == OPEN else "push"))
            if len(axes) > 1 and self.friction and status != OPEN:
                holds = ["cone"] if len(axes) > 2 else ["hold -", "hold +"]
                found += [(i, what) for what in (holds if status == STICK else ["stop"])]
        return found

    # jumps ----------------------------------------------------------------------------------------------------

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: np.ndarray) -> Jump:
        """``applied`` (nv) tells in which way a sticking point of a robot in space begins to slide."""
        i, what = self._guarded(model, mode)[guard]
        if what == "gap":
            return self._land(model, mode, i, state, memory)
        if what == "push":
            return self._changed(model, mode, {i: OPEN}, state, memory, f"lift-off {self.points[i]}")
        if what == "stop":
            return self._stop(model, mode, i, state, memory)
        axes, way = self._axes(model)[i], np.zeros(2)
        if what == "cone":
            loads = self._loads(model, mode, state, memory, applied)[0]
            drag = np.asarray(loads[i].drag, dtype=float)
            size = float(np.linalg.norm(drag))
            if size < (self.friction or 0.0) * float(loads[i].push) * (1.0 - 1e-6) or size == 0.0:
                raise NumericsError(f"{self.points[i]!r} slips under other forces than its jump was told")
            way = -drag / size
        else:
            way[axes[1] - 1] = -1.0 if what == "hold -" else 1.0
        jump = self._changed(model, mode, {i: SLIDE}, state, memory, f"slip {self.points[i]}")
        jump.memory[5 * i + 3 : 5 * i + 5] = way
        return jump

    def _stop(self, model: Model, mode: Mode, i: int, state: State, memory: np.ndarray) -> Jump:
        """A sliding point that goes back has come to rest, and with it those that rest too; else it only turned."""
        ground = self._plane(model)
        speeds = {k: self._speed(model, ground, state, k)[1:] for k, s in enumerate(mode) if s == SLIDE}
        still = {k: STICK for k, v in speeds.items() if np.linalg.norm(v) <= 1e3 * STILL}
        if i not in still:
            memory = memory.copy()
            memory[5 * i + 3 : 5 * i + 5] = speeds[i] / np.linalg.norm(speeds[i])
            return Jump(f"turn {self.points[i]}", mode, state, memory)
        names = ", ".join(self.points[k] for k in still)
        held = tuple(self.points[k] for k, s in enumerate(mode) if s == STICK or k in still)
        rest = impact(model, state, held, pulling=True, normal=self.normal)
        jump = self._changed(model, mode, still, rest.state, memory, f"stick {names}")
        return jump._replace(loss=max(float(rest.loss), 0.0))

    def _land(self, model: Model, mode: Mode, i: int, state: State, memory: np.ndarray) -> Jump:
        """An impact of all points that touch: each sticks, slides or leaves."""
        ground = self._plane(model)
        gaps = [self._place(model, ground, state, k)[0] - memory[5 * k] for k in range(len(mode))]
        hit = [k for k, s in enumerate(mode) if s != OPEN or k == i or gaps[k] <= TOGETHER]
        before = {k: self._speed(model, ground, state, k) for k in hit}
        elastic = restitutions(self.restitution, self.points)[hit]
        elastic = np.where([before[k][0] < -self.rest_speed for k in hit], elastic, 0.0)
        after = impact(
            model, state, [self.points[k] for k in hit], tuple(elastic), self.friction, normal=self.normal
        )  # fmt: skip
        changes = {}
        for k, status in zip(hit, after.status, strict=True):
            v = self._speed(model, ground, after.state, k)
            slides = bool(np.linalg.norm(v[1:]) > STILL)
            rests = v[0] <= STILL and (status != OPEN or self.friction is not None or not slides)
            changes[k] = (self._closed(slides) if mode[k] != STICK or slides else STICK) if rests else OPEN
        landed = [k for k in hit if mode[k] == OPEN and before[k][0] < 0.0]
        verb = "touchdown" if any(changes[k] != OPEN for k in landed or [i]) else "bounce"
        name = f"{verb} {', '.join(self.points[k] for k in landed or [i])}"
        jump = self._changed(model, mode, changes, after.state, memory, name)
        return jump._replace(loss=float(after.loss))

    def _changed(
        self, model: Model, mode: Mode, changes: dict[int, str], state: State, memory: np.ndarray, name: str
    ) -> Jump:
        """Other statuses of some points; those that change are held where they are now."""
        ground, memory = self._plane(model), memory.copy()
        new = tuple(changes.get(k, s) for k, s in enumerate(mode))
        for k, status in changes.items():
            if status != mode[k] or status != STICK:
                p, v = self._place(model, ground, state, k), self._speed(model, ground, state, k)
                memory[5 * k : 5 * k + 5] = self._remembered(status, p, v)
        self._check(model, new, state)
        return Jump(name, new, state, memory)

    def _check(self, model: Model, mode: Mode, state: State) -> None:
        """An error that names closed points whose accelerations cannot all be zero."""
        ground, rows, biases, names = self._plane(model), [], [], []
        for place, status, axes in zip(self.points, mode, self._axes(model), strict=True):
            if status != OPEN:
                held = ground.axes[axes if status == STICK else axes[:1]]
                rows.append(held @ point_jacobian(model, state, place))
                biases.append(held @ point_bias(model, state, place))
                names += [place] * len(held)
        if rows:
            check_consistent(np.concatenate(rows), np.concatenate(biases), names, "the contacts")

    # places ---------------------------------------------------------------------------------------------------

    def _plane(self, model: Model) -> Plane:
        return plane(model, self.normal, self.height)

    def _axes(self, model: Model) -> tuple[list[int], ...]:
        return plane_axes(model, self.points, self._plane(model))

    def _place(self, model: Model, ground: Plane, state: State, i: int) -> np.ndarray:
        """A point in the axes of the plane: its gap first."""
        p = ground.axes @ position(model, state, self.points[i])
        p[0] -= ground.height
        return np.asarray(p)

    def _speed(self, model: Model, ground: Plane, state: State, i: int) -> np.ndarray:
        return np.asarray(ground.axes @ (point_jacobian(model, state, self.points[i]) @ state.velocity))
