"""Contact between links of a robot: springs and dampers between their shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import clip, concatenate, cross, is_numeric, less, maximum, scale, skew, sqrt, where
from ...arrays.types import Scalar, Vector_nv, Wrench
from ...dynamics import mass_matrix
from ...dynamics.sweeps import Places, accumulate_inward, nodes, propagate_outward
from ...errors import ModelError, describe
from ...geometry.collision_pairs import Couple, for_all, meetings, pushing_pairs
from ...geometry.distances import check_pairs
from ...geometry.signed_distance import Proximity
from ...lie import SE3
from ...model import Model, State
from ...records import concise
from .base import Law
from .carried_inertia import MAX_SAMPLED_RATES, RANDOM_SHAPES
from .passive_joints import STEP

MAX_PAIR_INERTIA = 1e6
"""Inertia of pairs that no motion separates, such as two shapes that hinges hold side by side (kg)."""


@concise
@dataclass(frozen=True)
class SelfContact(Law):
    """Compliant self-collision: springs and dampers between overlapping links.

    At a depth ``y``, ``F = k y + d dy/dt``, not below 0 (nothing pulls) and not above ``4 k y`` (so that it starts from
    0), along the normal, on both links at the same point.

    Shapes are the model's ``collisions`` (spheres, capsules, boxes; cylinders as :func:`.overlaps.thick` replaces
    them); :func:`fallingcat.contact.pushing_pairs` lists the pairs.  There is no friction.  Forces between links exert
    no
    wrench on the whole: momentum is conserved to rounding, and nothing acts on the base.

    By default ``k = m w^2`` with ``w = 1 / (4 max(step, 1 ms))``: as stiff as steps of ``step`` (s) resolve, with the
    least inertia ``m`` (kg) that the two links have against each other in a few configurations; and ``d = 2 sqrt(k m)``
    so that masses ``m`` leave with a fifth of their speed.  It only dissipates energy.

    Example:
        >>> import fallingcat as fc
        >>> ball, along = fc.model.shapes.Sphere(0.1), fc.joints.Prismatic((1.0, 0.0, 0.0))
        >>> links = [fc.Link(name, fc.Body(1.0), collisions=(ball,)) for name in ("post", "left", "right")]
        >>> joints = [fc.Joint(name, along, "post", name) for name in ("left", "right")]
        >>> sliders = fc.Model("sliders", fc.lie.Trivial(), links, joints, gravity=np.zeros(3))
        >>> touch = SelfContact(pairs=(("left", "right"),), stiffness=1e4, damping=0.0)
        >>> touch.forces(sliders, 0.0, sliders.state(joints=[1.0, 1.19]), frozenset()).round(9)  # overlap of 1 cm
        array([-100.,  100.])
    """

    pairs: tuple[tuple[str, str], ...] | None = None
    """names of links; None: see :func:`fallingcat.contact.pushing_pairs`"""
    stiffness: float | None = None
    """N/m"""
    damping: float | None = None
    """N s/m"""
    step: float = STEP
    """s"""
    name: str = "self-contact"
    commanded = False

    @property
    def nominal_inertia(self) -> bool:  # type: ignore[override]
        """True where the stiffness follows from the inertias of the nominal model."""
        return self.stiffness is None

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        if self.pairs is not None:
            check_pairs(self.pairs)
            object.__setattr__(self, "pairs", tuple(map(tuple, self.pairs)))
        for what, least in (("stiffness", "above"), ("damping", "not below"), ("step", "above")):
            value = getattr(self, what)
            if not _fits(value, zero=what == "damping") and (value is not None or what == "step"):
                raise ModelError(f"{what} of {self.name!r} must be a finite number {least} zero, got {describe(value)}")

    def check(self, model: Model) -> None:
        """Check that the robot has links that may collide."""
        found = pushing_pairs(model, self.pairs)
        if found.pairs:
            return
        why = ""
        if found.unknown:
            why = f": {found.unknown[0]!r} and others have meshes or ellipsoids alone"
        if found.overlapping:
            why = ": the shapes of {!r} and {!r} overlap where all joints are neutral".format(*found.overlapping[0])
        if found.excluded:
            why = ": its file excludes contact of {!r} and {!r}, and of others".format(*model.contact_exclusions[0])
        raise ModelError(f"no links of {model.name!r} can collide{why}; name links with suitable shapes in pairs")

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Joint forces of all pairs; the wrench on the base is zero."""
        at, pairs = _Links.at(model, state), self._pairs(model)
        given = [
            (*a.place_solid(at.poses), at.twists[a.link], *b.place_solid(at.poses), at.twists[b.link], k, d)
            for (a, b), k, d in zip(pairs, *self.impedances(model), strict=True)
        ]
        wrenches: list[Any] = [np.zeros(6) for _ in model.links]
        for (a, b), wrench in zip(pairs, for_all(pairs, _pair_wrench, given), strict=True):
            wrenches[a.link] = wrenches[a.link] - wrench
            wrenches[b.link] = wrenches[b.link] + wrench
        carried = accumulate_inward(at.tree, wrenches, lambda node, wrench: wrench)
        on_joints = [X.T @ W for X, W in zip(at.axes, carried[1:], strict=True)]
        return Places.from_model(model).vector([np.zeros(model.m), *on_joints])  # on the base they add up to nothing

    def energy(self, model: Model, state: State) -> Scalar:
        """Energy of the contact springs, the sum of ``k y^2 / 2``.

        Args:
            model: Robot.
            state: Configuration; velocities are not used.

        Returns:
            Energy (J).
        """
        total: Any = 0.0
        pairs, (stiff, _) = self._pairs(model), self.impedances(model)
        for met, k in zip(meetings(pairs, _Links.at(model, state).poses), stiff, strict=True):
            depth = _depth(met.distance)
            total = total + 0.5 * k * depth * depth
        return total

    def stored_energy(self, model: Model, state: State) -> float:
        """:meth:`energy` as a float (J)."""
        return float(self.energy(model, state))

    def fastest_rate(self, model: Model) -> float:
        """Largest of ``sqrt(k / m)`` and ``d / m`` (1/s) of all pairs."""
        triples = zip(*self.impedances(model), pair_inertias(model.nominal, self.pairs), strict=True)
        return max((float(max(np.sqrt(k / m), d / m)) for k, d, m in triples), default=0.0)

    def impedances(self, model: Model) -> tuple[list[Scalar], list[Scalar]]:
        """Stiffness and damping of the pairs.

        Args:
            model: Robot.

        Returns:
            ``k`` (N/m) and ``d`` (N s/m), one for each pair.
        """
        inertias, w = pair_inertias(model.nominal, self.pairs), 0.25 / maximum(self.step, STEP)
        k = [w * w * m if self.stiffness is None else self.stiffness for m in inertias]
        d = [2.0 * sqrt(x * m) if self.damping is None else self.damping for x, m in zip(k, inertias, strict=True)]
        return k, d

    def _pairs(self, model: Model) -> tuple[Couple, ...]:
        return pushing_pairs(model.nominal, self.pairs).pairs


