"""Independent reference of the compliant floor with Coulomb friction, written from its documentation.

Nothing here comes from ``fallingcat.contact`` or ``fallingcat.simulation``.  A point at height ``y < 0`` feels

    F_n = max(-K_n y - D_n dy/dt, 0)
    F_t = -share (K_t s + D_t dx/dt),    s = x - a,    share = min(1, mu F_n / |K_t s + D_t dx/dt|)

and its anchor ``a`` moves with ``da/dt = (1 - share) (K_t s + D_t dx/dt) / D_t``: a spring and a damper in parallel
between the point and an anchor that slides under exactly ``mu F_n``, as ``K_t s + D_t (dx/dt - da/dt) = share (...)``.
Above the ground a point feels nothing and takes its anchor along.  Touchdown and lift-off are located as events; stick,
slip and the clipped normal force are left to the error control of the integrator (LSODA; Radau and BDF agree to 1e-8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.integrate import solve_ivp

GRAVITY = 9.81
MAX_EVENTS = 2000
HYSTERESIS = 1e-10  # m: of touchdown and lift-off, above the rounding of located events


@dataclass(frozen=True)
class ReferenceFloor:
    """Horizontal compliant ground at height 0."""

    stiffness: tuple[float, float]
    damping: tuple[float, float]
    friction: float

    def forces(self, height: Any, slip: Any, velocity: Any) -> tuple[np.ndarray, np.ndarray]:
        """Forces (points x 3: x, y, z) and anchor velocities (points x 2) of points in the ground.

        Args:
            height: Heights of the points, negative in the ground (m).
            slip: Stretch of the tangential springs, points x 2 (m).
            velocity: Velocities of the points, points x 3 (m/s).
        """
        (K_n, K_t), (D_n, D_t) = self.stiffness, self.damping
        push = np.maximum(-K_n * height - D_n * velocity[:, 2], 0.0)
        pull = K_t * slip + D_t * velocity[:, :2]
        size = np.hypot(*pull.T)
        share = np.minimum(1.0, self.friction * push / np.where(size > 0.0, size, 1.0))
        share = np.where(size > 0.0, share, 1.0)[:, None]
        return np.column_stack([-share * pull, push]), (1.0 - share) * pull / D_t


class Mechanism(Protocol):
    """Equations of motion of a robot in flat coordinates ``y``."""

    def points(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (points x 3, world) of the contact points."""

    def rate(self, t: float, y: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """``dy/dt`` under forces (points x 3, world) on the contact points."""


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products of rows; ``np.cross`` takes ten times as long."""
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        axis=-1,
    )


@dataclass(frozen=True)
class RigidBody:
    """A rigid body: ``y = [position, rotation matrix by rows, velocity (world), angular velocity (world)]``."""

    mass: float
    inertia: np.ndarray
    """``3 x 3`` (kg m^2), about the center of mass, body axes"""
    places: np.ndarray
    """points x 3 (m), body axes"""
    gravity: tuple[float, float, float] = (0.0, 0.0, -GRAVITY)
    pull: Any = None
    """force at the center of mass as a function of time (N, world), or None"""

    def start(self, position: Any, velocity: Any, spin: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> np.ndarray:
        rotation = np.eye(3) if rotation is None else rotation
        return np.concatenate([position, np.ravel(rotation), velocity, spin])

    def points(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        arms = self.places @ y[3:12].reshape(3, 3).T
        return y[:3] + arms, y[12:15] + _cross(y[15:18], arms)

    def rate(self, t: float, y: np.ndarray, forces: np.ndarray) -> np.ndarray:
        R, w = y[3:12].reshape(3, 3), y[15:18]
        total = forces.sum(axis=0) + self.mass * np.array(self.gravity)
        if self.pull is not None:
            total = total + self.pull(t)
        torque = _cross(self.places @ R.T, forces).sum(axis=0)
        inertia = R @ self.inertia @ R.T
        spin_up = np.linalg.solve(inertia, torque - _cross(w, inertia @ w))
        return np.concatenate([y[12:15], _cross(w[None], R.T).T.ravel(), total / self.mass, spin_up])


@dataclass(frozen=True)
class Motion:
    """A reference run: ``times``, coordinates ``y`` (times x size) and anchors (times x points x 2)."""

    times: np.ndarray
    y: np.ndarray
    anchors: np.ndarray
    touchdowns: int


def run(
    mechanism: Mechanism,
    floor: ReferenceFloor,
    y: np.ndarray,
    duration: float,
    *,
    tolerance: float = 1e-9,
    method: str = "LSODA",
    samples: int = 0,
) -> Motion:
    """Integrate a mechanism on a floor, from touchdown to lift-off to touchdown.

    Args:
        mechanism: Equations of motion.
        floor: Ground.
        y: Start; points below the ground start with unloaded tangential springs.
        duration: Simulated time (s).
        tolerance: Relative tolerance of a step; the absolute one is a hundredth of it.
        method: Method of :func:`scipy.integrate.solve_ivp`.
        samples: Number of equally spaced samples besides start and end.

    Returns:
        Samples of the motion.
    """
    size, t, touchdowns = len(y), 0.0, 0
    places = mechanism.points(y)[0]
    anchors, touching = places[:, :2].copy(), places[:, 2] < 0.0
    grid = np.linspace(0.0, duration, samples + 2)
    kept = [(0.0, y, anchors)]
    for _ in range(MAX_EVENTS):

        def rate(t: float, x: np.ndarray, touching: np.ndarray = touching) -> np.ndarray:
            place, velocity = mechanism.points(x[:size])
            force, drift = floor.forces(place[:, 2], place[:, :2] - x[size:].reshape(-1, 2), velocity)
            held = touching[:, None]
            dy = mechanism.rate(t, x[:size], np.where(held, force, 0.0))
            return np.concatenate([dy, np.where(held, drift, velocity[:, :2]).ravel()])

        crossings = [_crossing(mechanism, size, i, bool(on)) for i, on in enumerate(touching)]
        found = solve_ivp(
            rate,
            (t, duration),
            np.concatenate([y, anchors.ravel()]),
            method=method,
            rtol=tolerance,
            atol=1e-2 * tolerance,
            events=crossings,
            t_eval=np.append(grid[(grid > t) & (grid < duration)], duration) if samples else None,
        )
        assert found.status >= 0, found.message
        kept += [(s, x[:size], x[size:].reshape(-1, 2)) for s, x in zip(found.t, found.y.T, strict=True) if s > t]
        if found.status == 0:
            break
        which = next(i for i, times in enumerate(found.t_events) if len(times))
        t, x = found.t_events[which][0], found.y_events[which][0]
        y, anchors = x[:size], x[size:].reshape(-1, 2).copy()
        place = mechanism.points(y)[0]
        crossed = np.where(touching, 1.0, -1.0) * place[:, 2] > 0.9 * HYSTERESIS  # points may land together
        touching = touching ^ crossed
        touchdowns += int((touching & crossed).sum())
        anchors[crossed] = place[crossed, :2]
    else:
        raise AssertionError(f"more than {MAX_EVENTS} events until {t} s")
    times, ys, held = (np.array(column) for column in zip(*kept, strict=True))
    return Motion(times, ys, held, touchdowns)


def _crossing(mechanism: Mechanism, size: int, i: int, touches: bool) -> Any:
    """Event: point ``i`` comes out of the ground, or through it."""

    def height(t: float, x: np.ndarray) -> float:
        return float(mechanism.points(x[:size])[0][i, 2]) - beyond

    beyond = HYSTERESIS if touches else -HYSTERESIS
    height.terminal, height.direction = True, 1.0 if touches else -1.0  # type: ignore[attr-defined]
    return height
