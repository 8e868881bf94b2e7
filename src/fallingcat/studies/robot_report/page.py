"""The page about one robot: what it is, what is proved of it, how its joints move its base, and how far that goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...dynamics import forward_kinematics
from ...planning.gaits.survey_page import survey_map, survey_scene
from ...visualization import Axes, Fact, Page, Picture, Scene, Table, appearance
from ...visualization.animation import Arrows, Extra
from ...visualization.page import Block
from ..page import number
from .picture import robot_picture
from .report import GaitResult, RobotReport


def robot_page(found: RobotReport) -> Page:
    """Page of a robot report."""
    model = found.model
    about = (
        f"{len(model.links)} links, {model.n} degrees of freedom, base {model.base}. Equations of motion in every "
        f"formulation held to what they claim at {found.states} random states; couplings, curvature and gaits of the "
        f"robot that floats freely, without momentum. Computed in {found.seconds:.1f} s."
    )
    blocks: list[Block] = [_scene(found), _inertia(found), *_turn_tables(found), _picture(found), *_maps(found)]
    return Page(model.name or "robot", about, list(_facts(found)), [*blocks, _proofs(found), _joints(found)])


def _facts(found: RobotReport) -> Iterator[Fact]:
    yield Fact("mass", f"{found.model.mass:.4g} kg", f"{len(found.model.links)} links")
    yield Fact("degrees of freedom", str(found.model.n), f"base {found.model.base}")
    claims = [check for certificate in found.certificates for check in certificate.claims]
    proved = sum(check.holds for check in claims)
    yield Fact("claims proved", f"{proved} of {len(claims)}", "of equations in all formulations")
    if found.couplings:
        most = max(found.couplings, key=lambda x: x.turn)
        yield Fact("strongest joint", f"{most.turn:.3g}", f"{most.name}: turn of the base per turn of the joint")
    if found.curvature is not None:
        free = found.curvature > 1e-9
        yield Fact("joints can turn it", "yes" if free else "no", f"curvature {number(found.curvature)}, relative")
    best = _best_gait(found)
    if best is not None and best.turn > 1e-9:
        yield Fact("turns per cycle", f"{np.degrees(best.turn):.1f}°", f"by {' and '.join(best.joints)}")


def _best_gait(found: RobotReport) -> GaitResult | None:
    return next((gait for gait in found.gaits if gait.survey is not None), None)


# the robot ------------------------------------------------------------------------------------------------------------


def _scene(found: RobotReport) -> Scene:
    """The robot with its own shapes; it goes through its most effective gait, and its base turns."""
    best = _best_gait(found)
    if best is not None and best.survey is not None:
        scene = survey_scene(best.survey)
        centers = np.asarray(scene.extras[0].points)  # type: ignore[union-attr]
        return replace(scene, extras=[*scene.extras, _principal(found, centers[:1].repeat(len(centers), axis=0))])
    drawn, notes = appearance(found.model)
    here = forward_kinematics(found.model, found.neutral)
    poses = {name: np.array([here[name]] * 2) for name in drawn}
    extras: list[Extra] = [_principal(found, np.array([found.center] * 2)), Axes()]
    return Scene(np.array([0.0, 1.0]), poses, drawn, floor=False, extras=extras, notes=notes, elevation=14.0)


def _principal(found: RobotReport, centers: np.ndarray) -> Arrows:
    """Principal axes of the locked inertia at neutral, each as long as its radius of gyration."""
    moments, axes = np.linalg.eigh(found.inertia)
    arms = axes * np.sqrt(np.maximum(moments, 0.0) / max(found.model.mass, 1e-12))
    return Arrows(
        "principal axes", np.repeat(centers[:, None], 3, axis=1), np.tile(arms.T, (len(centers), 1, 1)), shown=False
    )


def _picture(found: RobotReport) -> Picture:
    turns = {x.name: x.turn for x in found.couplings}
    note = (
        "Discs grow with the mass of a link. Orange: by how much the base turns when the joint that carries the link "
        "turns by one, mean over shapes around neutral, without momentum."
    )
    return Picture("Tree, masses and couplings", robot_picture(found.model, turns), note)


def _inertia(found: RobotReport) -> Table:
    moments, axes = np.linalg.eigh(found.inertia)
    radii = np.sqrt(np.maximum(moments, 0.0) / max(found.model.mass, 1e-12))
    rows = [
        (
            f"{moments[k]:.4g}",
            f"{radii[k]:.3g}",
            *(f"{x:+.3f}".replace("+0.000", "0").replace("-0.000", "0") for x in axes[:, k]),
        )
        for k in range(3)
    ]
    place = ", ".join(f"{round(float(x), 4) + 0.0:g}" for x in found.center)
    note = f"All joints locked at neutral, about the center of mass at ({place}) m; x, y, z as those of the base."
    return Table("Centroidal inertia", ("moment (kg m²)", "radius (m)", "x", "y", "z"), rows, note)


# how it moves its base ------------------------------------------------------------------------------------------------


def _turn_tables(found: RobotReport) -> Iterator[Table]:
    """Displacement of each pair of joints per cycle."""
    if not found.gaits:
        return
    rows = []
    for gait in found.gaits:
        if gait.survey is None:
            rows.append((" and ".join(gait.joints), "-", "-", "-", gait.reason))
            continue
        unit, circle = gait.survey.bend, gait.survey.circle
        bend = f"{unit.factor * circle.radius:.3g} {unit.name}".replace(" degrees", "°")
        half = np.ceil(np.pi / gait.turn) if gait.turn > 1e-3 else None
        upside = "never" if half is None else f"{half:.0f} cycles" if half > 1 else "1 cycle"
        rows.append(
            (
                " and ".join(gait.joints),
                bend,
                f"{_three_digits(np.degrees(gait.turn))}°",
                f"{_three_digits(1e3 * gait.travel)} mm",
                upside,
            )
        )
    yield Table(
        "Turning by gaits, without momentum",
        ("joints", "circle", "turn", "travel", "for 180°"),
        rows,
        "The circle within limits whose inside has most curvature, once around: turn and travel of the base, and the "
        "cycles for half a turn. The most effective pairs of joints, none in two of them.",
    )


def _three_digits(x: float) -> str:
    """Three digits; rounding reads as zero.

    >>> _three_digits(12.345), _three_digits(7.277e-15)
    ('12.3', '0')
    """
    return "0" if abs(x) < 1e-9 else f"{x:.3g}"


def _maps(found: RobotReport) -> Iterator[Block]:
    """Curvature of the most effective pair: every angle that it turns about."""
    best = _best_gait(found)
    if best is None or best.survey is None:
        return
    sizes = np.abs(best.survey.map.values @ found.model.base.selection.T).max(axis=(0, 1))
    shown = [k for k in range(6) if sizes[k] > 1e-2 * sizes[3 if k >= 3 else 0 :][:3].max() > 0.0]
    angles = [k for k in shown if k >= 3] or shown
    for k in sorted(angles, key=lambda k: -sizes[k])[: 2 if len(angles) > 1 else 1]:
        yield survey_map(best.survey, k)


# what is proved -------------------------------------------------------------------------------------------------------


def _proofs(found: RobotReport) -> Table:
    rows, good = [], []
    for name in dict.fromkeys(c.formulation for c in found.certificates):
        own = [c for c in found.certificates if c.formulation == name]
        claims = [check for c in own for check in c.claims]
        worst = max(claims, key=lambda check: np.nan_to_num(check.residual, nan=np.inf))
        words = ", ".join(dict.fromkeys(check.name for check in claims))
        held = sum(check.holds for check in claims)
        rows.append(
            (
                name,
                f"{held} of {len(claims)}",
                f"{worst.residual:.1e}",
                "holds" if held == len(claims) else "broken",
                words,
            )
        )
        good.append(held == len(claims))
    header = ("equations", "claims", "largest residual", "verdict", "each for every Coriolis matrix that claims it")
    return Table("Proved at random states", header, rows, wide=True, good=good)


def _joints(found: RobotReport) -> Table:
    model = found.model
    turn = {x.name: x for x in found.couplings}
    rows = []
    for joint in model.joints:
        limits, seen = joint.limits, turn.get(joint.name)
        span = f"{number_or(limits.lower)} to {number_or(limits.upper)}"
        axis = getattr(joint.kind, "axis", None)
        direction = (
            "-" if axis is None else " ".join(f"{float(x):g}" for x in np.round(np.asarray(axis, dtype=float), 4))
        )
        coupled = ("-", "-") if seen is None else (f"{seen.turn:.3g}", f"{seen.travel:.3g}")
        rows.append(
            (
                joint.name,
                joint.kind.name,
                direction,
                span,
                f"{_mass_above(found, joint.child):.4g}",
                *coupled,
                f"{joint.parent} to {joint.child}",
            )
        )
    header = ("joint", "type", "axis", "limits", "moves (kg)", "turns the base", "moves it (m)", "from and to")
    return Table("Joints", header, rows, wide=True)


def number_or(x: float) -> str:
    """A number, or that there is none.

    >>> number_or(0.5), number_or(float("inf"))
    ('0.5', 'none')
    """
    return f"{x:.4g}" if np.isfinite(x) else "none"


def _mass_above(found: RobotReport, link: str) -> float:
    """Mass of a link and all that hangs on it (kg)."""
    own = {link}
    for joint in found.model.joints:  # parents come first
        if joint.parent in own:
            own.add(joint.child)
    return float(sum(each.body.mass for each in found.model.links if each.name in own))
