"""Planning: the bend, and how often to carry it around, that turn a falling robot by a wanted angle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...compiler import compile
from ...dynamics.checks import check_model, vector
from ...errors import ModelError, describe
from ...lie import rotations
from ...model import Model
from ...records import concise
from ..gaits.displacement import Reconstruction
from ..gaits.gait import Gait
from ..gaits.shape_forces import shape_forces
from .bending import REACH, Bending, direction
from .curve import RightingCurve

TURNS = (1.0, 1.2, 1.4, 1.6, 2.0, 2.5, 3.0)
"""How often the bend is carried around: candidates, from which the quickest is taken."""
TUCKS = (1.0, 0.7, 0.0)
"""Shares of the tuck that are tried: a small turn needs none, and is over sooner."""
COARSE, FINE = 1e-7, 1e-11
"""Tolerances of displacements while searching, and of the result."""
OVER = 0.9
"""The share of a turn by which up has to tilt: less is a turn about an axis too near the vertical."""
SAMPLES = 240


@concise
class Manoeuvre(NamedTuple):
    """A shape motion from rest to rest that turns the robot without angular momentum."""

    curve: RightingCurve
    turn: float
    """rad: the angle of the turn"""
    pose: np.ndarray
    """``4 x 4``: the base at the end, seen from the start"""
    shortest: float
    """s: the time it takes when a joint moves or pulls as hard as it can; 0 without limits"""
    unit_forces: np.ndarray
    """``n``: peak joint forces when it takes 1 s; ``duration^-2`` of them otherwise"""
    axis: np.ndarray
    """``3``: what it turns about, by the right-hand rule, in the base frame"""

    def gait(self, duration: float) -> Gait:
        """The manoeuvre within ``duration`` (s)."""
        return Gait(self.curve, duration, "constant")


class Planner:
    """Righting manoeuvres of one robot: compiled once, for many angles.

    ``first`` and ``second`` are the directions of joints that carry the bend: a joint's name, or shares of several
    joints (joint name: share, or n numbers).  ``tuck`` (joint name: rad) is taken up on the way and left again: legs
    along its body make a cat slimmer, and a smaller bend turns it.
    """

    def __init__(self, model: Model, first: Any, second: Any, tuck: Mapping[str, float] | None = None) -> None:
        check_model(model)
        self.model, self.origin = model, np.asarray(model.neutral().joints, dtype=float)
        self.first, self.second = (self._direction(x) for x in (first, second))
        if np.linalg.matrix_rank(np.stack([self.first, self.second])) < 2:
            raise ModelError(f"a bend is carried by two joints, not by {first!r} alone")
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
        """The bend at which the first joint meets its limit."""
        limits = self.model.limits
        room = np.array([min(x.upper, -x.lower) for x in limits])
        size = np.hypot(self.first, self.second)
        used = size > 0.0
        return float(min(REACH / size.max(), (room[used] / size[used]).min()))

    def curve(self, bend: float, turns: float, tucked: float = 1.0) -> RightingCurve:
        """The manoeuvre with a given bend, and a share of the tuck."""
        return RightingCurve(self.origin, self.first, self.second, bend, tucked * self.tuck, turns)

    def plan(self, turn: float = np.pi, turns: Iterable[float] = TURNS) -> Manoeuvre:
        """The quickest manoeuvre that turns by ``turn`` (rad, up to pi): the one that asks least of the joints."""
        found, most = self.search(turn, turns)
        if found is None:
            raise ModelError(
                f"{self.model.name!r} turns by {np.degrees(most):.0f} degrees at most when these joints bend by "
                f"{np.degrees(self.reach):.0f}: {np.degrees(turn):.0f} degrees are out of reach"
            )
        return found

    def search(self, turn: float, turns: Iterable[float] = TURNS) -> tuple[Manoeuvre | None, float]:
        """The quickest manoeuvre, if there is one, and the largest turn (rad) in reach."""
        if not isinstance(turn, (int, float, np.number)) or not 0.0 < turn <= np.pi:
            raise ModelError(f"a turn is an angle between 0 and 180 degrees (pi), not {describe(turn)}")
        found, best = [], 0.0
        for count, share in product(turns, TUCKS if self.tuck.any() else (0.0,)):
            bend, attitude, most = self._bend(turn, count, share)
            best = max(best, most)
            if bend is not None:
                found.append(self._manoeuvre(self.curve(bend, count, share), attitude))
        return min(found, key=ease, default=None), best

    def _bend(self, turn: float, turns: float, tucked: float) -> tuple[float | None, np.ndarray, float]:
        """See :func:`smallest_bend`."""

        def pose(bend: float) -> np.ndarray:
            return self.reconstruction.displacement(self.curve(bend, turns, tucked), tolerance=COARSE).pose

        return smallest_bend(pose, self.reach, turn)

    def _manoeuvre(self, curve: RightingCurve, attitude: np.ndarray) -> Manoeuvre:
        moved = self.reconstruction.displacement(curve, tolerance=FINE)
        jet = curve(np.linspace(0.0, 1.0, SAMPLES + 1))
        twists = -np.einsum("kmn,kn->km", self.reconstruction.connection(jet.q), jet.dq)
        forces = self._forces(jet.q, twists, jet.dq, jet.ddq)
        peak_forces, peak_rates = np.abs(forces).max(axis=0), np.abs(jet.dq).max(axis=0)
        quaternion = _near(_quaternion(moved.pose), attitude)
        axis = quaternion[:3] / np.linalg.norm(quaternion[:3])
        least = self._shortest(peak_forces, peak_rates)
        return Manoeuvre(curve, _angle(quaternion), moved.pose, least, peak_forces, axis)

    def _shortest(self, forces: np.ndarray, rates: np.ndarray) -> float:
        """Joints as hard as they can: rates go with 1 / T, forces with 1 / T^2 (gravity asks nothing in free fall)."""
        limits = self.model.limits
        speed, effort = (np.array([getattr(x, what) for x in limits]) for what in ("velocity", "effort"))
        return float(max((rates / speed).max(), np.sqrt((forces / effort).max())))


def smallest_bend(
    pose: Callable[[float], np.ndarray], reach: float, turn: float
) -> tuple[float | None, np.ndarray, float]:
    """The smallest bend up to ``reach`` whose ``pose`` (4 x 4) is turned by ``turn`` (rad), if there is one; about
    where to (a quaternion); and the largest turn in reach (rad, beyond pi where it goes on).
    """

    def rotation(bend: float) -> np.ndarray:
        return _quaternion(pose(bend))

    bends = np.linspace(0.0, reach, 15)
    attitudes = _followed([rotation(bend) for bend in bends])
    angles = np.array([_angle(x) for x in attitudes])
    above = np.flatnonzero(angles >= turn)
    if not len(above):
        return None, attitudes[0], float(angles.max())
    i = int(above[0])

    def miss(bend: float) -> float:
        return _angle(_near(rotation(bend), attitudes[i])) - turn

    return root(miss, float(bends[i - 1]), float(bends[i]), 1e-9), attitudes[i], float(angles.max())


def ease(manoeuvre: Manoeuvre) -> tuple[float, float]:
    """Smaller is better: the shortest time, then the largest force."""
    return round(manoeuvre.shortest, 6), float(manoeuvre.unit_forces.max())


def easiest(found: Sequence[Bending], turn: float, up: np.ndarray | None = None) -> tuple[Bending, Manoeuvre]:
    """The bending with the quickest manoeuvre that turns by ``turn`` (rad), and that manoeuvre.

    With ``up`` (3, base frame) it turns over: a turn about the vertical is none.
    """
    if not isinstance(found, Sequence) or not found or not all(isinstance(bending, Bending) for bending in found):
        raise ModelError(f"found is a list of bendings, as bendings(model) gives it, not {describe(found)}")
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
    over = [0.0 if up is None else tilted(manoeuvre.pose, up) for _, manoeuvre in plans]
    rolling = [plan for plan, tilt in zip(plans, over, strict=True) if up is None or tilt >= OVER * turn]
    if not rolling:
        raise ModelError(
            f"{found[0].model.name!r} cannot turn over by {np.degrees(turn):.0f} degrees: bends that are carried "
            f"around turn it about axes near the vertical, and so tilt it by {np.degrees(max(over)):.0f} at most"
        )
    return min(rolling, key=lambda plan: ease(plan[1]))


def tilted(pose: np.ndarray, up: np.ndarray) -> float:
    """rad: how far a rotation (of a 4 x 4 pose) takes ``up`` (3) from itself.

    >>> float(np.degrees(tilted(np.diag([1.0, -1.0, -1.0, 1.0]), np.array([0.0, 0.0, 1.0]))))
    180.0
    """
    return float(np.arccos(np.clip(up @ pose[:3, :3] @ up, -1.0, 1.0)))


def root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Where ``function`` is zero between two arguments at which its signs differ: secants that bisect when slow.

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


def _quaternion(pose: np.ndarray) -> np.ndarray:
    return np.asarray(rotations.quaternion_from_matrix(pose[:3, :3]), dtype=float)


def _near(quaternion: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The one of the two quaternions of a rotation that lies on the side of ``other``."""
    return quaternion if quaternion @ other >= 0.0 else -quaternion


def _followed(quaternions: list[np.ndarray]) -> list[np.ndarray]:
    """Quaternions of rotations that grow from the identity, without jumps of sign: angles pass 180 degrees."""
    out = [_near(quaternions[0], np.array([0.0, 0.0, 0.0, 1.0]))]
    for x in quaternions[1:]:
        out.append(_near(x, out[-1]))
    return out


def _angle(quaternion: np.ndarray) -> float:
    """In [0, 2 pi]."""
    return 2.0 * float(np.arctan2(np.linalg.norm(quaternion[:3]), quaternion[3]))
