"""A run as a page: series over time, and the robot in motion."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...dynamics import center_of_mass
from ...dynamics.checks import choice
from ...errors import ModelError
from ...records import html_table
from ...visualization import Arrows, Axes, Chart, Dot, Fact, Line, Page, Shape
from ...visualization.animation import Extra
from ...visualization.scenes import Stage, stage

if TYPE_CHECKING:
    from .trajectory import Trajectory

MAX_FRAMES = 400
"""Pictures in an animation."""


def page(run: Trajectory, names: Sequence[str]) -> Page:
    """Charts of the named quantities."""
    charts = [chart for name in names for chart in SERIES[choice(name, tuple(SERIES), "series")](run)]
    return Page(run.model.name, f"{run.status}; {run.integrator}", facts=_facts(run), blocks=charts)


def animation(
    run: Trajectory, names: Sequence[str], speed: float, shapes: Mapping[str, Sequence[Shape]] | None
) -> Page:
    """The robot in motion above the charts."""
    times = np.linspace(run.times[0], run.times[-1], min(MAX_FRAMES, max(2, len(run))))
    states = [run.at(t) for t in times]
    found = stage(run.model, states, times, ground=run.problem.contact, speed=speed, shapes=shapes)
    scene = replace(found.scene, extras=_extras(run, found))
    charts = page(run, names)
    return Page(charts.title, charts.subtitle, charts.facts, (scene, *charts.blocks))


def video(
    run: Trajectory,
    path: str | os.PathLike[str],
    speed: float,
    rate: int,
    size: tuple[int, int],
    shapes: Mapping[str, Sequence[Shape]] | None,
) -> Path:
    """The animation alone, as a file."""
    return animation(run, (), speed, shapes).video(path, rate, size)


def _extras(run: Trajectory, found: Stage) -> list[Extra]:
    """Contact forces, the weight half as long as the robot; the center of mass; the frames of links."""
    times, poses, size = found.scene.times, found.poses, found.size
    extras: list[Extra] = [Dot("center of mass", found.centers, "#ff5d73")] if run.model.mass else []
    try:
        forces = run.contact_forces
    except ModelError:  # a contact without forces at points, or a run from a file without its laws
        return [*extras, Axes()]
    known = {name: i for i, name in enumerate(run.contact_points) if name in poses}
    if known:
        near = np.clip(np.searchsorted(run.times, times, side="right") - 1, 0, len(run) - 1)
        weight = run.model.mass * float(np.linalg.norm(run.model.gravity)) or 1.0
        arrows = forces[near][:, list(known.values())] @ found.upright[:3, :3].T * (0.5 * size / weight)
        lengths = np.linalg.norm(arrows, axis=2, keepdims=True)
        arrows = arrows * np.minimum(1.0, 0.6 * size / np.maximum(lengths, 1e-12))  # impacts stay in the picture
        starts = np.stack([poses[name][:, :3, 3] for name in known], axis=1)
        extras.append(Arrows("contact forces", starts, arrows))
    return [*extras, Axes()]


def _facts(run: Trajectory) -> list[Fact]:
    facts = [Fact("simulated", f"{run.times[-1]:.4g} s", f"{len(run)} samples")]
    if run.ledger.ports:
        facts.append(Fact("ledger balances to", f"{run.energy_residual:.0e}", "of the energy moved or passed on"))
    if run.events:
        facts.append(Fact("events", str(len(run.events)), f"last: {run.events[-1].name}"))
    return facts


def summary(run: Trajectory) -> str:
    """A small table of what a run is."""
    rows = [("robot", run.model.name), ("status", run.status), ("integrator", run.integrator)]
    rows += [(fact.label, f"{fact.value} {fact.note}") for fact in _facts(run)]
    return html_table("Trajectory", rows)


# the series -----------------------------------------------------------------------------------------------------------


def _by_unit(run: Trajectory, title: str, values: np.ndarray, units: tuple[str, str]) -> list[Chart]:
    """One chart for angles and one for lengths, of joints with one degree of freedom."""
    charts = []
    for turning, unit in ((True, units[0]), (False, units[1])):
        lines = [
            Line(joint.name, values[:, place.start])
            for joint, place in zip(run.model.joints, run.model.v_slices, strict=True)
            if joint.nv == 1 and bool(np.any(joint.kind.group.selection[3:])) == turning
        ]
        if lines:
            charts.append(Chart(title, run.times, lines, unit))
    return charts


def _joints(run: Trajectory) -> list[Chart]:
    simple = run.joints.shape[1] == run.model.n  # else coordinates are not one for each rate
    return _by_unit(run, "joints", run.joints, ("rad", "m")) if simple else []


def _rates(run: Trajectory) -> list[Chart]:
    return _by_unit(run, "joint rates", run.rates, ("rad/s", "m/s"))


def _forces(run: Trajectory) -> list[Chart]:
    return _by_unit(run, "joint forces, all together", run.forces[:, run.model.m :], ("N m", "N"))


def _energies(run: Trajectory) -> list[Chart]:
    kinetic, potential = run.energies()
    lines = [Line("kinetic", kinetic), Line("potential", potential), Line("sum", kinetic + potential)]
    return [Chart("mechanical energy", run.times, lines, "J")]


def _works(run: Trajectory) -> list[Chart]:
    lines = [Line(port, run.ledger.work(port)) for port in run.ledger.ports]
    return [Chart("work since the start", run.times, lines, "J")] if lines else []


def _momenta(run: Trajectory) -> list[Chart]:
    h = run.momenta("centroidal")
    linear = [Line(axis, h[:, i]) for i, axis in enumerate("xyz")]
    angular = [Line(axis, h[:, 3 + i]) for i, axis in enumerate("xyz")]
    return [
        Chart("linear momentum", run.times, linear, "N s"),
        Chart("angular momentum about the center of mass", run.times, angular, "N m s"),
    ]


def _center(run: Trajectory) -> list[Chart]:
    c = run.measure(center_of_mass)
    return [Chart("center of mass", run.times, [Line(axis, c[:, i]) for i, axis in enumerate("xyz")], "m")]


def _contacts(run: Trajectory) -> list[Chart]:
    names = run.contact_points
    if not names:
        return []
    pushes = run.contact_pushes
    drags = np.sqrt(np.maximum((run.contact_forces**2).sum(axis=2) - pushes**2, 0.0))
    series = (
        ("contact forces out of the ground", pushes, "N"),
        ("contact forces along the ground", drags, "N"),
        ("depth in the ground", 1e3 * run.penetration, "mm"),
        ("speed of slipping", 1e3 * run.slip, "mm/s"),
    )
    return [
        Chart(title, run.times, [Line(name, values[:, i]) for i, name in enumerate(names)], unit)
        for title, values, unit in series
    ]


SERIES: dict[str, Callable[[Trajectory], list[Chart]]] = {
    "joints": _joints,
    "rates": _rates,
    "forces": _forces,
    "energies": _energies,
    "works": _works,
    "momenta": _momenta,
    "center": _center,
    "contacts": _contacts,
}
"""Quantities that can be drawn, by name."""
