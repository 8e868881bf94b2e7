"""Planning of righting manoeuvres: the bend and the number of turns for a wanted angle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...arrays.types import Float_3, Float_4_4, Float_n, Vector_3
from ...compiler import compile
from ...dynamics.checks import check_model, vector
from ...errors import ModelError, describe
from ...lie import rotations
from ...model import Model
from ...records import concise, of_robot
from ..gaits.displacement import Reconstruction
from ..gaits.gait import Gait
from ..gaits.shape_forces import shape_forces
from .bending import UNLIMITED_BEND, Bending, direction
from .curve import RightingCurve

TURN_CANDIDATES = (1.0, 1.2, 1.4, 1.6, 2.0, 2.5, 3.0)
"""Candidates for the number of turns of the bend, from which the fastest is taken."""
TUCK_SHARES = (1.0, 0.7, 0.0)
"""Shares of the tuck that are tried: a small turn needs none, and is over sooner."""
SEARCH_TOLERANCE, RESULT_TOLERANCE = 1e-7, 1e-11
"""Tolerances of displacements while searching, and of the result."""
MIN_TILT_SHARE = 0.9
"""Share of a turn by which up has to tilt: less is a turn about an axis too near the vertical."""
SAMPLES = 240


@concise
class Manoeuvre(NamedTuple):
    """Shape motion from rest to rest that turns the robot without angular momentum.

    Example:
        >>> Manoeuvre._fields
        ('curve', 'turn', 'pose', 'shortest', 'unit_forces', 'axis')
    """

    curve: RightingCurve
    turn: float
    """rad: angle of the turn"""
    pose: Float_4_4
    """``4 x 4``: the base at the end, relative to the start"""
    shortest: float
    """s: least time within rates and efforts; 0 without limits"""
    unit_forces: Float_n
    """``n``: peak joint forces when it takes 1 s; ``duration^-2`` of them otherwise"""
    axis: Float_3
    """``3``: axis of the turn, by the right-hand rule, in the base frame"""

    def gait(self, duration: float) -> Gait:
        """Gait of the manoeuvre.

        Args:
            duration: Duration (s).

        Returns:
            Motion of all joints.
        """
        return Gait(self.curve, duration, "constant")


@of_robot
class Planner:
    """Planner of righting manoeuvres of one robot: compiled once, for many angles.

    Args:
        model: Robot with a floating base.
        first: First direction of joints that carry the bend: a joint's name, or shares of several joints (joint name:
            share, or n numbers).
        second: Second direction.
        tuck: Angles (joint name: rad) taken up on the way and left again: legs along its body make a cat slimmer, and a
            smaller bend turns it; None: none.

    Example:
        >>> import fallingcat as fc
        >>> planner = Planner(fc.robots.two_cylinder_cat(), "spine_z", "spine_y")
        >>> planner.curve(bend=0.5, turns=1.0).closed
        True
    """

    def __init__(self, model: Model, first: Any, second: Any, tuck: Mapping[str, float] | None = None) -> None:
        """Compile the connection and the forces."""
        check_model(model)
        self.model, self.origin = model, np.asarray(model.neutral().joints, dtype=float)
        self.first, self.second = (self._direction(x) for x in (first, second))
        if np.linalg.matrix_rank(np.stack([self.first, self.second])) < 2:
            raise ModelError(f"a bend needs two joints, got {first!r} alone")
        self.reconstruction = Reconstruction(model)
        self._forces = compile(model, shape_forces, state=["joints", "twist", "rates"])
        self.tuck = direction(model, tuck or {})
        self.reach = self._reach()

    def _direction(self, joints: Any) -> np.ndarray:
        if isinstance(joints, str):
            return direction(self.model, {joints: 1.0})
        if isinstance(joints, Mapping):
            return direction(self.model, joints)
        return np.asarray(vector(joints, self.model.n, "a direction of the bend"), dtype=float)

    def _reach(self) -> float:
        """Bend at which the first joint meets its limit."""
        limits = self.model.limits
        room = np.array([min(x.upper, -x.lower) for x in limits])
        size = np.hypot(self.first, self.second)
        used = size > 0.0
        return float(min(UNLIMITED_BEND / size.max(), (room[used] / size[used]).min()))

    def curve(self, bend: float, turns: float, tucked: float = 1.0) -> RightingCurve:
        """Curve of a manoeuvre.

        Args:
            bend: Amplitude (rad).
            turns: Number of turns of the bend.
            tucked: Share of the tuck.

        Returns:
            Closed curve of all joints.
        """
        return RightingCurve(self.origin, self.first, self.second, bend, tucked * self.tuck, turns)

    def plan(self, turn: float = np.pi, turns: Iterable[float] = TURN_CANDIDATES) -> Manoeuvre:
        """Fastest manoeuvre that turns by an angle: the one with the least torques and rates.

        Args:
            turn: Angle (rad, up to pi).
            turns: Candidates for the number of turns of the bend.

        Returns:
            Manoeuvre.

        Raises:
            ModelError: The angle is out of reach; the message gives the largest one.
        """
        found, most = self.search(turn, turns)
        if found is None:
            raise ModelError(
                f"{self.model.name!r} turns by {np.degrees(most):.0f} degrees at most when these joints bend by "
                f"{np.degrees(self.reach):.0f}: {np.degrees(turn):.0f} degrees are out of reach"
            )
        return found

    def search(self, turn: float, turns: Iterable[float] = TURN_CANDIDATES) -> tuple[Manoeuvre | None, float]:
        """Fastest manoeuvre, if there is one, and the largest turn within reach.

        Args:
            turn: Angle (rad, up to pi).
            turns: Candidates for the number of turns of the bend.

        Returns:
            Manoeuvre or None, and the largest turn (rad).
        """
        if not isinstance(turn, (int, float, np.number)) or not 0.0 < turn <= np.pi:
            raise ModelError(f"turn must be an angle between 0 and pi (rad), got {describe(turn)}")
        found, best = [], 0.0
        for count, share in product(turns, TUCK_SHARES if self.tuck.any() else (0.0,)):
            bend, attitude, most = self._bend(turn, count, share)
            best = max(best, most)
            if bend is not None:
                found.append(self._manoeuvre(self.curve(bend, count, share), attitude))
        return min(found, key=manoeuvre_cost, default=None), best

    def _bend(self, turn: float, turns: float, tucked: float) -> tuple[float | None, np.ndarray, float]:
        """Smallest bend, see :func:`smallest_bend`."""

        def pose(bend: float) -> np.ndarray:
            return self.reconstruction.displacement(self.curve(bend, turns, tucked), tolerance=SEARCH_TOLERANCE).pose

        return smallest_bend(pose, self.reach, turn)

    def _manoeuvre(self, curve: RightingCurve, attitude: np.ndarray) -> Manoeuvre:
        moved = self.reconstruction.displacement(curve, tolerance=RESULT_TOLERANCE)
        jet = curve(np.linspace(0.0, 1.0, SAMPLES + 1))
        twists = -np.einsum("kmn,kn->km", self.reconstruction.connection(jet.q), jet.dq)
        forces = self._forces(jet.q, twists, jet.dq, jet.ddq)
        peak_forces, peak_rates = np.abs(forces).max(axis=0), np.abs(jet.dq).max(axis=0)
        quaternion = _same_hemisphere(_quaternion(moved.pose), attitude)
        axis = quaternion[:3] / np.linalg.norm(quaternion[:3])
        least = self._shortest(peak_forces, peak_rates)
        return Manoeuvre(curve, _angle(quaternion), moved.pose, least, peak_forces, axis)

    def _shortest(self, forces: np.ndarray, rates: np.ndarray) -> float:
        """Least time (s) within limits: rates scale with 1 / T, forces with 1 / T^2 (no gravity in free fall)."""
        limits = self.model.limits
        speed, effort = (np.array([getattr(x, what) for x in limits]) for what in ("velocity", "effort"))
        return float(max((rates / speed).max(), np.sqrt((forces / effort).max())))


def smallest_bend(
    pose: Callable[[float], np.ndarray], reach: float, turn: float
) -> tuple[float | None, np.ndarray, float]:
    """Smallest bend up to ``reach`` whose ``pose`` (4 x 4) is turned by ``turn`` (rad), attitude, and largest turn.

    The bend is None where there is none; the attitude is a quaternion near the result; the largest turn (rad) may
    exceed pi.
    """

    def rotation(bend: float) -> np.ndarray:
        return _quaternion(pose(bend))

    bends = np.linspace(0.0, reach, 15)
    attitudes = _continuous([rotation(bend) for bend in bends])
    angles = np.array([_angle(x) for x in attitudes])
    above = np.flatnonzero(angles >= turn)
    if not len(above):
        return None, attitudes[0], float(angles.max())
    i = int(above[0])

    def miss(bend: float) -> float:
        return _angle(_same_hemisphere(rotation(bend), attitudes[i])) - turn

    return root(miss, float(bends[i - 1]), float(bends[i]), 1e-9), attitudes[i], float(angles.max())


def manoeuvre_cost(manoeuvre: Manoeuvre) -> tuple[float, float]:
    """Sort key of manoeuvres: the shortest time, then the largest force."""
    return round(manoeuvre.shortest, 6), float(manoeuvre.unit_forces.max())


def fastest_bending(found: Sequence[Bending], turn: float, up: Vector_3 | None = None) -> tuple[Bending, Manoeuvre]:
    """Bending with the fastest manoeuvre for an angle, and that manoeuvre.

    Args:
        found: Bendings, as of :func:`bendings`.
        turn: Angle (rad).
        up: Vertical (3, base frame); the manoeuvre must turn over, not about the vertical; None: any axis.

    Returns:
        Bending and manoeuvre.

    Raises:
        ModelError: No bending turns the robot that far; the message gives the largest angle.

    Example:
        >>> fastest_bending([], 1.0)
        Traceback (most recent call last):
        fallingcat.errors.ModelError: found must be a list of bendings, as of bendings(model), got an empty list
    """
    if not isinstance(found, Sequence) or not found or not all(isinstance(bending, Bending) for bending in found):
        raise ModelError(f"found must be a list of bendings, as of bendings(model), got {describe(found)}")
    plans, most = [], 0.0
    for bending in found:
        planner = Planner(bending.model, bending.first, bending.second, bending.tuck)
        manoeuvre, largest = planner.search(turn)
        most = max(most, largest)
        if manoeuvre is not None:
            plans.append((bending, manoeuvre))
    if not plans:
        raise ModelError(
            f"{found[0].model.name!r} cannot turn by {np.degrees(turn):.0f} degrees: a bend that is carried around "
            f"within the limits of its joints turns it by {np.degrees(most):.0f} degrees at most"
        )
    over = [0.0 if up is None else tilt_angle(manoeuvre.pose, up) for _, manoeuvre in plans]
    rolling = [plan for plan, tilt in zip(plans, over, strict=True) if up is None or tilt >= MIN_TILT_SHARE * turn]
    if not rolling:
        raise ModelError(
            f"{found[0].model.name!r} cannot turn over by {np.degrees(turn):.0f} degrees: bends that are carried "
            f"around turn it about axes near the vertical, and so tilt it by {np.degrees(max(over)):.0f} at most"
        )
    return min(rolling, key=lambda plan: manoeuvre_cost(plan[1]))


def tilt_angle(pose: np.ndarray, up: np.ndarray) -> float:
    """Angle (rad) between ``up`` (3) and its image under a rotation (of a 4 x 4 pose).

    Example:
        >>> float(np.degrees(tilt_angle(np.diag([1.0, -1.0, -1.0, 1.0]), np.array([0.0, 0.0, 1.0]))))
        180.0
    """
    return float(np.arccos(np.clip(up @ pose[:3, :3] @ up, -1.0, 1.0)))


def root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Zero of ``function`` between two arguments at which its signs differ: secants that bisect when slow.

    Example:
        >>> round(root(lambda x: x * x - 2.0, 0.0, 2.0, 1e-12), 10)
        1.4142135624
    """
    f_low, f_high = function(low), function(high)
    if f_low * f_high > 0.0:
        raise ModelError(f"the function has the same sign at {low:g} and {high:g}")
    for step in range(100):
        if abs(high - low) <= tolerance or f_high == 0.0:
            break
        middle = high - f_high * (high - low) / (f_high - f_low) if step % 3 else 0.5 * (low + high)
        value = function(middle)
        if value * f_high <= 0.0:
            low, f_low = high, f_high
        else:
            f_low *= 0.5  # Illinois: the end that stays counts for less each time
        high, f_high = middle, value
        if abs(value) <= tolerance:
            break
    return high


