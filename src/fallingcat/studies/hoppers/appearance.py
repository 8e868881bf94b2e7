"""Appearance of the hoppers: rods, masses, the center of mass and the virtual leg."""

from __future__ import annotations

import numpy as np

from ...dynamics import center_of_mass, forward_kinematics
from ...model import State
from ...visualization import Capsule, Scene, Shape
from .hopper import FOOT
from .observed import Observed

UPRIGHT = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
"""World, with y up, to picture, with z up."""
TRUNK, THIGH, SHANK, SPRING, CENTER = "#e8974e", "#e8974e", "#5aa9e6", "#7bc47f", "#f3f4f8"
FRAMES_PER_SECOND, MAX_FRAMES = 60, 1200
PICTURES, PICTURE_SPACING = 9, 0.16
"""In the strip of a cycle, and how far apart they are (m)."""


def hopper_scene(seen: Observed) -> Scene:
    """The whole run; the camera goes along at its height."""
    t = seen.times
    count = int(np.clip((t[-1] - t[0]) * FRAMES_PER_SECOND, 2, MAX_FRAMES))
    times = np.linspace(t[0], t[-1], count)
    poses, shapes = _parts(seen, times)
    return Scene(times, poses, shapes, 0.25 if t[-1] > 2.5 else 0.1, True, (), -90.0, 7.0, follow="level")


def cycle_strip(seen: Observed) -> Scene:
    """Figure 4.17: the last cycle of the gait, from apex to apex, drawn apart."""
    first, last = (seen.apex_time(hop) for hop in seen.hops[-3:-1])
    times = np.linspace(first, last, 121)
    poses, shapes = _parts(seen, times)
    ghosts = np.linspace(first, last, PICTURES).tolist()
    traveled = seen.run.at(last).pose[0, 3] - seen.run.at(first).pose[0, 3]
    drift = (PICTURE_SPACING * (PICTURES - 1) - traveled) / (last - first)
    for part in poses.values():
        part[:, 0, 3] += drift * (times - first)
    caption = (
        f"One cycle, {last - first:.3f} s from apex to apex, stretched to the right so that the pictures stand apart"
    )
    return Scene(times, poses, shapes, 0.1, True, ghosts, -90.0, 4.0, strip=True, caption=caption)


def _parts(seen: Observed, times: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, list[Shape]]]:
    """Rods are drawn from (0, 0, 0) to (1, 0, 0) of a frame whose x axis is as long as the rod."""
    states = [seen.run.at(float(t)) for t in times]
    points = [_points(seen, state) for state in states]
    names = list(points[0])
    at = {name: np.array([p[name] for p in points]) for name in names}
    ends = {"thigh": ("trunk", "knee"), "shank": ("knee", FOOT)} if "knee" in at else {"leg": ("trunk", FOOT)}
    poses = {name: _rods(at[a], at[b]) for name, (a, b) in (ends | {"virtual leg": ("center", FOOT)}).items()}
    balls = {name: _rods(at[name], at[name]) for name in ("trunk", "center", FOOT)}
    shapes: dict[str, list[Shape]] = {"virtual leg": [_rod(0.0022, SPRING)]}
    for name, color in zip(ends, (THIGH, SHANK), strict=False):
        shapes[name] = [_rod(0.007, color)]
    shapes |= {"trunk": [_ball(0.012, TRUNK)], "center": [_ball(0.0075, CENTER)], FOOT: [_ball(0.0085, SHANK)]}
    return poses | balls, shapes


def _points(seen: Observed, state: State) -> dict[str, np.ndarray]:
    """Places (3) in the picture: trunk, knee, foot, center of mass."""
    model = seen.run.model
    frames = forward_kinematics(model, state)
    places = {"trunk": frames[model.links[0].name][:3, 3], FOOT: frames[FOOT][:3, 3]}
    if model.links[1].name != FOOT:
        places["knee"] = frames[model.links[1].name][:3, 3]
    places["center"] = center_of_mass(model, state)
    return {name: UPRIGHT[:3, :3] @ np.asarray(p) for name, p in places.items()}


def _rods(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``N x 4 x 4``: origin at ``a``, x axis to ``b``; only that axis is used."""
    out = np.tile(np.eye(4), (len(a), 1, 1))
    out[:, :3, 3] = a
    out[:, :3, 0] = b - a
    return out


def _rod(radius: float, color: str) -> Capsule:
    return Capsule((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), radius, color)


def _ball(radius: float, color: str) -> Capsule:
    return Capsule((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), radius, color)
