"""The page of a survey: maps, zero lines, gaits on them, and how far they go."""

from __future__ import annotations

import numpy as np

from ...dynamics import center_of_mass, forward_kinematics
from ...visualization import Axes, Dot, Fact, HeatMap, Page, Scene, Table, Trace, appearance
from ...visualization.animation import Extra
from ...visualization.page import Block
from .displacement import Reconstruction
from .gait import Gait
from .survey import COMPONENTS, Cycle, Survey, from_middle, visible

CYCLE_TIME, FRAMES = 6.0, 150
"""Duration of the gait that is shown (s), and its number of pictures."""


def survey_page(found: Survey) -> Page:
    """A map of every component that is not zero, the shown one first, with gaits on it, and a table of bends."""
    sizes = np.abs(found.map.values @ found.model.base.selection.T).max(axis=(0, 1))
    others = [k for k in range(6) if sizes[k] > 1e-6 * sizes.max() and k != found.component]
    maps = [survey_map(found, k) for k in (found.component, *others)]
    blocks: list[Block] = [survey_scene(found), maps[0], _table(found), *maps[1:]]
    return Page(f"Gaits of {found.model.name}", _caption(found), _facts(found), blocks)


def survey_scene(found: Survey) -> Scene:
    """The robot with its own shapes, that floats without momentum while its two joints go through their best gait."""
    model = found.model
    gait = Gait(found.map.plane.curve(from_middle(found.curve)), CYCLE_TIME)
    way = Reconstruction(model).displacement(gait)
    near = np.abs(way.times[:, None] - np.linspace(0.0, CYCLE_TIME, FRAMES)).argmin(axis=0)
    times, start = way.times[near], model.neutral().pose
    states = [model.state(pose=start @ way.path[k], joints=q) for k, q in zip(near, gait(times).q, strict=True)]
    drawn, notes = appearance(model)
    moved = [forward_kinematics(model, state) for state in states]
    poses = {name: np.array([each[name] for each in moved]) for name in drawn}
    centers = np.array([center_of_mass(model, state) for state in states], dtype=float)
    said = f"It floats freely while {' and '.join(found.joints)} go through their best gait."
    extras: list[Extra] = [Dot("center of mass", centers, "#ffd166"), Axes()]
    return Scene(times, poses, drawn, floor=False, extras=extras, notes=[said, *notes], elevation=14.0)


def _caption(found: Survey) -> str:
    return (
        f"Where {found.joints[0]} and {found.joints[1]} turn and carry {found.model.name} without momentum; base "
        f"{found.model.base}, curvature seen from the {found.map.frame.replace('_', ' ')} frame. A small anticlockwise "
        "gait moves it by the value where it is, times its area; one that stays on one side of a zero line loses "
        "nothing."
    )


def _facts(found: Survey) -> list[Fact]:
    name = COMPONENTS[found.component]
    facts = []
    if found.best is not None and found.optimum is not None:
        word = "best gait" if found.optimum.optimal else f"gait, {found.optimum.status}"
        facts.append(
            Fact(
                word,
                _displacement_text(found.best, found.component),
                f"{name} per cycle, effort {found.optimum.effort:.3g}",
            )
        )
    facts.append(Fact("best circle", _displacement_text(found.circle, found.component), f"{name} per cycle"))
    facts += [
        Fact(f"bend of {_size(found, row)}", _displacement_text(row, found.component), f"{name} per cycle")
        for row in found.circles[1::2]
    ]
    return facts


def _displacement_text(row: Cycle, component: int) -> str:
    return f"{visible(row.exact, component):.4g}{' m' if component < 3 else '°'}"


def _table(found: Survey) -> Table:
    return Table(
        "How far bends go that are carried around once",
        found.header(),
        found.rows(),
        note=f"Exact displacement of the base (m, degrees) as log(g), estimate of {COMPONENTS[found.component]} from "
        "its curvature, and the angle (for lengths, the way) between the ends of both.",
    )


def _size(found: Survey, row: Cycle) -> str:
    """The radius of a circle: ``30°``."""
    unit = found.bend
    return f"{unit.factor * row.radius:.3g} {unit.name}".replace(" degrees", "°")


def survey_map(found: Survey, component: int) -> HeatMap:
    """The curvature along one component of :data:`COMPONENTS`, with gaits on it."""
    kind = "travel along" if component < 3 else "turn about"
    (a, b), (x, y) = found.units, found.middle
    half, angles = found.circles[len(found.circles) // 2 - 1], np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    curves = [
        (f"best circle: {_displacement_text(found.circle, component)}", found.center + found.circle.radius * circle),
        (f"bend of {_size(found, half)}: {_displacement_text(half, component)}", half.radius * circle),
    ]
    if found.best is not None:
        path = found.curve(np.linspace(0.0, 1.0, 361)).q
        curves.insert(0, (f"best gait: {_displacement_text(found.best, component)}", path))
    area = "m²" if a.name == b.name == "m" else "rad²" if a == b else "(rad m)"
    return HeatMap(
        f"{COMPONENTS[component]}: {kind} {'xyz'[component % 3]} per area",
        a.factor * (found.map.first + x),
        b.factor * (found.map.second + y),
        -found.map.values @ found.model.base.selection[component],
        x_label=f"{found.joints[0]} ({a.name})",
        y_label=f"{found.joints[1]} ({b.name})",
        unit=f"{'m' if component < 3 else 'rad'}/{area}",
        traces=[Trace(name, a.factor * (q[:, 0] + x), b.factor * (q[:, 1] + y)) for name, q in curves],
        equal=a == b,
        zero="zero curvature",
    )