def followed_turn(path: np.ndarray) -> np.ndarray:
    """Rotation vector (3, rad) at the end of a path of poses (N x 4 x 4), of an angle up to 360 degrees.

    Example:
        >>> angles = np.linspace(0.0, 4.0, 9)
        >>> path = np.array([rotations.exp(np.array([0.0, 0.0, a])) for a in angles])
        >>> followed_turn(path).round(12)
        array([0., 0., 4.])
    """
    last = _continuous([_quaternion(pose) for pose in path])[-1]
    return _angle(last) * last[:3] / max(float(np.linalg.norm(last[:3])), 1e-300)


def _quaternion(pose: np.ndarray) -> np.ndarray:
    return np.asarray(rotations.quaternion_from_matrix(pose[:3, :3]), dtype=float)


def _same_hemisphere(quaternion: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Quaternion of a rotation, of the two, that lies on the side of ``other``."""
    return quaternion if quaternion @ other >= 0.0 else -quaternion


def _continuous(quaternions: list[np.ndarray]) -> list[np.ndarray]:
    """Quaternions of rotations that grow from the identity, without jumps of sign: angles pass 180 degrees."""
    out = [_same_hemisphere(quaternions[0], np.array([0.0, 0.0, 0.0, 1.0]))]
    for x in quaternions[1:]:
        out.append(_same_hemisphere(x, out[-1]))
    return out


def _angle(quaternion: np.ndarray) -> float:
    """Angle in [0, 2 pi]."""
    return 2.0 * float(np.arctan2(np.linalg.norm(quaternion[:3]), quaternion[3]))
