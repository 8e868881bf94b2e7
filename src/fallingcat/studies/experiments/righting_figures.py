"""Figures of a robot that rights itself: flight and landing in one picture, and the curvature behind the turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...compiler import compile
from ...dynamics import forward_kinematics
from ...planning import Mapper, Plane
from ...visualization import Arrows, Chart, HeatMap, Line, Scene, Trace, appearance
from ..kind import Figures

if TYPE_CHECKING:
    from .righting import RightingResult

FRAMES, SLOW = 300, 0.2
"""Frames of the animation, and playback speed."""
SHOWN_TIME = 1.1
"""s: of the landing that is animated"""
GRID = 41
LEG = 3
"""Joints in a chart."""


def figures(seen: RightingResult) -> Figures:
    """The robot in motion and the map above the table; series below."""
    below = (_joints(seen), _torques(seen), _spin(seen), *_ground(seen))
    return Figures((_scene(seen), _map(seen), _attitude(seen)), below)


def _scene(seen: RightingResult) -> Scene:
    times = np.linspace(
        0.0, min(seen.touchdown + SHOWN_TIME, seen.touchdown + float(seen.landing_run.times[-1])), FRAMES
    )
    states = [
        seen.flight.at(t)
        if t <= seen.touchdown
        else seen.landing_run.at(min(t - seen.touchdown, seen.landing_run.times[-1]))
        for t in times
    ]
    kinematics = compile(seen.robot.model, forward_kinematics, state=["pose", "joints"])
    poses = kinematics(np.array([s.pose[:3] for s in states]), np.array([s.joints for s in states]))
    shapes, notes = appearance(seen.robot.model)
    ghosts = [seen.touchdown * np.sqrt(share) for share in (0.0, 1 / 3, 2 / 3)]  # at equal heights
    near = np.clip(np.searchsorted(seen.landing_run.times, times - seen.touchdown, side="right") - 1, 0, None)
    forces = np.where((times > seen.touchdown)[:, None, None], seen.landing_run.contact_forces[near], 0.0)
    starts = np.stack([poses[foot][:, :3, 3] for foot in seen.robot.feet], axis=1)
    size = np.maximum(np.linalg.norm(forces, axis=2, keepdims=True), 1e-12)
    vectors = forces / size * np.minimum(0.4 * size / seen.weight, 0.3)  # the first instant stays in the picture
    arrows = Arrows("contact forces", starts, vectors)
    drawn = {name: poses[name] for name in shapes}
    return Scene(times, drawn, shapes, SLOW, True, ghosts, -60.0, 10.0, extras=[arrows], notes=notes)


def _map(seen: RightingResult) -> HeatMap:
    """The curvature about the forward axis over the plane of the circles."""
    curve, model = seen.plan.curve, seen.robot.model
    plane = Plane(np.stack([curve.first, curve.second], axis=1), curve.origin + curve.tuck)
    grid = np.linspace(-1.2 * curve.bend, 1.2 * curve.bend, GRID)
    turn = -Mapper(model).map(plane, grid, grid).values[:, :, 3]
    a = np.linspace(0.0, 2.0 * np.pi, 121)
    trace = Trace("one circle of the legs", curve.bend * np.cos(a), curve.bend * np.sin(a))
    return HeatMap(
        "Why it turns: curvature over the plane in which all legs circle",
        grid,
        grid,
        turn,
        x_label="first direction of all joints (share of its largest)",
        y_label="second",
        unit="rad",
        traces=(trace,),
        equal=True,
        note="Turn about the forward axis per area that a small motion encloses. Colors times area inside the white "
        "curve add up to the turn of one circle, to leading order.",
    )


def _joined_series(seen: RightingResult, flight: np.ndarray, landing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two series, one after the other, and their times."""
    return np.append(seen.flight.times, seen.touchdown + seen.landing_run.times), np.concatenate([flight, landing])


def _attitude(seen: RightingResult) -> Chart:
    up = [np.degrees(np.arccos(np.clip(run.poses[:, 2, 2], -1.0, 1.0))) for run in (seen.flight, seen.landing_run)]
    times, tilt = _joined_series(seen, *up)
    return Chart("Tilt of the trunk", times, [Line("angle between its up and the world's", tilt)], "degrees")


def _joints(seen: RightingResult) -> Chart:
    times, joints = _joined_series(seen, seen.flight.joints, seen.landing_run.joints)
    names = seen.robot.model.joint_names[:LEG]
    lines = [Line(name, np.degrees(joints[:, i])) for i, name in enumerate(names)]
    return Chart("Joints of the first leg", times, lines, "degrees")


def _torques(seen: RightingResult) -> Chart:
    lines = [Line(name, seen.torques[:, i]) for i, name in enumerate(seen.robot.model.joint_names[:LEG])]
    return Chart("Torques of the first leg", seen.ticks, lines, "N m")


def _spin(seen: RightingResult) -> Chart:
    spin = np.linalg.norm(seen.flight.momenta("centroidal")[:, 3:], axis=1)
    lines = [Line("size", np.maximum(spin, 1e-18))]
    return Chart("Angular momentum in flight", seen.flight.times, lines, "N m s", log=True)


def _ground(seen: RightingResult) -> tuple[Chart, Chart]:
    run, times = seen.landing_run, seen.touchdown + seen.landing_run.times
    forces = [Line(name, run.contact_forces[:, i, 2]) for i, name in enumerate(seen.robot.feet)]
    heights = [Line("base", run.poses[:, 2, 3])]
    return Chart("Ground below the feet", times, forces, "N"), Chart("Height after touchdown", times, heights, "m")
