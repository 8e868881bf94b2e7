"""Base class of the kinds of joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ...arrays.arguments import check_arguments_first, check_rng
from ...arrays.types import Float_nq, Matrix_6_nv, Pose, Vector_nq, Vector_nv
from ...caching import cached_property
from ...errors import ModelError
from ...lie import Group
from ...lie.arguments import check_shapes

# what the methods that a kind writes itself take: words of `Group.shapes`; those below ask the group, which looks
_TAKES = {
    "transform": ("coordinates",),
    "motion_subspace": ("coordinates",),
    "motion_subspace_derivative": ("coordinates", "a vector"),
}


def _depth(cls: type, name: str) -> int:
    """Place in the method resolution order of the class that defines ``name``; mixins count."""
    return next(i for i, owner in enumerate(cls.__mro__) if name in vars(owner))


class JointKind(ABC):
    """Base class of joint kinds: a configuration is a point of a group ([From] Definition 4.1), never Euler angles.

    ``q`` are the flat coordinates of that point (``nq`` numbers), ``rates`` its velocity in the group's algebra
    (``nv`` numbers).  Twists are ``[v; w]`` of the outer side of the joint relative to the inner side, given in the
    frame of the outer side.

    Example:
        >>> from fallingcat.model import joints
        >>> hinge = joints.Revolute((0.0, 0.0, 1.0))
        >>> hinge.nq, hinge.nv, hinge.motion_subspace(hinge.neutral())[:, 0].tolist()
        (1, 1, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    """

    name: str
    """Name in files, e.g. ``revolute``."""
    fixed_axes: ClassVar[bool] = True
    """True if :meth:`motion_subspace` is the same at every ``q``.

    False for a kind that overrides it or :meth:`transform`, unless that kind declares it.

    A joint of one rate with fixed axes moves as ``H(q) = H(neutral) exp(q S)``: kernels use this to simplify the
    equations of motion.  :func:`fallingcat.testing.check_joint` checks the declaration.
    """
    planar: ClassVar[bool] = False
    """True if joints of this kind can stay in the x-y plane."""
    stops: ClassVar[bool] = False
    """True if such joints usually end at stops, as random robots then have them."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        axes = _depth(cls, "motion_subspace")
        if axes < _depth(cls, "motion_subspace_derivative"):
            raise ModelError(
                f"the joint kind {cls.__name__} has axes of its own but not their rate: "
                "define motion_subspace_derivative beside motion_subspace"
            )
        if min(axes, _depth(cls, "transform")) < _depth(cls, "fixed_axes"):
            cls.fixed_axes = False
        check_shapes(cls, _TAKES)
        check_arguments_first(cls, {"sample": lambda cls, rng, **_: check_rng(rng)})

    @property
    @abstractmethod
    def group(self) -> Group:
        """Group of configurations."""

    @property
    def nq(self) -> int:
        """Number of flat coordinates."""
        return self.group.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.group.dim

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shapes of ``q`` and ``rates``: those of the group."""
        return self.group.shapes

    def neutral(self) -> Float_nq:
        """Coordinates of the identity.

        Returns:
            ``nq``.
        """
        return np.asarray(self.group.coordinates(self.group.identity()))

    def transform(self, q: Vector_nq) -> Pose:
        """Pose of the outer side in the inner one.

        Args:
            q: Flat coordinates, ``nq`` (rad, m, unit quaternions).

        Returns:
            ``4 x 4``: coordinates of the outer side to coordinates of the inner side.
        """
        return self.group.element(q)

    def motion_subspace(self, q: Vector_nq) -> Matrix_6_nv:
        """Motion subspace: the relative twist is ``motion_subspace(q) @ rates``.

        It is constant on every subgroup of SE(3).

        Args:
            q: Flat coordinates, ``nq`` (rad, m, unit quaternions).

        Returns:
            ``6 x nv`` matrix, in the outer frame.
        """
        return self.group.selection

    def motion_subspace_derivative(self, q: Vector_nq, rates: Vector_nv) -> Matrix_6_nv:
        """Time derivative of :meth:`motion_subspace` along ``rates``.

        Args:
            q: Flat coordinates, ``nq`` (rad, m, unit quaternions).
            rates: Velocity in the group's algebra, ``nv``.

        Returns:
            ``6 x nv`` matrix, in the outer frame.
        """
        return np.zeros((6, self.nv))

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        """Random joint of this kind, for random robots.

        Args:
            rng: Random generator.
            planar: Stay in the x-y plane.

        Returns:
            Joint with random axes.
        """
        return cls()

    def reversed(self) -> JointKind:
        """Same joint seen from its other side, with the same coordinates.

        Returns:
            Kind with inner and outer side exchanged.
        """
        from .reversed import Reversed

        return Reversed(self)
