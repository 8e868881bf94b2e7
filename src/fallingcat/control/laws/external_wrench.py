"""External wrenches on the robot: constant ones, and pushes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._deprecated import former_arguments
from ...arrays import array, clip, concatenate, cos, cross, less, scale, where
from ...arrays.types import Scalar, Vector, Vector_nv
from ...dynamics import jacobian, link_pose
from ...errors import ModelError
from ...model import Model, State
from .base import Law


@former_arguments(place="link")
@dataclass(frozen=True)
class ExternalWrench(Law):
    """Constant wrench on a link or frame along the world's axes, from ``start`` until ``end`` (s).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> wind = ExternalWrench("front", force=(3.0, 0.0, 0.0))
        >>> wind.forces(cat, 0.0, cat.neutral(), frozenset())[:6]
        array([3., 0., 0., 0., 0., 0.])
    """

    link: str
    """link or frame"""
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """N, along the world's axes"""
    torque: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """N m, along the world's axes"""
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """point of application, in the frame of ``link`` (m)"""
    start: float = 0.0
    """s"""
    end: float | None = None
    """s; None: it does not end"""
    name: str = "external wrench"
    commanded = False

    def check(self, model: Model) -> None:
        """Check that ``link`` is a link or frame."""
        model.frame(self.link)

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """``J' [force; torque]`` while the wrench acts, else zero."""
        acts = where(less(t, self.start), 0.0, 1.0)
        if self.end is not None:
            acts = acts * where(less(t, self.end), 1.0, 0.0)
        return scale(acts, _wrench(model, state, self.link, self.point, self.force, self.torque))


@former_arguments(place="link")
@dataclass(frozen=True)
class Push(Law):
    """Push on a link or frame: a force that rises and falls as ``1 - cos``, with the impulse ``force duration``.

    ``force`` is the mean; the peak is twice that.  The push is smooth, so that steps of any length that divides the
    duration twice or more produce exactly this impulse.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> cat = fc.Model(cat.name, cat.base, cat.links, cat.joints, gravity=[0, 0, 0])
        >>> run = fc.simulate(cat, cat.neutral(), 0.5, Push("front", (0.0, 20.0, 0.0), start=0.1, duration=0.2))
        >>> fc.momentum(cat, run.state(-1), "world")[:3].round(4) + 0.0  # 20 N for 0.2 s
        array([0., 4., 0.])
    """

    link: str
    """link or frame"""
    force: tuple[float, float, float]
    """mean (N), along the world's axes"""
    start: float = 0.0
    """s"""
    duration: float = 0.1
    """s"""
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """point of application, in the frame of ``link`` (m)"""
    name: str = "push"
    commanded = False

    def __post_init__(self) -> None:
        """Check the fields; the duration is positive."""
        super().__post_init__()
        if isinstance(self.duration, (int, float)) and not self.duration > 0.0:
            raise ModelError(f"duration of {self.name!r} must be positive (s), got {self.duration:g}")

    def check(self, model: Model) -> None:
        """Check that ``link`` is a link or frame."""
        model.frame(self.link)

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """``J' (1 - cos(2 pi (t - start) / duration)) force`` during the push, else zero."""
        share = clip((t - self.start) / self.duration, 0.0, 1.0)
        strength = 1.0 - cos(2.0 * np.pi * share)
        return scale(strength, _wrench(model, state, self.link, self.point, self.force, (0.0, 0.0, 0.0)))


def _wrench(model: Model, state: State, link: str, point: Vector, force: Vector, torque: Vector) -> Vector:
    """Generalised forces (nv) of a force at a point of a link or frame, and a torque, along the world's axes."""
    f, lever = array(list(force)), link_pose(model, state, link)[:3, :3] @ array(list(point))
    wrench = concatenate([f, array(list(torque)) + cross(lever, f)])
    return jacobian(model, state, link, "mixed").T @ wrench
