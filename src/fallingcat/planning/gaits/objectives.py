"""Objectives of a displacement: a coordinate, an angle, a length; of poses, and of CasADi's expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from ...lie.rotations import quaternion_from_matrix
from ...model import Model

AIMS = ("x", "y", "z", "rx", "ry", "rz", "turn", "travel")
"""Objectives of a displacement of the base, relative to its start: a coordinate of its position (m); its turn about an
axis of the base (rad: the twist of its swing and twist, up to a full turn, and without end where the base turns about
one axis only); the angle of the whole turn (rad); the length of the way (m)."""


@dataclass(frozen=True)
class Aim:
    """Objective: one of :data:`AIMS`, forwards or backwards.

    Example:
        >>> Aim.parse("-rz").sign
        -1.0
    """

    name: str
    sign: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Aim:
        """Objective from a text: ``rz``, ``-rz``, ``turn`` ..."""
        name = text.removeprefix("-")
        if name not in AIMS or (name != text and name in AIMS[6:]):
            raise ModelError(f"maximize must be one of {', '.join(AIMS)} (or minus one of the first six), got {text!r}")
        return cls(name, -1.0 if name != text else 1.0)

    @property
    def place(self) -> int:
        """Index in ``[position; quaternion]``, and in a twist."""
        return AIMS.index(self.name)

    @property
    def is_angle(self) -> bool:
        """True if it is measured in rad, else in m."""
        return self.name in ("rx", "ry", "rz", "turn")

    def rows(self, model: Model) -> np.ndarray:
        """Components (p x m) of the base's algebra that count."""
        S = model.base.selection
        whole = {"turn": S[3:], "travel": S[:3]}
        return np.asarray(whole[self.name] if self.name in whole else S[self.place][None])

    def of_pose(self, pose: np.ndarray, near: float = 0.0) -> float:
        """Value for a pose (4 x 4); angles are determined up to full turns: the one ``near`` is returned.

        Example:
            >>> from fallingcat.lie import SE3
            >>> round(Aim("rz").of_pose(SE3().exp(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.2]))), 12)
            1.2
        """
        if self.name == "travel":
            return float(np.linalg.norm(pose[:3, 3]))
        if not self.is_angle:
            return float(pose[self.place, 3])
        u = np.asarray(quaternion_from_matrix(pose[:3, :3]), dtype=float)
        sine = float(np.linalg.norm(u[:3])) if self.name == "turn" else float(u[self.place - 3])
        angle = 2.0 * float(np.arctan2(sine, u[3]))
        if self.name == "turn":
            return min((angle, 2.0 * np.pi - angle), key=lambda x: abs(x - near))
        return angle + 2.0 * np.pi * round((near - angle) / (2.0 * np.pi))

    def of_graph(self, casadi: Any, model: Model, pose: Any, logs: Any) -> Any:
        """Value for ``[position; quaternion]`` and the sum of the steps' logarithms (m), as expressions."""
        if self.name == "travel":
            # 1e-12 m: the derivative of a norm at zero is not a number, and the first iterate may stand there
            return casadi.sqrt(casadi.sumsqr(pose[:3]) + 1e-24)
        if not self.is_angle:
            return pose[self.place]
        if self.name == "turn":
            # 1e-24: a root has no slope at zero, where gaits may start
            return 2.0 * casadi.atan2(casadi.sqrt(casadi.sumsqr(pose[3:6]) + 1e-24), pose[6])
        if np.linalg.matrix_rank(model.base.selection[3:]) == 1:  # turns about one axis add up
            return casadi.dot(casadi.DM(model.base.selection[self.place]), logs)
        return 2.0 * casadi.atan2(pose[self.place], pose[6])
