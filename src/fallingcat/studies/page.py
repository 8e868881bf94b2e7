"""The page of a study: the animation, the table, and the panels of its figures."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import arctan2, cos, sin
from ..control import LockedPolarSpring
from ..formulations import locked_angle
from ..model import Model, State
from ..views import Chart, Fact, Line, Page, Table, Text
from ..views.page import Block
from .looks import cycle_strip, hopper_scene
from .measures import stationarity
from .observed import Observed
from .study import Row, StudyResult

BINS, ZOOMED = 400, 3
"""Of the charts: intervals of which ends and extremes are kept, and hops in a zoom."""


def study_page(result: StudyResult) -> Page:
    """The page of a study that was run."""
    seen, table = result.observed, result.study.table
    panels = Panels(seen)
    blocks: list[Block] = [hopper_scene(seen), *panels.beside(), rows_table(result)]
    if result.curves:
        run = Text("The run from q1", "One of the runs: that of the parameters.")
        blocks = [_scan(result), rows_table(result), run, *blocks[:-1]]
    steady = len(seen.hops) > ZOOMED + 1 and stationarity(seen) < 1.0
    if steady:
        blocks.append(cycle_strip(seen))
    blocks += [Text(_figure(table.figures), "The whole run."), *panels.all()]
    if steady:
        near = panels.zoom()
        span = seen.times[near.keep]
        zoom = Text("Zoom", f"The last {ZOOMED} hops, from {span[0]:.2f} to {span[-1]:.2f} s.")
        blocks += [zoom, *near.all()]
    return Page(table.title, _subtitle(result), _facts(result), [*blocks, *_ends(result)])


def plain_page(result: StudyResult) -> Page:
    """Of any kind of study: the motion, the charts that every run has, the table, and the parameters."""
    blocks = [*result.trajectory.animate().blocks, rows_table(result), _ends(result)[0]]
    return Page(result.study.table.title, _subtitle(result), _facts(result), blocks)


def strip_page(result: StudyResult) -> Page:
    """Figure 4.17 alone: one cycle of the gait, again and again."""
    strip = cycle_strip(result.observed)
    return Page(
        result.study.table.title,
        "One cycle of the gait, stretched to the right so that pictures do not overlap.",
        (),
        (strip,),
    )


def _figure(figures: str) -> str:
    return "Series" if figures in ("", "none") else f"The panels of [Feurstein] Figure {figures}"


def _subtitle(result: StudyResult) -> str:
    changed = f" Changed: {', '.join(result.study.changed)}." if result.study.changed else ""
    ended = "" if result.trajectory.status == "finished" else f" The run {result.trajectory.status}."
    return f"{result.study.name}: {result.study.table.about}{changed}{ended}"


def _facts(result: StudyResult) -> list[Fact]:
    facts = [
        Fact("simulated", f"{result.trajectory.times[-1]:.4g} s", f"in {result.seconds:.2f} s with all its numbers")
    ]
    compared = [row for row in result.rows if row.verdict in ("agrees", "differs")]
    good = sum(row.verdict == "agrees" for row in compared)
    if compared:
        facts.append(Fact("agree", f"{good} of {len(compared)}", "published numbers that can be compared"))
    else:
        held = [row.holds for row in result.rows if row.holds is not None]
        facts.append(Fact("hold", f"{sum(held)} of {len(held)}", "numbers that have a tolerance"))
    shown = [
        (row.name, f"{number(row.ours)} {row.unit}".strip(), f"published: {said(row)}; {row.verdict}")
        for row in compared[:3]
    ]
    facts += [Fact(*texts) for texts in shown]
    return facts


# the table ----------------------------------------------------------------------------------------------------------


def number(x: float | None) -> str:
    """Five digits; a dash for nothing.

    >>> number(7.161018), number(None), number(53.0), number(1.6e-9)
    ('7.161', '-', '53', '1.6e-09')
    """
    if x is None:
        return "-"
    return "0" if x == 0.0 else f"{x:.5g}" if 1e-4 <= abs(x) < 1e5 else f"{x:.1e}"


def said(row: Row) -> str:
    """What was published: a number, words, or a dash."""
    return row.published if isinstance(row.published, str) else number(row.published)


def span(row: Row) -> str:
    """What would agree: ``from to to``, where something is published; else what would hold."""
    if row.band is None:
        return "-" if row.tolerance is None else f"{number(row.reference or 0.0)} +- {number(row.tolerance)}"
    low, high = (number(x) if np.isfinite(x) else "" for x in row.band)
    return low if low == high else f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}"


def judged(row: Row) -> str:
    """The verdict; and that a number that is not published is out of its tolerance, if it is."""
    return f"{row.verdict}, does not hold" if row.verdict == "not published" and row.holds is False else row.verdict


def rows_table(result: StudyResult) -> Table:
    """Published, ours, verdict."""
    header = ("quantity", "published", "computed by others", "ours", "unit", "agrees", "verdict", "where, and remark")
    rows = [
        (
            row.name, said(row), number(row.reference), number(row.ours), row.unit, span(row), judged(row),
            "; ".join(text for text in (row.where, row.remark) if text),
        )
        for row in result.rows
    ]  # fmt: skip
    return Table("Published and ours", header, rows, wide=True, good=[row.holds for row in result.rows])


def _ends(result: StudyResult) -> list[Text]:
    """The parameters, and how to run it again."""
    values = result.parameters.model_dump()
    shown = {key: f"{x:.10g}" if isinstance(x, float) else str(x) for key, x in values.items()}
    sets = "".join(f" --set {key}={shown[key]}" for key in result.study.changed)
    return [
        Text("Parameters (SI units, rad)", ", ".join(f"{key} = {x}" for key, x in shown.items())),
        Text("Again", f"fallingcat study run {result.study.name}{sets}"),
    ]


def _scan(result: StudyResult) -> Chart:
    q1, spin = np.degrees(result.curves["q1"]), 1e3 * result.curves["spin"]
    return Chart(
        "Angular momentum after the first lift-off",
        q1,
        [Line("about the center of mass", spin)],
        "mN m s",
        x_label="initial knee angle q1 (degrees)",
        wide=True,
    )


# the panels ---------------------------------------------------------------------------------------------------------


def kept(times: np.ndarray, push: np.ndarray, first: int, last: int) -> np.ndarray:
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
        self.keep = kept(seen.times, self.floor[:, 1], 0, len(seen.times) - 1)

    def zoom(self) -> Panels:
        """The same of the last hops."""
        near, hops = copy(self), self.seen.hops
        near.keep = kept(self.seen.times, self.floor[:, 1], hops[-ZOOMED - 1].start, hops[-1].start)
        return near

    def _chart(self, title: str, unit: str, **lines: np.ndarray) -> Chart:
        named = [Line(name.replace("_", " "), values[self.keep]) for name, values in lines.items()]
        return Chart(title, self.seen.times[self.keep], named, unit)

    def beside(self) -> list[Chart]:
        """What stands beside the animation."""
        return [self._height(), self._chart("Angle of the virtual leg", "degrees", **self._angles())]

    def all(self) -> list[Chart]:
        """Position, momenta, leg, forces, energies, works."""
        return [*self._motion(), *self._leg(), *self._books()]

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
        """Of the leg, and of the locked-velocity frame where it is controlled."""
        out = {"from_the_vertical": np.degrees(self.seen["alpha"])}
        law = next((law for law in self.seen.run.system.laws if isinstance(law, LockedPolarSpring)), None)
        if law is not None:
            turn = self.seen.run.measure(locked_orientation, reference=law.reference, angle=law.angle)
            out["locked_frame"] = np.degrees(np.unwrap(turn))
        return out

    def _floor(self) -> np.ndarray:
        """``N x 2``: force on the foot in the world, from the wrench on the base (N)."""
        ports = self.seen.run.system.contact.ports  # type: ignore[union-attr]
        total = sum((self.forces[port][:, :2] for port in ports), start=np.zeros((len(self.seen.times), 2)))
        return np.asarray(np.einsum("kij,kj->ki", self.seen.run.poses[:, :2, :2], total))

    def _controller(self, column: int) -> np.ndarray:
        """One generalised force of all laws together."""
        own = [self.forces[law.name][:, column] for law in self.seen.run.system.laws]
        return np.asarray(sum(own, start=np.zeros(len(self.seen.times))))

    def _books(self) -> list[Chart]:
        seen, ledger = self.seen, self.seen.run.ledger
        names = {law.name for law in seen.run.system.laws}
        own = [k for k, port in enumerate(ledger.ports) if port in names]
        floor = [k for k in range(len(ledger.ports)) if k not in own]
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
