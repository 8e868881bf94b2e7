"""Actuators: the drives of joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..arrays import clip
from ..arrays.types import Scalar
from ..errors import ModelError, describe
from ..records import concise

ActuatorKind = Literal["motor", "position", "velocity", "general"]
KINDS: tuple[str, ...] = get_args(ActuatorKind)
_ALL = (-np.inf, np.inf)


@concise
@dataclass(frozen=True)
class Actuator:
    """Drive of a joint with one degree of freedom.

    With ``x = gear q``, it pulls on ``x`` by ``control`` (``motor``), ``kp (control - x) - kv dx/dt`` (``position``),
    ``kv (control - dx/dt)`` (``velocity``) or ``gain control + bias . (1, x, dx/dt)`` (``general``), within
    ``force_range``, and so ``gear`` times this on the joint.  ``control`` is taken within ``control_range``.  As in
    MuJoCo. It acts where a law commands it, such as :class:`fallingcat.control.Actuators`; else it is off.

    Example:
        >>> Actuator("knee_motor", "knee", gear=50.0, force_range=(-2.0, 2.0)).effort(3.0, 0.0, 0.0)
        np.float64(100.0)
    """

    name: str
    """name of the drive"""
    joint: str
    """that it drives"""
    kind: ActuatorKind = "motor"
    """``motor``, ``position``, ``velocity`` or ``general``"""
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
        if self.kind != "general" and (self.gain != 1.0 or any(self.bias)):
            raise ModelError(f"actuator {self.name!r} is a {self.kind}: a gain and a bias are those of a general one")

    def _set_numbers(self, part: str, size: Literal["two", "three"]) -> tuple[float, ...]:
        given = getattr(self, part)
        fits = isinstance(given, (tuple, list)) and len(given) == {"two": 2, "three": 3}[size]
        if not fits or not all(map(_is_number, given)):
            raise ModelError(f"{part} of actuator {self.name!r} is {size} numbers, not {describe(given)}")
        numbers = tuple(map(float, given))
        object.__setattr__(self, part, numbers)
        return numbers

    def effort(self, control: Scalar, q: Scalar, rate: Scalar) -> Scalar:
        """Force on the joint at a coordinate and a rate of it.

        Args:
            control: Command of the drive.
            q: Coordinate of the joint (rad, or m).
            rate: Rate of the joint (rad/s, or m/s).

        Returns:
            Force on the joint (N m, or N).
        """
        return self.gear * clip(self.pull(control, q, rate), *self.force_range)

    def pull(self, control: Scalar, q: Scalar, rate: Scalar) -> Scalar:
        """Force along ``x`` without the ``force_range``.

        Args:
            control: Command of the drive.
            q: Coordinate of the joint (rad, or m).
            rate: Rate of the joint (rad/s, or m/s).

        Returns:
            Force along ``x = gear q``.
        """
        u, x, v = clip(control, *self.control_range), self.gear * q, self.gear * rate
        pulls: Any = {
            "motor": u,
            "position": self.kp * (u - x) - self.kv * v,
            "velocity": self.kv * (u - v),
            "general": self.gain * u + self.bias[0] + self.bias[1] * x + self.bias[2] * v,
        }
        return pulls[self.kind]


def _is_number(x: Any) -> bool:
    return not isinstance(x, bool) and isinstance(x, (int, float, np.number)) and not np.isnan(x)
