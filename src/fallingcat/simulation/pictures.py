"""A run as a page: series over time, and the robot in motion."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import concatenate
from ..arrays.many import of_many
from ..dynamics import center_of_mass, forward_kinematics
from ..dynamics.checks import choice, positive
from ..errors import ModelError, told
from ..io.diagnostics import check_path
from ..model import Model, State
from ..records import html_table
from ..views import Arrows, Axes, Chart, Dot, Fact, Line, Page, Scene, Shape, Solid, looks, surface
from ..views.page import Extra

if TYPE_CHECKING:
    from .trajectory import Trajectory

FRAMES = 400
"""Pictures in an animation."""
PATCH = 61
"""Heights along each side of uneven ground."""


def page(run: Trajectory, names: Sequence[str]) -> Page:
    """Charts of the named quantities."""
    charts = [chart for name in names for chart in SERIES[choice(name, tuple(SERIES), "series")](run)]
    return Page(run.model.name, f"{run.status}; {run.integrator}", facts=_facts(run), blocks=charts)


def animation(
    run: Trajectory, names: Sequence[str], speed: float, shapes: Mapping[str, Sequence[Shape]] | None
) -> Page:
    """The robot in motion above the charts."""
    positive(speed, "speed")
    times = np.linspace(run.times[0], run.times[-1], min(FRAMES, max(2, len(run))))
    states = [run.at(t) for t in times]
    upright = turned_up(run.model.gravity)
    poses, centers = _placed(run.model, states)
    poses, centers = {name: upright @ H for name, H in poses.items()}, centers @ upright[:3, :3].T
    drawn, notes = looks(run.model) if shapes is None else (shapes, [])
    if not isinstance(drawn, Mapping) or not drawn.keys() <= poses.keys():
        raise ModelError(f"shapes is a mapping from names of links to solids, not {told(shapes)}")
    places = np.array([H[:, :3, 3] for H in poses.values()])  # names x times x 3
    travel, size = np.ptp(places[0], axis=0).max(), np.ptp(places[:, 0], axis=0).max()
    scene = Scene(
        times,
        {name: poses[name] for name in drawn},
        drawn,
        speed=speed,
        **_ground(run, upright, places),
        follow=bool(travel > 5.0 * (size + 0.1)),
        extras=_extras(run, times, centers, upright, poses, float(size)),
        notes=notes,
    )
    charts = page(run, names)
    return Page(charts.title, charts.subtitle, charts.facts, (scene, *charts.blocks))


def video(
    run: Trajectory,
    path: str | os.PathLike[str],
    speed: float,
    rate: int,
    size: tuple[int, int],
    shapes: Mapping[str, Sequence[Shape]] | None,
) -> None:
    """The animation alone, as a file."""
    from ..views.video import write_video

    check_path(path)
    if isinstance(rate, bool) or not isinstance(rate, (int, np.integer)) or not 1 <= rate <= 120:
        raise ModelError(f"rate is a number of pictures a second, from 1 to 120, not {told(rate)}")
    sides = np.asarray(size) if isinstance(size, (tuple, list)) and len(size) == 2 else np.zeros(2)
    if sides.dtype.kind not in "iu" or sides.min() < 16 or sides.max() > 4096:
        raise ModelError(f"size is width and height in pixels, from 16 to 4096, not {told(size)}")
    write_video(animation(run, (), speed, shapes), path, int(rate), (int(sides[0]), int(sides[1])))


def _placed(model: Model, states: Sequence[State]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Poses of all links (times x 4 x 4) by name, and the center of mass (times x 3; zero without mass)."""
    names = tuple(forward_kinematics(model, states[0]))

    def rows(q: Any) -> Any:
        state = model.unflatten(q)
        center = center_of_mass(model, state) if model.mass else np.zeros(3)
        return concatenate([*(H[:3].reshape(12) for H in forward_kinematics(model, state).values()), center])

    found = of_many(rows, np.array([model.flatten(state)[0] for state in states]))
    poses = np.tile(np.eye(4), (len(names), len(states), 1, 1))
    poses[:, :, :3] = found[:, :-3].reshape(len(states), len(names), 3, 4).transpose(1, 0, 2, 3)
    return dict(zip(names, poses, strict=True)), found[:, -3:]


def _ground(run: Trajectory, upright: np.ndarray, places: np.ndarray) -> dict[str, Any]:
    """The ground in the picture: a plane, or what rises above it around ``places`` (... x 3, in the picture)."""
    if run.system.contact is None:
        return {"floor": False}
    try:
        ground: Any = run.system.contact.ground(run.model)
    except ModelError:  # a contact that does not say where it is
        return {"floor": True}
    plane = getattr(ground, "plane", ground)
    H = np.eye(4)
    H[:3, :3] = np.stack([*plane.tangents, plane.normal], axis=1)
    H[:3, 3] = plane.height * plane.normal
    H = upright @ H
    if ground is plane:
        return {"floor": H}
    around = (places.reshape(-1, 3) - H[:3, 3]) @ H[:3, :2]
    margin = 0.5 * float(np.ptp(places, axis=(0, 1)).max()) + 0.2
    x, y = (
        np.linspace(low - margin, high + margin, PATCH) for low, high in zip(around.min(0), around.max(0), strict=True)
    )
    heights = np.array([[float(ground.relief.height(a, b)) for b in y] for a in x])
    return {"floor": False, "ground": (Solid(surface(x, y, heights), H, "#5b6b86"),)}


def _extras(
    run: Trajectory,
    times: np.ndarray,
    centers: np.ndarray,
    upright: np.ndarray,
    poses: Mapping[str, np.ndarray],
    size: float,
) -> list[Extra]:
    """Contact forces, the weight half as long as the robot; the center of mass; the frames of links."""
    turn = upright[:3, :3]
    extras: list[Extra] = [Dot("center of mass", centers, "#ff5d73")] if run.model.mass else []
    try:
        forces = run.contact_forces
    except ModelError:  # a contact without forces at points, or a run from a file without its laws
        return [*extras, Axes()]
    known = {name: i for i, name in enumerate(run.contact_points) if name in poses}
    if known:
        near = np.clip(np.searchsorted(run.times, times, side="right") - 1, 0, len(run) - 1)
        weight = run.model.mass * float(np.linalg.norm(run.model.gravity)) or 1.0
        arrows = forces[near][:, list(known.values())] @ turn.T * (0.5 * size / weight)
        lengths = np.linalg.norm(arrows, axis=2, keepdims=True)
        arrows = arrows * np.minimum(1.0, 0.6 * size / np.maximum(lengths, 1e-12))  # impacts stay in the picture
        starts = np.stack([poses[name][:, :3, 3] for name in known], axis=1)
        extras.append(Arrows("contact forces", starts, arrows))
    return [*extras, Axes()]


def turned_up(gravity: np.ndarray) -> np.ndarray:
    """World to picture, whose z is up: planar robots stand in the x-z plane there."""
    turn = np.eye(4)
    if abs(gravity[1]) > abs(gravity[2]):
        turn[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
    return turn


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
"""What can be drawn, by name."""
