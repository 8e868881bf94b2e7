"""Forces on bodies that a file describes: compensation of gravity, drag of a fluid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model import Body, FluidDrag, ForceElement, GravityCompensation
from ...model.fluid_drag import equivalent_box
from .bodies import BodyPart
from .ignored import Tally
from .parts import Naming
from .settings import Settings

_DIAGONAL = 1e-9  # relative: axes along which no product of inertia is left


def gravity_compensation(
    bodies: Sequence[BodyPart], masses: Sequence[Body], kept: Sequence[bool]
) -> list[ForceElement]:
    """The ``gravcomp`` of bodies: the part of their weight that is carried."""
    names = Naming(bodies).bodies
    return [
        GravityCompensation(f"{names[i]}/gravcomp", names[i], body.gravcomp * masses[i].mass, masses[i].center)
        for i, body in enumerate(bodies)
        if kept[i] and body.gravcomp and body.moves and masses[i].mass
    ]


def fluid_drag(
    bodies: Sequence[BodyPart], masses: Sequence[Body], kept: Sequence[bool], settings: Settings, tally: Tally
) -> list[ForceElement]:
    """Drag on the boxes with the inertia of the bodies, where the file has a fluid."""
    if not settings.density and not settings.viscosity:
        return []
    names, found = Naming(bodies).bodies, list[ForceElement]()
    for i, body in enumerate(bodies):
        if not (kept[i] and body.moves and masses[i].mass):
            continue
        for geom in body.geoms:
            if geom.element.get("fluidshape", "none") != "none":
                tally.note("'fluidshape' is not read: the fluid acts on the box of the body's inertia", geom.element)
        R, mass = _axes(body, masses[i]), masses[i]
        sides = equivalent_box(mass.mass, np.diagonal(R.T @ mass.inertia @ R))
        fluid = (settings.density, settings.viscosity, np.array(settings.wind))
        found.append(FluidDrag(f"{names[i]}/fluid", names[i], sides, *fluid, mass.center, R))
    return found


def _axes(body: BodyPart, mass: Body) -> np.ndarray:
    """Principal axes as MuJoCo has them: of the inertial, of the one geom, or of the moments."""
    given = [] if body.inertial_axes is None else [body.inertial_axes]
    for R in (*given, *(geom.placement[:3, :3] for geom in body.geoms), np.eye(3)):
        turned = R.T @ mass.inertia @ R
        if np.abs(turned - np.diag(np.diagonal(turned))).max() <= _DIAGONAL * np.abs(turned).max():
            return np.asarray(R)
    R = np.linalg.eigh(mass.inertia)[1]
    return np.asarray(R * np.linalg.det(R))
