"""Closed forms of poses, twists and Jacobians of links and frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import sympy

from .. import dynamics as dyn
from .._deprecated import former_arguments
from ..lie import SE3
from ..model.literals import Place, Representation


class LinkKinematics(ABC):
    """Kinematics of links and frames, by any function of model and state that :meth:`of` makes a closed form of."""

    @abstractmethod
    def of(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Closed form of a function of model and state.

        Args:
            function: Function of model and state.
            *arguments: Further arguments.
            **options: Options of the function.

        Returns:
            Its result with expressions.
        """

    @former_arguments(place="link")
    def pose(self, link: Place) -> Any:
        """Pose ``H_w_link`` of a link or frame.

        Args:
            link: Link or frame.

        Returns:
            ``4 x 4`` matrix.
        """
        return self.of(dyn.link_pose, link)

    @former_arguments(place="link")
    def twist(self, link: Place, representation: Representation = "body") -> Any:
        """Twist ``[v; w]`` of a link or frame.

        Args:
            link: Link or frame.
            representation: ``"body"``, ``"mixed"`` or ``"inertial"``.

        Returns:
            Vector, 6.
        """
        return self.of(dyn.link_twist, link, representation)

    @former_arguments(place="link")
    def jacobian(self, link: Place, representation: Representation = "body") -> Any:
        """Jacobian of a link or frame, body-fixed (``Jnu``), mixed (``Jodot`` on top) or inertial.

        Args:
            link: Link or frame.
            representation: ``"body"``, ``"mixed"`` or ``"inertial"``.

        Returns:
            ``6 x nv`` matrix.
        """
        return self.of(dyn.jacobian, link, representation)

    @former_arguments(place="link")
    def jacobian_derivative(self, link: Place, representation: Representation = "body") -> Any:
        """Time derivative ``dJ/dt`` of the Jacobian of a link or frame.

        Args:
            link: Link or frame.
            representation: ``"body"``, ``"mixed"`` or ``"inertial"``.

        Returns:
            ``6 x nv`` matrix.
        """
        return self.of(dyn.jacobian_derivative, link, representation)

    @former_arguments(place="link")
    def adjoint(self, link: Place) -> Any:
        """Adjoint ``Ad(H_w_link)``, which maps twists of a link to the world.

        Args:
            link: Link or frame.

        Returns:
            ``6 x 6`` matrix.
        """
        return self.of(lambda model, state: SE3().Ad(dyn.link_pose(model, state, link)))

    def planar(self, H: Any) -> Any:
        """Pose of the plane (3 x 3) from one of space (4 x 4).

        Args:
            H: Pose, ``4 x 4``.

        Returns:
            ``3 x 3`` matrix.
        """
        return sympy.ImmutableMatrix(H.extract([0, 1, 3], [0, 1, 3]))
