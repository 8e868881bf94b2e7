"""Actuators: the drives of joints, tendons and sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from ..arrays import clip
from ..arrays.types import Scalar
from ..errors import ModelError, describe
from ..records import concise
from .activation import Activation
from .muscle import Muscle
from .transmissions import Transmission

ActuatorKind = Literal["motor", "position", "velocity", "general", "muscle"]
KINDS: tuple[str, ...] = get_args(ActuatorKind)
_ALL = (-np.inf, np.inf)


@concise
@dataclass(frozen=True)
class Actuator:
    """Drive of a joint with one degree of freedom, or of what its ``transmission`` says: a tendon, a site.

    With ``x = gear q``, where ``q`` is the coordinate of the joint or the length of the transmission, it pulls on ``x``
    by ``control`` (``motor``), ``kp (control - x) - kv dx/dt`` (``position``), ``kv (control - dx/dt)`` (``velocity``)
    or ``gain control + bias . (1, x, dx/dt)`` (``general``), within ``force_range``, and so ``gear`` times this on the
    joint.  ``control`` is taken within ``control_range``; with an ``activation``, it drives that, which takes its
    place.  As in MuJoCo. It acts where a law commands it, such as :class:`fallingcat.control.Actuators`; else it is
    off.

    Example:
        >>> Actuator("knee_motor", "knee", gear=50.0, force_range=(-2.0, 2.0)).effort(3.0, 0.0, 0.0)
        np.float64(100.0)
    """

    name: str
    """name of the drive"""
    joint: str
    """that it drives; empty where a ``transmission`` says what"""
    kind: ActuatorKind = "motor"
    """``motor``, ``position``, ``velocity``, ``general`` or ``muscle``"""
    gear: float = 1.0
    """``x = gear q``"""
    kp: float = 0.0
    """stiffness along ``x``"""
    kv: float = 0.0
    """damping along ``x``"""
    control_range: tuple[float, float] = _ALL
    """lowest and highest control"""
    force_range: tuple[float, float] = _ALL
    """lowest and highest force along ``x``"""
    gain: float = 1.0
    """gain of ``general`` drives"""
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """bias of ``general`` drives: constant, per ``x`` and per ``dx/dt``"""
    transmission: Transmission | None = None
    """tendon, site or slider-crank that it pulls on, in place of a joint"""
    activation: Activation | None = None
    """state between its control and its force"""
    gain_slope: tuple[float, float] = (0.0, 0.0)
    """change of the gain of ``general`` drives: per ``x`` and per ``dx/dt``"""
    muscle: Muscle | None = None
    """curves of ``muscle`` drives"""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ModelError(f"actuator {self.name!r} is one of {', '.join(KINDS)}, not {describe(self.kind)}")
        for part in ("gear", "kp", "kv", "gain"):
            x = getattr(self, part)
            if not _is_number(x) or not np.isfinite(x):
                raise ModelError(f"{part} of actuator {self.name!r} is a finite number, not {describe(x)}")
        for part in ("control_range", "force_range"):
            lower, upper = self._set_numbers(part, "two")
            if not lower <= upper:
                raise ModelError(f"{part} of actuator {self.name!r} begins at {lower:g}, above its end {upper:g}")
        if not np.isfinite(self._set_numbers("bias", "three")).all():
            raise ModelError(f"bias of actuator {self.name!r} is three finite numbers, not {self.bias}")
        if not np.isfinite(self._set_numbers("gain_slope", "two")).all():
            raise ModelError(f"gain_slope of actuator {self.name!r} is two finite numbers, not {self.gain_slope}")
        if (self.kind == "muscle") != isinstance(self.muscle, Muscle):
            raise ModelError(f"actuator {self.name!r} is a muscle where it has the curves of one, muscle=Muscle(...)")
        for part, kind in (("transmission", Transmission), ("activation", Activation)):
            if not isinstance(getattr(self, part), kind | None):
                raise ModelError(
                    f"the {part} of actuator {self.name!r} is a {kind.__name__}, not {describe(getattr(self, part))}"
                )
        if bool(self.joint) == (self.transmission is not None):
            raise ModelError(f"actuator {self.name!r} drives a joint, or what its transmission says, not both")
        if self.kind != "general" and (self.gain != 1.0 or any(self.bias) or any(self.gain_slope)):
            raise ModelError(f"actuator {self.name!r} is a {self.kind}: a gain and a bias are those of a general one")

    def _set_numbers(self, part: str, size: Literal["two", "three"]) -> tuple[float, ...]:
        given = getattr(self, part)
        fits = isinstance(given, (tuple, list)) and len(given) == {"two": 2, "three": 3}[size]
        if not fits or not all(map(_is_number, given)):
            raise ModelError(f"{part} of actuator {self.name!r} is {size} numbers, not {describe(given)}")
        numbers = tuple(map(float, given))
        object.__setattr__(self, part, numbers)
        return numbers

    @property
    def tendon(self) -> str | None:
        """Tendon that it drives, if it drives one."""
        return None if self.transmission is None else self.transmission.tendon

    def renamed(
        self, name: str, joints: Mapping[str, str], places: Mapping[str, str], tendons: Mapping[str, str]
    ) -> Actuator:
        """Same actuator of a robot whose parts have other names.

        Args:
            name: New name.
            joints: New names of joints.
            places: New names of links and frames.
            tendons: New names of tendons.

        Returns:
            Actuator.
        """
        if self.transmission is None:
            return replace(self, name=name, joint=joints[self.joint])
        return replace(self, name=name, transmission=self.transmission.renamed(joints, places, tendons))

    def effort(self, control: Scalar, q: Scalar, rate: Scalar) -> Scalar:
        """Force on the joint at a coordinate and a rate of it.

        Args:
            control: Command of the drive; its activation, where it has one.
            q: Coordinate of the joint (rad, or m), or length of the transmission.
            rate: Rate of the joint (rad/s, or m/s), or of the length.

        Returns:
            Force on the joint (N m, or N).
        """
        return self.gear * clip(self.pull(control, q, rate), *self.force_range)

    def pull(self, control: Scalar, q: Scalar, rate: Scalar) -> Scalar:
        """Force along ``x`` without the ``force_range``.

        Args:
            control: Command of the drive; its activation, where it has one.
            q: Coordinate of the joint (rad, or m), or length of the transmission.
            rate: Rate of the joint (rad/s, or m/s), or of the length.

        Returns:
            Force along ``x``.
        """
        u: Any = self.commanded(control) if self.activation is None else control
        x, v = self.gear * q, self.gear * rate
        if self.muscle is not None:
            return self.muscle.pull(u, x, v)
        gain = self.gain + self.gain_slope[0] * x + self.gain_slope[1] * v if any(self.gain_slope) else self.gain
        forces: Any = {
            "motor": u,
            "position": self.kp * (u - x) - self.kv * v,
            "velocity": self.kv * (u - v),
            "general": gain * u + self.bias[0] + self.bias[1] * x + self.bias[2] * v,
        }
        return forces[self.kind]

    def commanded(self, control: Scalar) -> Scalar:
        """Control within the ``control_range``.

        Args:
            control: Command of the drive.

        Returns:
            Command that it follows.
        """
        return clip(control, *self.control_range)


def _is_number(x: Any) -> bool:
    return not isinstance(x, bool) and isinstance(x, (int, float, np.number)) and not np.isnan(x)
