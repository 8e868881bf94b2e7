"""What a body weighs: its ``<inertial>`` or its geoms, and what the compiler's settings make of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model import Body
from ...model.body import sum_bodies
from ..diagnostics import Reader
from .bodies import BodyPart
from .geometry import weigh
from .poses import position
from .settings import Settings
from .tally import Tally


def weigh_bodies(
    parts: Sequence[BodyPart], moving: Sequence[bool], settings: Settings, reader: Reader, tally: Tally
) -> list[Body]:
    """The body of every part; the world's is massless.  ``moving`` says whose mass matters."""
    bodies = [Body()]
    for part, moves in zip(parts[1:], moving[1:], strict=True):
        for geom in part.geoms if part.moves else ():
            if geom.kind == "plane":
                reader.fail(geom.element, "a plane has no mass and belongs to the world, not to a body that moves")
        if not moves and settings.settotalmass <= 0.0 and any("mesh" in geom.element.attributes for geom in part.geoms):
            tally.note("a body that never moves has a mesh and is read without its mass", part.element)
            bodies.append(part.inertial or Body())
        else:
            own = _own(part, settings, reader)
            if own.mass == 0.0 and part.inertial is None and settings.boundmass > 0.0:
                # MuJoCo leaves the center of a body without mass at the body's own pos, and fills it with mass there
                tally.note(
                    "a body without mass gets 'boundmass' at its 'pos' as seen from itself, as in MuJoCo", part.element
                )
                own = Body(0.0, position(part.element, "pos", reader))
            bodies.append(_bounded(own, settings))
    total = sum(body.mass for body in bodies)
    if settings.settotalmass > 0.0 and total > 0.0:
        scale = settings.settotalmass / total
        bodies = [Body(scale * b.mass, b.center, scale * b.inertia) for b in bodies]
    return bodies


def _own(part: BodyPart, settings: Settings, reader: Reader) -> Body:
    """By ``inertiafromgeom``: geoms where they have a mass (true), where there is no inertial (auto), never (false)."""
    inertial = part.inertial or Body()
    if settings.inertiafromgeom == "false" or (settings.inertiafromgeom == "auto" and part.inertial is not None):
        return inertial
    weighed = [weigh(geom, settings, reader) for geom in part.geoms]
    heavy = [body for body in weighed if body.mass > 0.0]
    if not heavy:
        return inertial
    return heavy[0] if len(heavy) == 1 else sum_bodies(heavy)


def _bounded(body: Body, settings: Settings) -> Body:
    """At least ``boundmass`` and ``boundinertia``; with ``balanceinertia``, a mean where the triangle is broken."""
    if not (settings.boundmass or settings.boundinertia or settings.balanceinertia):
        return body
    mass = max(body.mass, settings.boundmass)
    moments, axes = np.linalg.eigh(body.inertia)
    bounded = np.maximum(moments, settings.boundinertia)
    if settings.balanceinertia and 2.0 * bounded.max() > bounded.sum():
        bounded = np.full(3, bounded.mean())
    if (bounded == moments).all():
        return Body(mass, body.center, body.inertia)
    inertia = (axes * bounded) @ axes.T
    return Body(mass, body.center, 0.5 * (inertia + inertia.T))
