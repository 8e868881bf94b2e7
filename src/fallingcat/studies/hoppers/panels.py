"""The figures of hoppers: the animation, the panels of [Feurstein] Figures 4.3 to 4.17, the curve of a scan."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import arctan2, cos, sin
from ...formulations import locked_angle
from ...model import Model, State
from ...visualization import Chart, Line, Table, Text
from ...visualization.page import Block
from ..kind import Figures
from ..tables import Study
from .appearance import cycle_strip, hopper_scene
from .energy_measures import disturbances
from .hopping_laws import LockedPolarSpring, PolarLaw
from .measures import stationarity
from .observed import Observed

BINS, ZOOMED_HOPS = 400, 3
"""Intervals of the charts of which ends and extremes are kept, and hops in a zoom."""


def hopper_figures(study: Study, seen: Observed) -> Figures:
    """The motion above the table, panels below it; a scan shows its curve first."""
    panels = Panels(seen)
    above: list[Block] = [hopper_scene(seen), *panels.notes()]
    below: list[Block] = []
    if seen.curves:
        below = [Text("The run from q1", "One of the runs: that of the parameters."), *above]
        above = [_scan(seen)]
    steady = len(seen.hops) > ZOOMED_HOPS + 1 and stationarity(seen) < 1.0
    if steady:
        below.append(cycle_strip(seen))
    below += [Text(_figure(study.table.figures), "The whole run."), *panels.all_charts()]
    if steady:
        near = panels.zoom()
        span = seen.times[near.keep]
        zoom = Text("Zoom", f"The last {ZOOMED_HOPS} hops, from {span[0]:.2f} to {span[-1]:.2f} s.")
        below += [zoom, *near.all_charts()]
    return Figures(above, below)


def search_figures(study: Study, seen: Observed) -> Figures:
    """The run with its panels, and the gaits that a search found, the fastest first."""
    one = hopper_figures(study, replace(seen, curves={}))
    names, gaits = list(seen.curves), np.array(list(seen.curves.values())).T
    rows = [[f"{x:.3g}" for x in row] for row in gaits]
    if len(rows) > 1:
        ends = zip(gaits.min(axis=0), gaits.max(axis=0), strict=True)
        rows.insert(0, [f"{low:.3g} to {high:.3g}" for low, high in ends])
    note = "The first row of many says from where to where they lie. SI units, rad: see the parameters."
    table = Table("Forward gaits that were found", names, rows, note, wide=True)
    return Figures(one.above, [table, *one.below])


def _figure(figures: str) -> str:
    return "Series" if not figures else f"The panels of [Feurstein] Figure {figures}"


def _scan(seen: Observed) -> Chart:
    q1, spin = np.degrees(seen.curves["q1"]), 1e3 * seen.curves["spin"]
    return Chart(
        "Angular momentum after the first lift-off",
        q1,
        [Line("about the center of mass", spin)],
        "mN m s",
        x_label="initial knee angle q1 (degrees)",
        wide=True,
    )


def chart_samples(times: np.ndarray, push: np.ndarray, first: int, last: int) -> np.ndarray:
    """Samples for a chart from ``first`` to ``last``: of every interval its ends, and the extremes of ``push`` (N)."""
    grid = np.linspace(times[first], times[last], BINS + 1)
    edges = [first, *(first + np.searchsorted(times[first : last + 1], grid[1:-1])).tolist(), last + 1]
    chosen: set[int] = set()
    for a, b in pairwise(edges):
        if b > a:
            chosen |= {a, b - 1, a + int(np.argmin(push[a:b])), a + int(np.argmax(push[a:b]))}
    return np.array(sorted(chosen))


class Panels:
    """The charts of [Feurstein] Figures 4.3 to 4.16."""

    def __init__(self, seen: Observed) -> None:
        self.seen = seen
        self.forces = seen.run.port_forces
        self.floor = self._floor()
        self.keep = chart_samples(seen.times, self.floor[:, 1], 0, len(seen.times) - 1)

    def zoom(self) -> Panels:
        """The same of the last hops."""
        near, hops = copy(self), self.seen.hops
        near.keep = chart_samples(self.seen.times, self.floor[:, 1], hops[-ZOOMED_HOPS - 1].start, hops[-1].start)
        return near

    def _chart(self, title: str, unit: str, **lines: np.ndarray) -> Chart:
        named = [Line(name.replace("_", " "), values[self.keep]) for name, values in lines.items()]
        return Chart(title, self.seen.times[self.keep], named, unit)

    def notes(self) -> list[Chart]:
        """Notes beside the animation."""
        return [self._height(), self._chart("Angle of the virtual leg", "degrees", **self._angles())]

    def all_charts(self) -> list[Chart]:
        """Position, momenta, leg, forces, energies, works; what laws do to each other's velocity."""
        return [*self._motion(), *self._leg(), *self._energy_balance(), *self._disturbances()]

    def _disturbances(self) -> list[Chart]:
        if not any(isinstance(law, PolarLaw) for law in self.seen.run.problem.laws):
            return []
        found = {name: np.maximum(x, 1e-16)[self.keep] for name, x in disturbances(self.seen).items()}
        lines = [Line(name, values) for name, values in found.items()]
        title = "Accelerations by law (m/s², rad/s²): the first two are disturbances"
        return [Chart(title, self.seen.times[self.keep], lines, log=True, wide=True)]

    def _height(self) -> Chart:
        return self._chart("Height", "m", center_of_mass=self.seen["com_y"], foot=self.seen["foot_y"])

    def _motion(self) -> list[Chart]:
        seen = self.seen
        return [
            self._chart("Way of the center of mass", "m", horizontal=seen["com_x"]),
            self._height(),
            self._chart("Linear momentum", "N s", horizontal=seen["p_x"], vertical=seen["p_y"]),
            self._chart("Angular momentum", "mN m s", about_the_center_of_mass=1e3 * seen["spin"]),
        ]

    def _leg(self) -> list[Chart]:
        seen = self.seen
        joint = "N m" if np.any(seen.run.model.joints[0].kind.group.selection[3:]) else "N"
        return [
            self._chart("Spring extension", "mm", beyond_rest=1e3 * (seen["r"] - seen.spring.rest)),
            self._chart("Angle of the virtual leg", "degrees", **self._angles()),
            self._chart("Radial velocity", "m/s", of_the_leg=seen["r_dot"]),
            self._chart("Polar velocity", "rad/s", of_the_leg=seen["alpha_dot"]),
            self._chart("Force of the floor", "N", horizontal=self.floor[:, 0], vertical=self.floor[:, 1]),
            self._chart("Force of the joint", joint, controller=self._controller(3)),
            self._chart("Torque on the base", "N m", controller=self._controller(2)),
        ]

    def _angles(self) -> dict[str, np.ndarray]:
        """Angles of the leg, and of the locked-velocity frame where it is controlled."""
        out = {"from_the_vertical": np.degrees(self.seen["alpha"])}
        law = next((law for law in self.seen.run.problem.laws if isinstance(law, LockedPolarSpring)), None)
        if law is not None:
            turn = self.seen.run.measure(locked_orientation, reference=law.reference, angle=law.angle)
            out["locked_frame"] = np.degrees(np.unwrap(turn))
        return out

    def _floor(self) -> np.ndarray:
        """``N x 2``: force on the foot in the world, from the wrench on the base (N)."""
        ports = self.seen.run.problem.contact.ports  # type: ignore[union-attr]
        total = sum((self.forces[port][:, :2] for port in ports), start=np.zeros((len(self.seen.times), 2)))
        return np.asarray(np.einsum("kij,kj->ki", self.seen.run.poses[:, :2, :2], total))

    def _controller(self, column: int) -> np.ndarray:
        """One generalised force of all laws together."""
        own = [self.forces[law.name][:, column] for law in self.seen.run.problem.laws]
        return np.asarray(sum(own, start=np.zeros(len(self.seen.times))))

    def _energy_balance(self) -> list[Chart]:
        seen, ledger = self.seen, self.seen.run.ledger
        own, floor = seen.law_ports, seen.floor_ports
        base, joints = ledger.base[:, own].sum(axis=1), ledger.joints[:, own].sum(axis=1)
        parts = {"kinetic": seen["kinetic"], "gravity": seen["gravity"], "spring": seen.spring_energy}
        return [
            self._chart("Energies", "J", **parts, total=seen.energy),
            self._chart("Work", "J", external=base, joint=joints, floor=ledger.works[:, floor].sum(axis=1)),
            self._chart("Work of each law", "J", **{ledger.ports[k]: ledger.works[:, k] for k in own}),
            self._chart("Work of the floor", "J", **{ledger.ports[k]: ledger.works[:, k] for k in floor[:2]}),
        ]


def locked_orientation(model: Model, state: State, *, reference: tuple[float, ...], angle: float) -> Any:
    """``alpha_c`` (rad): orientation of the frame that turns with the locked velocity, from ``angle``."""
    turn = locked_angle(model, state.joints, np.array(reference)) - angle
    R = state.pose
    c, s = cos(turn), sin(turn)
    return arctan2(R[1, 0] * c + R[0, 0] * s, R[0, 0] * c - R[1, 0] * s)
