"""Report on one robot: masses, certificates, couplings of joints with the base, and gaits that turn it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ...arrays.types import Float_3_3
from ...caching import cached_property
from ...dynamics import center_of_mass, link_pose
from ...dynamics.checks import check_model
from ...errors import FallingCatError, ModelError, NumericsError, describe
from ...formulations import Certificate, connection, integrability
from ...formulations.survey import survey as certificates
from ...model import Model, State
from ...planning.gaits.survey import Survey
from ...planning.gaits.survey import survey as two_joints
from ...records import concise
from ..kind import Progress

if TYPE_CHECKING:
    from ...visualization import Page

SHAPES: Final = 12
"""Shapes over which couplings are averaged."""
SHAPE_DEVIATION: Final = 0.5
"""rad or m: how far those are from neutral, at most"""
REACH: Final = float(np.radians(45.0))
"""Amplitude of gaits (rad or m), where limits leave that much."""
GAITS: Final = 4
"""Pairs of joints, none in two of them, that are looked at."""


class Coupling(NamedTuple):
    """Coupling of one degree of freedom with the free-floating base: means over shapes around neutral."""

    name: str
    turn: float
    """size of the angular part of the connection's column: rad per rad, or rad per m"""
    travel: float
    """size of the linear part, at the base: m per rad, or m per m"""


class GaitResult(NamedTuple):
    """Gait of a pair of joints, or the reason why there is none."""

    joints: tuple[str, str]
    survey: Survey | None
    reason: str = ""

    @property
    def turn(self) -> float:
        """Rotation of the best circle, per cycle (rad)."""
        return float(np.linalg.norm(self.survey.circle.exact[3:])) if self.survey else float("nan")

    @property
    def travel(self) -> float:
        """Displacement of the base at the best circle, per cycle (m)."""
        return float(np.linalg.norm(self.survey.circle.exact[:3])) if self.survey else float("nan")


@concise
@dataclass(frozen=True, eq=False)
class RobotReport:
    """Report on a robot; :meth:`page` writes it as a page.

    Example:
        >>> import fallingcat as fc
        >>> found = RobotReport(fc.robots.cat(), (), 0, (), None, (), 0.0)
        >>> found.passed, found.data()["claims"]
        (True, {'proved': 0, 'total': 0})
    """

    model: Model
    certificates: tuple[Certificate, ...]
    states: int
    """random states at which the equations were held to what they claim"""
    couplings: tuple[Coupling, ...]
    """coupling of each degree of freedom, in order; none on a fixed base, and where the locked robot has no inertia"""
    curvature: float | None
    """largest entry, relative to the connection's size squared; None on a fixed base"""
    gaits: tuple[GaitResult, ...]
    """the most effective first"""
    seconds: float

    @property
    def passed(self) -> bool:
        """True if all claims of the equations hold."""
        return all(certificate.passed for certificate in self.certificates)

    @cached_property
    def neutral(self) -> State:
        """Neutral state, which is shown."""
        return neutral(self.model)

    @cached_property
    def center(self) -> np.ndarray:
        """Center of mass at neutral, seen from the base (m)."""
        return np.asarray(center_of_mass(self.model, self.neutral), dtype=float)

    @cached_property
    def inertia(self) -> Float_3_3:
        """``3 x 3``: about the center of mass at neutral, along the axes of the base (kg m^2)."""
        return centroidal_inertia(self.model, self.neutral)

    def data(self) -> dict[str, Any]:
        """Report as ``--json`` prints it.

        Returns:
            Values by name.
        """
        claims = [check for certificate in self.certificates for check in certificate.claims]
        return {
            "name": self.model.name,
            "mass": self.model.mass,
            "links": len(self.model.links),
            "degrees_of_freedom": self.model.n,
            "base": str(self.model.base),
            "claims": {"proved": sum(check.holds for check in claims), "total": len(claims)},
            "center_of_mass": self.center.tolist(),
            "centroidal_inertia": self.inertia.tolist(),
            "curvature": self.curvature,
            "couplings": [coupling._asdict() for coupling in self.couplings],
            "gaits": [
                {"joints": list(gait.joints), "turn": gait.turn, "travel": gait.travel}
                for gait in self.gaits
                if gait.survey is not None
            ],
            "seconds": self.seconds,
        }

    def page(self) -> Page:
        """Page of the report.

        Returns:
            Page.
        """
        from .page import robot_page

        return robot_page(self)


def report(model: Model, states: int = 2, seed: int = 0, progress: Progress | None = None) -> RobotReport:
    """Check and describe a robot.

    Args:
        model: Robot.
        states: Number of random states at which its equations of motion are certified.
        seed: Seed of these states.
        progress: Called with what is done and its share (0 to 1).

    Returns:
        Certificates, couplings, workspace and notes; :meth:`RobotReport.page` writes them as a page.

    Example:
        >>> from fallingcat.model import robots
        >>> found = report(robots.revolute_hopper(), states=1)
        >>> found.passed, [coupling.name for coupling in found.couplings]
        (True, ['knee'])
    """
    check_model(model)
    if isinstance(states, bool) or not isinstance(states, int) or states < 1:
        raise ModelError(f"states are a whole number above zero, not {describe(states)}")
    progress = progress or (lambda what, share: None)
    began = time.perf_counter()
    progress("proving", 0.0)
    proofs = certificates(model, states, seed)
    progress("coupling", 0.5)
    shapes = (
        _states_with_inertia(model, shapes_around(model, np.random.default_rng(seed))) if model.m and model.n else []
    )
    couplings, curvature, pairs = _couplings(model, shapes) if shapes else ((), None, [])
    gaits = []
    for k, pair in enumerate(pairs):
        progress("gaits", 0.55 + 0.45 * k / len(pairs))
        gaits.append(_gait(model, pair))
    order = sorted(gaits, key=lambda gait: (gait.survey is None, -gait.turn, -gait.travel))
    return RobotReport(
        model, tuple(proofs), states, tuple(couplings), curvature, tuple(order), time.perf_counter() - began
    )


