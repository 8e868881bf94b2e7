"""Forces of the elements that are built into a robot: gravity compensation, fluids, and what users add."""

from __future__ import annotations

from dataclasses import dataclass

from ...arrays.types import Scalar, Vector_nv
from ...dynamics.link_motion import TreeMotion
from ...errors import ModelError
from ...model import Model, State
from .base import Law


@dataclass(frozen=True)
class ForceElements(Law):
    """Sum of the forces of all ``model.force_elements`` with this name as their ``port``.

    Example:
        >>> from dataclasses import replace
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> carried = [fc.model.GravityCompensation(x.name, x.name, x.body.mass, x.body.center) for x in arm.links]
        >>> law = ForceElements("gravity compensation")
        >>> light, bent = replace(arm, force_elements=tuple(carried)), arm.state(joints=[0.3, 0.5, 0.2])
        >>> (law.forces(light, 0.0, bent, frozenset()) - fc.gravity_forces(arm, bent)).round(12) + 0.0
        array([0., 0., 0.])
    """

    name: str
    """port of the elements"""
    commanded = False
    ignores_contact = True

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Generalized forces of the elements."""
        motion = TreeMotion(model, state)
        elements = [element for element in model.force_elements if element.port == self.name]
        return motion.generalized_forces([one for element in elements for one in element.wrenches(motion)])

    def check(self, model: Model) -> None:
        """Check that the robot has such elements."""
        ports = {element.port for element in model.force_elements}
        if self.name not in ports:
            raise ModelError(f"{model.name!r} has no force elements {self.name!r}")
