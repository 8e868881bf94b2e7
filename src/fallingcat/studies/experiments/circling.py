"""An arm follows a circle while its elbow moves where the tool does not feel it: priorities at work, as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...control import JointLimits, PoseTask, PositionTask, velocities
from ...dynamics import forward_kinematics, link_pose
from ...lie import Trivial
from ...model import Model, robots
from ...visualization import Chart, Dot, Line, Scene, appearance
from ..kind import Figures, Parameters, Progress, StudyKind, study_kind
from ..tables import Study

TOOL, ELBOW = "tool", "link4"
TRANSIENT_TIME = 0.5
"""s: from then on errors count, which decay from where the arm starts."""


class CirclingParameters(Parameters):
    """Parameters of the circle, the elbow and the controller."""

    radius: Annotated[float, Field(gt=0.0, le=0.3)] = 0.12
    """m, of the tool's circle, upright across the arm"""
    period: Annotated[float, Field(gt=0.1, le=60.0)] = 4.0
    """s, once round"""
    elbow: Annotated[float, Field(ge=0.0, le=1.0)] = 0.15
    """m/s, the largest speed that the elbow is asked for, to and fro sideways"""
    gain: Annotated[float, Field(gt=0.0, le=100.0)] = 20.0
    """1/s"""
    step: Annotated[float, Field(gt=0.0, le=0.05)] = 0.01
    """s between two velocities"""


class CirclingResult(NamedTuple):
    """Observed quantities at each step."""

    model: Model
    times: np.ndarray
    joints: np.ndarray
    errors: np.ndarray
    """``N x 6`` of the tool: m, rad"""
    velocity_error: np.ndarray
    """``N``: the largest difference between the tool's velocity and what its task asks for (m/s, rad/s)"""
    elbow: np.ndarray
    """``N x 3``: where the elbow is (m)"""

    def after_transient(self, values: np.ndarray) -> np.ndarray:
        """Values after the transient of the beginning."""
        return values[self.times >= TRANSIENT_TIME]


@study_kind
class Circling(StudyKind[CirclingParameters, CirclingResult]):
    """The tool first, then the elbow, within joint limits."""

    name, parameters = "circling-arm", CirclingParameters
    measures: Mapping[str, Callable[[CirclingResult], SupportsFloat]] = {
        "tool_error": lambda seen: np.linalg.norm(seen.after_transient(seen.errors)[:, :3], axis=1).max(),
        "tool_turn": lambda seen: np.linalg.norm(seen.after_transient(seen.errors)[:, 3:], axis=1).max(),
        "disturbance": lambda seen: seen.velocity_error.max(),
        "elbow_travel": lambda seen: np.ptp(seen.after_transient(seen.elbow)[:, 1]),
        "room": lambda seen: min(
            float(np.min(side * (limit - seen.joints[:, i])))
            for i, bounds in enumerate(seen.model.limits)
            for side, limit in ((1.0, bounds.upper), (-1.0, bounds.lower))
        ),
    }

    def run(self, parameters: CirclingParameters, progress: Progress) -> CirclingResult:
        """Follow the circle with the tool and sway with the elbow, step by step."""
        model = replace(robots.orbital_arm(), name="circling arm", base=Trivial())
        state = model.state(joints=[0.0, -0.5, 0.0, 1.3, 0.0, -0.6, 0.0])
        H = link_pose(model, state, TOOL)
        w, dt, r = 2.0 * np.pi / parameters.period, parameters.step, parameters.radius
        times, rows = np.arange(0.0, 2.0 * parameters.period, dt), []
        for i, t in enumerate(times):
            if i % 200 == 0:
                progress("circling", i / len(times))
            goal, c, s = H.copy(), np.cos(w * t), np.sin(w * t)
            goal[:3, 3] += r * np.array([0.0, s, c - 1.0])
            along = np.array([0.0, r * w * c, -r * w * s, 0.0, 0.0, 0.0])
            tool = PoseTask(TOOL, goal, velocity=along, gain=parameters.gain)
            sway = [0.0, parameters.elbow * np.sin(2.0 * w * t), 0.0]
            elbow = PositionTask(ELBOW, velocity=sway, mask=(False, True, False))
            found = velocities(model, state, [[tool], [elbow]], limits=[JointLimits(gain=1.0 / dt)])
            at = link_pose(model, state, ELBOW)[:3, 3]
            rows.append((state.joints, tool.demand(model, state).error, np.abs(found.residuals[0]).max(), at))
            state = model.configuration.displace(state, dt * found.velocity)
        joints, errors, missed, places = (np.array(column) for column in zip(*rows, strict=True))
        return CirclingResult(model, times, joints, errors, missed, places)

    def figures(self, study: Study, seen: CirclingResult) -> Figures:
        """The arm in motion, its errors, its joints."""
        keep = np.linspace(0, len(seen.times) - 1, 240).astype(int)
        drawn, notes = appearance(seen.model)
        moved = [forward_kinematics(seen.model, seen.model.state(joints=seen.joints[i])) for i in keep]
        poses = {name: np.array([each[name] for each in moved]) for name in drawn}
        dots = [Dot("tool", np.array([each[TOOL][:3, 3] for each in moved])), Dot("elbow", seen.elbow[keep], "#ffd166")]
        scene = Scene(seen.times[keep], poses, drawn, floor=True, extras=dots, notes=notes)
        sizes = [Line("position (m)", np.linalg.norm(seen.errors[:, :3], axis=1))]
        sizes.append(Line("rotation (rad)", np.linalg.norm(seen.errors[:, 3:], axis=1)))
        names = seen.model.joint_names
        joints = [Line(name, seen.joints[:, i]) for i, name in enumerate(names)]
        charts = (
            Chart("Error of the tool", seen.times, [Line(x.name, np.maximum(x.values, 1e-9)) for x in sizes], log=True),
            Chart("Joints", seen.times, joints, "rad"),
            Chart("Elbow, sideways", seen.times, [Line("y", seen.elbow[:, 1])], "m"),
        )
        return Figures((scene,), charts)