class _Links(NamedTuple):
    """Kinematics of the links relative to the base; contact between links does not depend on its motion."""

    tree: Any
    poses: list[Any]
    axes: list[Any]
    """``6 x nv`` of each joint: its motion, in the base frame"""
    twists: list[Any]

    @classmethod
    def at(cls, model: Model, state: State) -> _Links:
        tree = nodes(model, state)
        poses = propagate_outward(tree, np.eye(4), lambda node, H: H @ node.H)
        axes = [SE3().Ad(poses[node.link]) @ node.S for node in tree]
        twists = propagate_outward(tree, np.zeros(6), lambda node, nu: nu + axes[node.link - 1] @ node.rates)
        return cls(tree, poses, axes, twists)


def _depth(distance: Scalar) -> Scalar:
    return where(less(distance, 0.0), -distance, 0.0)


def _pair_wrench(kind: Callable[..., Proximity], *given: Any) -> Wrench:
    """Wrench (6) on the second of two shapes; its opposite acts on the first."""
    *first, nu_a, H_b, half_b, r_b, nu_b, k, d = given
    met, apart = kind(*first, H_b, half_b, r_b), nu_b - nu_a
    spring = k * _depth(met.distance)
    force = spring - d * (met.normal @ (apart[:3] + cross(apart[3:], met.point)))
    f = scale(clip(force, 0.0, 4.0 * spring), met.normal)
    return concatenate([f, cross(met.point, f)])


@lru_cache(maxsize=16)
def pair_inertias(model: Model, pairs: tuple[tuple[str, str], ...] | None) -> tuple[float, ...]:
    """Effective inertia (kg) ``1 / (J M^-1 J')`` of each pair of shapes against separation.

    Along the normal where they are nearest, or at their centers in the direction in which it is least: the least of
    these in the neutral and a few random configurations.
    """
    rng, found = np.random.default_rng(0), pushing_pairs(model, pairs).pairs
    states = [
        model.neutral(),
        *(model.random_state(rng) for _ in range(RANDOM_SHAPES if model.n <= MAX_SAMPLED_RATES else 0)),
    ]
    return tuple(
        np.min([_inertias(model, state, found) for state in states], axis=0, initial=MAX_PAIR_INERTIA).tolist()
    )


def _inertias(model: Model, state: State, pairs: Sequence[Couple]) -> list[float]:
    at, places = _Links.at(model, state), Places.from_model(model)
    columns = np.cumsum([model.m, *(X.shape[1] for X in at.axes)])
    own = [X @ places.rate_selection[i:j] for X, i, j in zip(at.axes, columns, columns[1:], strict=False)]
    motions = propagate_outward(at.tree, np.zeros((6, model.nv)), lambda node, J: J + own[node.link - 1])
    gives, found = np.linalg.inv(np.asarray(mass_matrix(model, state), dtype=float)), []
    for (a, b), met in zip(pairs, meetings(pairs, at.poses), strict=True):
        first, second = (_point_jacobian(motions[side.link], side.place_solid(at.poses)[0][:3, 3]) for side in (a, b))
        along = met.normal @ (_point_jacobian(motions[b.link], met.point) - _point_jacobian(motions[a.link], met.point))
        free = np.linalg.eigvalsh((second - first) @ gives @ (second - first).T).max()
        found.append(1.0 / max(float(along @ gives @ along), float(free), 1.0 / MAX_PAIR_INERTIA))
    return found


def _point_jacobian(motion: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Jacobian (3 x nv) of a point (3) of a link."""
    return np.asarray(motion[:3] - skew(point) @ motion[3:])


def _fits(x: Any, zero: bool) -> bool:
    """True for a finite positive number, or ``zero``; one of a compiled step is not checked."""
    if not is_numeric(x) or isinstance(x, (bool, np.ndarray)):
        return not (isinstance(x, (bool, str, bytes, list, tuple, dict, np.ndarray)) or callable(x))
    return bool(0.0 < x < np.inf or (zero and x == 0.0))
