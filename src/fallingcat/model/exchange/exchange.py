"""Flat states of one robot as another library writes them, there and back, for any number of states at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..._deprecated import former_name
from ...arrays.types import FloatArray, Floats_nq, Floats_nv, Matrix, Vector, Vectors_nq, Vectors_nv
from ...errors import ModelError, describe
from ...lie import Group
from ...records import concise
from ..body import Frozen
from ..joint import Mimic
from ..states import QUATERNION_TOLERANCE

if TYPE_CHECKING:
    from ..model import Model

FOLLOWER_TOLERANCE: Final = 1e-2
"""rad or m (or of a cosine): how far a follower may be from where its leader has it, as soft constraints leave it."""

MIN_LENGTH: Final = 1e-10
"""Length of a quaternion below which its direction is rounding; MuJoCo takes such for the identity."""


@dataclass(frozen=True)
class Writing:
    """Order in which a library writes one joint, or the base, in words of ours."""

    q: tuple[str, ...]
    """Names of our coordinates in their order; ``cos`` and ``sin`` for an ``angle`` of ours."""
    v: tuple[int, ...]
    """For each of their velocities the place of ours."""
    outside: tuple[int, ...] = ()
    """Starts of vectors in their ``v`` that they write along the parent's axes (ours are all body-fixed)."""

    def fits(self, group: Group) -> bool:
        """True if these are the coordinates of the group."""
        named = {"angle" if word in ("cos", "sin") else word for word in self.q}
        return named == set(group.coordinate_names) and len(self.v) == group.dim


@dataclass(frozen=True)
class Spot:
    """First places of the coordinates and velocities of a joint in their vectors, and their order."""

    q: int
    """first place in their coordinates"""
    v: int
    """first place in their velocities"""
    writing: Writing
    """order of the entries"""


class Follower(NamedTuple):
    """Joint that follows another here and has a coordinate of its own there."""

    name: str
    q: slice
    """Place in their coordinates."""
    v: int
    mimic: Mimic


