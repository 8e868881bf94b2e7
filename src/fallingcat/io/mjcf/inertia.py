"""Masses of bodies: their ``<inertial>`` or their geoms, and what the compiler's settings make of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import FileError
from ...lie import SE3
from ...model import Body
from ...model.body import sum_bodies
from ..diagnostics import Reader
from .base import BaseChoice
from .bodies import BodyPart
from .geometry import weigh
from .ignored import Tally
from .poses import position
from .settings import Settings

_SE3 = SE3()


def weigh_bodies(parts: Sequence[BodyPart], robot: BaseChoice, reader: Reader, tally: Tally) -> list[Body]:
    """The body of every part; massless are the world and what is no part of the robot."""
    total = parts[0].settings.settotalmass
    bodies = [Body()]
    for part, kept in zip(parts[1:], robot.kept[1:], strict=True):
        for geom in part.geoms if part.moves else ():
            if geom.kind == "plane":
                reader.fail(geom.element, "a plane has no mass and belongs to the world, not to a body that moves")
        if not kept and total <= 0.0:
            bodies.append(Body())
        elif part.moves or robot.base or total > 0.0:
            bodies.append(_body_inertia(part, reader, tally))
        else:
            bodies.append(_static_body(part, reader, tally))
    mass = sum(body.mass for body in bodies)
    if total > 0.0 and mass > 0.0:
        bodies = [Body(total / mass * b.mass, b.center, total / mass * b.inertia) for b in bodies]
    return bodies


def felt_by_joints(parts: Sequence[BodyPart], masses: Sequence[Body]) -> dict[int, float]:
    """Inertia (kg m^2 or kg) that each joint feels while all others are free, by the ``id`` of its element.

    With all joints at their ``ref``: ``1 / (M^-1)_jj``, that of MuJoCo's ``dof_invweight0`` for joints of one degree of
    freedom.
    """
    poses, ways = [np.eye(4)], [list[int]()]  # of bodies: to the world, and the rows of M of all joints on the way
    twists, armatures, first = list[np.ndarray](), list[float](), dict[int, int]()
    for part in parts[1:]:
        H = poses[part.parent] @ part.H
        moves = [] if part.free is None else [(part.free, np.eye(6), 0.0)]
        for joint in part.joints:
            S = _SE3.Ad(H @ _SE3.inverse(joint.after)) @ joint.kind.motion_subspace(joint.kind.neutral)
            moves.append((joint.element, S, joint.armature))
        before = len(twists)
        for element, S, armature in moves:
            first[id(element)] = len(twists)
            twists.extend(S.T)
            armatures.extend([armature] * S.shape[1])
        poses.append(H)
        ways.append([*ways[part.parent], *range(before, len(twists))])
    M = np.diag(armatures)
    for way, mass, H in zip(ways, masses, poses, strict=True):
        J = np.array([twists[k] for k in way]).reshape(-1, 6)
        M[np.ix_(way, way)] += J @ mass.moved(H).spatial_inertia @ J.T
    gives = np.diagonal(np.linalg.pinv(M, hermitian=True))
    return {element: 1.0 / float(gives[k]) for element, k in first.items() if gives[k] > 0.0}


def _static_body(part: BodyPart, reader: Reader, tally: Tally) -> Body:
    """A body that never moves: where its mesh cannot be weighed, it goes without, and only the sum of masses knows."""
    try:
        return _body_inertia(part, reader, tally)
    except FileError as error:
        if not any("mesh" in geom.element.attributes for geom in part.geoms):
            raise
        why = error.rule if error.hint is None else f"{error.rule} ({error.hint})"
        tally.note("a body that never moves is read without its mass", part.element, why)
        return part.inertial or Body()


def _body_inertia(part: BodyPart, reader: Reader, tally: Tally) -> Body:
    own, settings = _selected_inertia(part, reader), part.settings
    if own.mass == 0.0 and part.inertial is None and settings.boundmass > 0.0:
        # MuJoCo leaves the center of a body without mass at the body's own pos, and fills it with mass there
        tally.note("a body without mass gets 'boundmass' at its 'pos' as seen from itself, as in MuJoCo", part.element)
        own = Body(0.0, position(part.element, "pos", reader))
    return _bounded(own, settings)


def _selected_inertia(part: BodyPart, reader: Reader) -> Body:
    """By ``inertiafromgeom``: geoms where they have a mass (true), where there is no inertial (auto), never (false)."""
    inertial, settings = part.inertial or Body(), part.settings
    if settings.inertiafromgeom == "false" or (settings.inertiafromgeom == "auto" and part.inertial is not None):
        return inertial
    weighed = [weigh(geom, reader) for geom in part.geoms]
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