def neutral(model: Model) -> State:
    """The neutral shape, or the shape next to it that is within limits."""
    state, (low, high) = model.neutral(), _limits(model)
    whole = len(low) == len(np.asarray(state.joints))
    return state._replace(joints=np.clip(state.joints, low, high)) if whole else state


def shapes_around(model: Model, rng: np.random.Generator) -> list[State]:
    """Neutral, and shapes around it, within limits."""
    first = neutral(model)
    low, high = _limits(model)
    out = [first]
    for _ in range(SHAPES - 1):
        moved = model.configuration.displace(
            first, np.concatenate([np.zeros(model.m), rng.uniform(-SHAPE_DEVIATION, SHAPE_DEVIATION, size=model.n)])
        )
        whole = len(low) == len(np.asarray(moved.joints))
        out.append(moved._replace(joints=np.clip(moved.joints, low, high)) if whole else moved)
    return out


def _states_with_inertia(model: Model, shapes: Sequence[State]) -> list[State]:
    """States at which the locked robot has an inertia about every axis, so that momentum gives its velocity."""
    out = []
    for state in shapes:
        with contextlib.suppress(NumericsError):
            connection(model, state)
            out.append(state)
    return out


def _limits(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of all joint coordinates, where each joint has one."""
    low, high = (np.array([getattr(x, side) for x in model.limits], dtype=float) for side in ("lower", "upper"))
    return low, high


def _couplings(model: Model, shapes: Sequence[State]) -> tuple[list[Coupling], float, list[tuple[str, str]]]:
    """Couplings, the largest curvature, and pairs of joints by how much a small gait of theirs turns, or carries."""
    S = model.base.selection
    A = [np.asarray(S @ connection(model, state)) for state in shapes]
    turns, travels = (np.mean([np.linalg.norm(a[part], axis=0) for a in A], axis=0) for part in (slice(3, 6), slice(3)))
    couplings = [
        Coupling(name, float(turn), float(travel))
        for name, turn, travel in zip(rate_names(model), turns, travels, strict=True)
    ]
    found = [integrability(model, state) for state in shapes]
    F = np.array([np.einsum("am,mij->aij", S, each.curvature) for each in found])
    sizes = [np.linalg.norm(F[:, part], axis=1).mean(axis=0) for part in (slice(3, 6), slice(3))]
    return (
        couplings,
        max(each.residual for each in found),
        _pairs(model, sizes[0] if sizes[0].max() > 1e-9 else sizes[1]),
    )


def rate_names(model: Model) -> list[str]:
    """Names of the degrees of freedom: the joint's name, numbered where it has several."""
    joints = list(model.rate_joints)
    count = {name: joints.count(name) for name in joints}
    seen: dict[str, int] = {}
    out = []
    for name in joints:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if count[name] == 1 else f"{name} {seen[name]}")
    return out


def _pairs(model: Model, sizes: np.ndarray) -> list[tuple[str, str]]:
    """The most effective pairs of joints of one degree of freedom each, none in two pairs."""
    joints = list(model.rate_joints)
    single = np.array([joints.count(name) == 1 for name in joints])
    left = np.triu(sizes * np.outer(single, single), 1)
    out: list[tuple[str, str]] = []
    while len(out) < GAITS and left.size and left.max() > 1e-9:
        i, j = (int(k) for k in np.unravel_index(int(left.argmax()), left.shape))
        out.append((joints[i], joints[j]))
        left[[i, j]] = left[:, [i, j]] = 0.0
    return out


def _gait(model: Model, pair: tuple[str, str]) -> GaitResult:
    try:
        return GaitResult(pair, two_joints(model, pair, REACH, best=False))
    except FallingCatError as error:
        return GaitResult(pair, None, str(error))


def centroidal_inertia(model: Model, state: State) -> np.ndarray:
    """``3 x 3``: about the center of mass, along the axes of the base (kg m^2); of all links, on any base.

    >>> from fallingcat.model import robots
    >>> cat = robots.cat()
    >>> bool((np.linalg.eigvalsh(centroidal_inertia(cat, cat.neutral())) > 0.0).all())
    True
    """
    total, center = np.zeros((3, 3)), np.asarray(center_of_mass(model, state), dtype=float)
    for link in model.links:
        H = np.asarray(link_pose(model, state, link.name), dtype=float)
        body, R = link.body, H[:3, :3]
        arm = H[:3, 3] + R @ body.center - center
        total += R @ body.inertia @ R.T + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return total