@concise
@dataclass(frozen=True, eq=False)
class Exchange(Frozen):
    """States of ``model`` in the order and the conventions of another library.

    Flat vectors of ours are those of :meth:`Model.flatten <fallingcat.Model.flatten>` and of compiled functions.  Both
    ways take any leading batch shape and leave the giver's arrays alone.  Joints that follow others here may have
    coordinates there: they get those of their leaders, and on the way back are looked at, and dropped.

    Example:
        >>> import numpy as np
        >>> from fallingcat.model import exchange, robots
        >>> dog = robots.quadruped()
        >>> theirs = exchange.mujoco(dog)
        >>> q, v = np.tile(dog.flatten(dog.neutral())[0], (1000, 1)), np.ones((1000, dog.nv))
        >>> qpos, qvel = theirs.to(q, v)
        >>> qpos[0, 3:7]                                            # wxyz
        array([1., 0., 0., 0.])
        >>> bool(np.array_equal(theirs.from_(qpos, qvel)[0], q))
        True
    """

    model: Model
    """robot"""
    library: str
    """name of the other library"""
    q_order: np.ndarray
    """For each of their coordinates the place of ours."""
    v_order: np.ndarray
    """For each of their velocities the place of ours: where nothing turns (Pinocchio, ROS), their mass matrix is
    ``M[np.ix_(v_order, v_order)]`` and their Jacobians are ``J[:, v_order]``, unless :attr:`followers` move there."""
    cosines: np.ndarray
    """Places in their ``q`` of the pairs ``cos, sin``."""
    outside: tuple[tuple[int, int], ...]
    """``(place of a quaternion in our q, place of a vector in their v)``: vectors along the parent's axes."""
    quaternions: np.ndarray
    """Places in our ``q`` where a quaternion ``xyzw`` begins."""
    followers: tuple[Follower, ...] = ()
    """joints that follow others here and have coordinates there"""
    normalizes: bool = False
    """True if the library normalizes quaternions of any length itself (MuJoCo)"""

    def to(self, q: Vectors_nq, v: Vectors_nv | None = None) -> tuple[FloatArray, FloatArray]:
        """Convert to the other library: their ``q`` and ``v``, of ours.

        Args:
            q: Our flat coordinates, (..., nq).
            v: Our velocities, (..., nv); None: zero.

        Returns:
            Their coordinates (..., their nq) and velocities (..., their nv).
        """
        q, v = self._pair(q, v, self.model.nq, self.model.nv)
        theirs, rates = q[..., self.q_order], v[..., self.v_order]
        for f in self.followers:
            theirs[..., f.q] = f.mimic.ratio * theirs[..., f.q] + f.mimic.offset
            rates[..., f.v] *= f.mimic.ratio
        angles = theirs[..., self.cosines]
        theirs[..., self.cosines], theirs[..., self.cosines + 1] = np.cos(angles), np.sin(angles)
        units = {int(at): self._unit(q[..., at : at + 4]) for at in self.quaternions}
        for at, start in self.outside:
            rates[..., start : start + 3] = _rotate(units[at], rates[..., start : start + 3])
        return theirs, rates

    def from_(self, q: Vector, v: Vector | None = None) -> tuple[Floats_nq, Floats_nv]:
        """Convert from the other library: our ``q`` and ``v``, of theirs.

        Quaternions, cosines and sines are brought to length 1.  What misses it by more than 0.01 is refused, as by
        :meth:`to`: it is no rounding, but another number.  Where the library :attr:`normalizes` quaternions, only those
        shorter than 1e-10 are.

        Args:
            q: Their coordinates, (..., their nq).
            v: Their velocities, (..., their nv); None: zero.

        Returns:
            Our flat coordinates (..., nq) and velocities (..., nv).
        """
        q, rates = self._pair(q, v, len(self.q_order), len(self.v_order))
        ours, out = np.empty((*q.shape[:-1], self.model.nq)), np.empty((*q.shape[:-1], self.model.nv))
        wheels = self._unit(np.stack([q[..., self.cosines], q[..., self.cosines + 1]], axis=-1), "cosine and sine")
        angles = q.copy()
        angles[..., self.cosines] = np.arctan2(wheels[..., 1], wheels[..., 0])
        own = self._independent_entries(len(self.q_order), [f.q for f in self.followers])
        own[self.cosines + 1] = False  # sines are in the angles
        ours[..., self.q_order[own]] = angles[..., own]
        for at in self.quaternions:
            ours[..., at : at + 4] = self._unit(self._scaled(ours[..., at : at + 4]))
        for at, start in self.outside:
            inverse = ours[..., at : at + 4] * (-1.0, -1.0, -1.0, 1.0)
            rates[..., start : start + 3] = _rotate(inverse, rates[..., start : start + 3])
        own = self._independent_entries(len(self.v_order), [f.v for f in self.followers])
        out[..., self.v_order[own]] = rates[..., own]
        if self.followers:
            self._check_followers(q, self.to(ours)[0])
        return ours, out

    def there(self, q: Vectors_nq, v: Vectors_nv | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Former name of :meth:`to`.

        Args:
            q: Our flat coordinates, (..., nq).
            v: Our velocities, (..., nv); None: zero.

        Returns:
            Their coordinates and velocities.
        """
        former_name("Exchange.there", "Exchange.to")
        return self.to(q, v)

    def back(self, q: Vector, v: Vector | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Former name of :meth:`from_`.

        Args:
            q: Their coordinates, (..., their nq).
            v: Their velocities, (..., their nv); None: zero.

        Returns:
            Our flat coordinates and velocities.
        """
        former_name("Exchange.back", "Exchange.from_")
        return self.from_(q, v)

    @staticmethod
    def _independent_entries(size: int, followers: Sequence[slice | int]) -> np.ndarray:
        """Mask of their entries that are no follower's."""
        own = np.ones(size, dtype=bool)
        for at in followers:
            own[at] = False
        return own

    def _check_followers(self, given: np.ndarray, wanted: np.ndarray) -> None:
        """Raise an error where a follower is not where its leader has it: that is another motion, and would be lost."""
        for name, at, _, mimic in self.followers:
            off = float(np.abs(given[..., at] - wanted[..., at]).max(initial=0.0))
            if off > FOLLOWER_TOLERANCE:
                follows = f"joint {name!r}, which follows {mimic.leader!r},"
                raise ModelError(f"q ({self.library}): {follows} is {off:.3g} away from it")

    def velocity_map(self, q: Vectors_nq) -> Matrix:
        """Matrix ``T`` with ``v_theirs = T v_ours``.

        Our mass matrix is ``T' M T`` of theirs, and theirs ``T^-T M T^-1`` of ours where all have the same joints.

        Args:
            q: Our flat coordinates, (..., nq).

        Returns:
            (..., their nv, nv).
        """
        q, _ = self._pair(q, None, self.model.nq, self.model.nv)
        units = np.broadcast_to(np.eye(self.model.nv), (*q.shape[:-1], self.model.nv, self.model.nv))
        return np.swapaxes(self.to(np.repeat(q[..., None, :], self.model.nv, axis=-2), units)[1], -1, -2)

    def _pair(self, q: Any, v: Any, nq: int, nv: int) -> tuple[np.ndarray, np.ndarray]:
        """Copies of both as floats, of one batch shape."""
        try:
            q = np.array(q, dtype=float)
            v = np.zeros((*q.shape[:-1], nv)) if v is None else np.array(v, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(
                f"q and v ({self.library}) are arrays of numbers, not {describe(q)}, {describe(v)}"
            ) from None
        if q.shape[-1:] != (nq,) or v.shape != (*q.shape[:-1], nv):
            wanted = f"(..., {nq}) and (..., {nv})"
            raise ModelError(
                f"q and v ({self.library}) of {self.model.name!r} must have shapes {wanted}, got {q.shape}, {v.shape}"
            )
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise ModelError(f"q or v ({self.library}) of {self.model.name!r} holds a number that is not finite")
        return q, v

    def _scaled(self, quaternions: np.ndarray) -> np.ndarray:
        """Quaternions as the library takes them: of length 1 where it normalizes those that have a direction."""
        length = np.linalg.norm(quaternions, axis=-1, keepdims=True)
        return quaternions / np.where(length > MIN_LENGTH, length, 1.0) if self.normalizes else quaternions

    def _unit(self, x: np.ndarray, what: str = "a quaternion") -> np.ndarray:
        length = np.linalg.norm(x, axis=-1, keepdims=True)
        if not (np.abs(length - 1.0) <= QUATERNION_TOLERANCE).all():
            worst = float(length.flat[np.abs(length - 1.0).argmax()])
            raise ModelError(f"q ({self.library}): {what} of length {worst:.6g}, not 1")
        return np.asarray(x / length)


def exchange(
    model: Model, library: str, base: Spot | None, joints: Mapping[str, Spot], normalizes: bool = False
) -> Exchange:
    """Exchange with a library that writes the base and every joint, by name, at the given places."""
    parts = _parts(model, library, base, joints)
    q_order = np.full(sum(len(part.place.writing.q) for part in parts), -1)
    v_order = np.full(sum(part.group.dim for part in parts), -1)
    cosines, outside, quaternions = [], [], []
    for _, group, place, q, v in parts:
        names = list(group.coordinate_names)
        for i, word in enumerate(place.writing.q):
            alike = place.writing.q == group.coordinate_names  # two angles of one name too
            ours = i if alike else names.index("angle" if word in ("cos", "sin") else word)
            _set_entry(q_order, place.q + i, q + ours, library)
        for i, k in enumerate(place.writing.v):
            _set_entry(v_order, place.v + i, v + k, library)
        cosines += [place.q + i for i, word in enumerate(place.writing.q) if word == "cos"]
        quaternions += [q + names.index("qx")] if "qx" in names else []
        outside += [(q + names.index("qx"), place.v + i) for i in place.writing.outside]
    places = (np.array(cosines, int), tuple(outside), np.array(quaternions, int))
    return Exchange(model, library, q_order, v_order, *places, _followers(model, joints), normalizes)


class _Part(NamedTuple):
    """Base or joint: its group, its place in their vectors, and where it begins in ours."""

    what: str
    group: Group
    place: Spot
    q: int
    v: int


def _parts(model: Model, library: str, base: Spot | None, joints: Mapping[str, Spot]) -> list[_Part]:
    """Base and joints that the library moves; an error for those that it lacks or writes as something else."""
    found: list[tuple[str, Group, Spot | None, int, int]] = []
    if model.base.nq:
        found.append(("the base", model.base, base, 0, 0))
    for joint, qs, vs in zip(model.joints, model.q_slices, model.v_slices, strict=True):
        place = joints.get(joint.name)
        if joint.nv or (joint.mimic and place):
            q, v = model.base.nq + qs.start, model.m + vs.start
            found.append((f"joint {joint.name!r}", joint.kind.group, place, q, v))
    parts = []
    for what, group, place, q, v in found:
        if place is None:
            raise ModelError(f"{library} has no {what} of {model.name!r}")
        if not place.writing.fits(group):
            raise ModelError(f"{library} writes {what} as {' '.join(place.writing.q)}, which is no point of {group}")
        parts.append(_Part(what, group, place, q, v))
    return parts


def _followers(model: Model, joints: Mapping[str, Spot]) -> tuple[Follower, ...]:
    """Mimic joints that have coordinates of their own in the library."""
    found = [(joint, joints[joint.name]) for joint in model.joints if joint.mimic and joints.get(joint.name)]
    return tuple(
        Follower(joint.name, slice(place.q, place.q + len(place.writing.q)), place.v, joint.mimic)
        for joint, place in found
        if joint.mimic is not None
    )


def _set_entry(order: np.ndarray, at: int, ours: int, library: str) -> None:
    """Their entry ``at`` is ours at ``ours``; every entry has one meaning."""
    if not 0 <= at < len(order) or order[at] >= 0:
        raise ModelError(f"{library} moves more than this model: both have the same joints")
    order[at] = ours


def _rotate(quaternion: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``R x`` for unit quaternions ``xyzw``: ``x + 2 w (u x x) + 2 u x (u x x)``."""
    u, w = quaternion[..., :3], quaternion[..., 3:]
    across = 2.0 * np.cross(u, x)
    return np.asarray(x + w * across + np.cross(u, across))
