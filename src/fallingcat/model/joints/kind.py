"""What every kind of joint can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ...lie import Group


class JointKind(ABC):
    """A joint's law of motion: its configuration is a point of a group ([From] Definition 4.1), never Euler angles.

    ``q`` are the flat coordinates of that point (``nq`` numbers), ``rates`` its velocity in the group's algebra
    (``nv`` numbers).  Twists are ``[v; w]`` of the outer side of the joint relative to the inner side, given in the
    frame of the outer side.
    """

    name: str
    """How files call it, e.g. ``revolute``."""

    @property
    @abstractmethod
    def group(self) -> Group:
        """The group of configurations."""

    @property
    def nq(self) -> int:
        """Number of flat coordinates."""
        return self.group.nq

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.group.dim

    def neutral(self) -> np.ndarray:
        """The coordinates of the identity."""
        return np.asarray(self.group.coordinates(self.group.identity()))

    def transform(self, q: Any) -> Any:
        """``4 x 4``: coordinates of the outer side to coordinates of the inner side."""
        return self.group.element(q)

    def motion_subspace(self, q: Any) -> Any:
        """``6 x nv``: the relative twist is ``motion_subspace(q) @ rates``.  Constant on every subgroup of SE(3)."""
        return self.group.selection

    def motion_subspace_derivative(self, q: Any, rates: Any) -> Any:
        """``6 x nv``: the time derivative of :meth:`motion_subspace` along ``rates``, in the outer frame."""
        return np.zeros((6, self.nv))

    def reversed(self) -> JointKind:
        """The same joint seen from its other side, with the same coordinates."""
        from .reversed import Reversed

        return Reversed(self)
