"""The figures of the least-time cat: both cats side by side, their joints within limits, and how the time was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...compiler import compile
from ...dynamics import center_of_mass, forward_kinematics
from ...model import robots
from ...planning.righting.page import cat_appearance
from ...simulation import Trajectory
from ...visualization import Chart, Line, Scene, Table, Text
from ..kind import Figures

if TYPE_CHECKING:
    from .least_time import RightingResult

FRAMES, CAT_SPACING, SPEED = 200, 0.5, 0.05
"""Frames of the animation, height of one cat above the other (m), and playback speed."""


def figures(seen: RightingResult) -> Figures:
    """The motion, the turn and the momentum above the table; limits and the search below it."""
    return Figures((_scene(seen), _tilt(seen), _spin(seen)), (*_limits(seen), _limits_table(seen), *_search(seen)))


def _scene(seen: RightingResult) -> Scene:
    """Both, seen from their centers of mass, until the slower one is done."""
    times = np.linspace(0.0, seen.plan.shortest, FRAMES)
    poses, shapes = {}, {}
    looks = cat_appearance(robots.cat())
    for name, run, z in (("planned", seen.planned_run, 0.0), ("least time", seen.run, CAT_SPACING)):
        for link, H in _links(run, times).items():
            if looks.get(link):
                H[:, 2, 3] += z
                poses[f"{name}: {link}"], shapes[f"{name}: {link}"] = H, looks[link]
    took = seen.plan.shortest, seen.least_time.time
    caption = f"Below as planned by curvature, {took[0]:.3f} s; above in the least time, {took[1]:.3f} s"
    return Scene(times, poses, shapes, SPEED, False, (), -70.0, 10.0, caption=caption)


def _links(run: Trajectory, times: np.ndarray) -> dict[str, np.ndarray]:
    """``N x 4 x 4`` each: links, from the center of mass; at the end of a run they stay as they are."""
    keep = np.minimum(np.searchsorted(run.times, times), len(run) - 1)
    given = run.poses[keep, :3], run.joints[keep]
    links = compile(run.model, forward_kinematics, state=["pose", "joints"])(*given)
    center = compile(run.model, center_of_mass, state=["pose", "joints"])(*given)
    out = {}
    for name, H in links.items():
        out[name] = np.array(H)
        out[name][:, :3, 3] -= center
    return out


def _tilt(seen: RightingResult) -> Chart:
    times = np.linspace(0.0, seen.plan.shortest, FRAMES)
    lines = [
        Line(name, np.interp(times, run.times, np.degrees(np.arccos(np.clip(run.poses[:, 2, 2], -1.0, 1.0)))))
        for name, run in (("least time", seen.run), ("planned", seen.planned_run))
    ]
    return Chart("Tilt of the base", times, lines, "deg")


def _limits(seen: RightingResult) -> list[Chart]:
    """Joints, speeds and torques over time, as shares of their limits, and the limits."""
    at = np.unique(np.linspace(0, len(seen.run) - 1, 2 * FRAMES).astype(int))
    ends = [Line("limit", np.ones(len(at))), Line("limit", -np.ones(len(at)))]
    names = {"joints": "Joints", "speeds": "Speeds of the joints", "torques": "WholeBodyResult"}
    return [
        Chart(
            f"{names[what]}, as shares of their limits",
            seen.run.times[at],
            [*(Line(name, values[at, i]) for i, name in enumerate(seen.model.joint_names)), *ends],
        )
        for what, values in seen.shares.items()
    ]


def _limits_table(seen: RightingResult) -> Table:
    at_limits = seen.least_time.at_limits.T
    rows = [
        (
            name, f"{np.degrees(limits.upper):.0f} deg", f"{limits.velocity:g} rad/s", f"{limits.effort:g} N m",
            *(f"{100.0 * share:.0f} %" for share in shares),
        )
        for name, limits, shares in zip(seen.model.joint_names, seen.model.limits, at_limits, strict=True)
    ]  # fmt: skip
    header = ("joint", "angle up to", "speed", "torque", "time at the angle", "at the speed", "at the torque")
    return Table("Which limits bind", header, rows, note="Time within 0.01 rad, or 1 %, of a limit.", wide=True)


def _search(seen: RightingResult) -> list[Chart | Table | Text]:
    found = seen.least_time
    counts, times = np.array(found.refined).T
    lines = [Line("least time", 1e3 * times), Line("planned", np.full(len(times), 1e3 * seen.plan.shortest))]
    rows = [(str(k), "-" if np.isnan(T) else f"{1e3 * T:.2f} ms") for k, T in enumerate(found.tried)]
    first = f"with {found.refined[0][0]} intervals"
    words = (
        f"A local optimum: the quickest of those that {len(found.tried)} starts lead to; {seen.equal_starts} come "
        "within 1 %. Nothing says that no other motion is quicker. Start 0 is the planned manoeuvre; the others are "
        "random changes of it and plans that carry the bend around more or less often. Links may touch each other."
    )
    return [
        Table("Where starts lead to", ("start", f"least time, {first}"), rows),
        Chart("Time over the number of intervals", counts, lines, "ms", x_label="intervals of the spline"),
        Text("What least means", words),
    ]


def _spin(seen: RightingResult) -> Chart:
    at = np.unique(np.linspace(0, len(seen.run) - 1, 2 * FRAMES).astype(int))
    size = np.maximum(seen.spin(seen.run)[at], 1e-18)
    return Chart("Angular momentum, relative", seen.run.times[at], [Line("about the center of mass", size)], log=True)
