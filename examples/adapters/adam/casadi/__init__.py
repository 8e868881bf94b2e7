"""CasADi's expressions: every method takes and gives them, and ``method_fun`` is a ``casadi.Function``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from fallingcat.arrays import from_casadi, to_casadi

from ..kindyn import KinDyn

__all__ = ["KinDynComputations"]


class KinDynComputations(KinDyn):
    """``SX`` (or numbers) in, ``SX`` (or numbers) out."""

    def __getattr__(self, name: str) -> Callable[..., casadi.Function]:
        if not name.endswith("_fun"):
            raise AttributeError(name)
        method = getattr(self, name.removesuffix("_fun"))
        taken = [key for key in inspect.signature(method).parameters if key in _SHAPES]

        def function(*frame: str) -> casadi.Function:
            symbols = [casadi.SX.sym(key, *(_SHAPES[key] or (self.NDoF,))) for key in taken]
            return casadi.Function(name, symbols, [method(*frame, *symbols)], taken, ["result"])

        return function

    def _array(self, x: Any) -> Any:
        if not isinstance(x, (casadi.SX, casadi.DM)):
            return np.asarray(x, dtype=float)
        array = from_casadi(casadi.SX(x)) if isinstance(x, casadi.SX) else x.full()
        return array.reshape(x.shape) if 1 not in x.shape else array.ravel()

    def _result(self, x: Any) -> Any:
        return to_casadi(x) if x.dtype == object else x


_SHAPES: dict[str, tuple[int, ...]] = {
    "base_transform": (4, 4),
    "joint_positions": (),
    "base_velocity": (6,),
    "joint_velocities": (),
    "joint_torques": (),
}
"""Of the arguments of a function; () is one number for each joint."""
