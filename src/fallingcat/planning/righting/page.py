"""Page of a drop: the fall, the curvature that turns it, and the balance of momentum and energy."""

from __future__ import annotations

import numpy as np

from ...compiler.compilation import compile_step
from ...dynamics import forward_kinematics
from ...model import Model
from ...visualization import Capsule, Chart, Fact, HeatMap, Line, Page, Scene, Shape, Trace, Triangle, model_shapes
from ..curvature.maps import Mapper, Plane
from .drop import Drop

FRAMES, SHOWN_TIME = 160, 5.0
"""Number of frames of the animation, and its duration (s): slow motion for a fall of half a second."""
CAMERA_HEIGHT = 3.0
"""Height of a fall (m) from which on the camera falls along."""
FUR, LIGHT, DARK = "#e8974e", "#f3cfa2", "#2a2320"
"""Colors of the cat."""
_TITLE = "A cat that falls without spin lands on its feet"
_EXPLANATION = (
    "It starts at rest and falls under gravity alone. It bends, carries the bend around, and straightens: the "
    "curvature of its mechanical connection turns it over, with zero angular momentum all the way."
)


def drop_page(fall: Drop, whole: Model, is_cat: bool) -> Page:
    """Page of ``fall``; ``whole`` is the robot with all of its links, for its geometry."""
    keep = _frame_indices(fall)
    times = fall.trajectory.times[keep]
    title = _TITLE if is_cat else f"{fall.model.name} falls without spin and turns over"
    return Page(
        title,
        _EXPLANATION,
        facts=_facts(fall),
        blocks=(_scene(fall, whole, keep, is_cat), _map(fall), *_charts(fall, keep, times)),
    )


def _frame_indices(fall: Drop) -> np.ndarray:
    last = len(fall.trajectory.times) - 1
    return np.unique(np.linspace(0, last, FRAMES + 1).round().astype(int))


def _facts(fall: Drop) -> list[Fact]:
    curve = fall.manoeuvre.curve
    return [
        Fact("turned", f"{np.degrees(fall.turned):.2f}°", _tilts(fall)),
        Fact("angular momentum", f"{fall.angular_momentum.max():.0e}", "of what the joints move"),
        Fact("bend", f"{np.degrees(curve.bend):.1f}°", f"around {curve.turns:g} times in {fall.duration:.2f} s"),
        Fact("peak joint torque", f"{fall.peak_force:.1f} N m", "no wrench on the base"),
        Fact("energy minus work", f"{fall.energy_residual:.0e}", "of the energy moved or passed on"),
        Fact("fall", f"{fall.trajectory.times[-1]:.3f} s", f"{fall.fallen:.2f} m down"),
    ]


def _tilts(fall: Drop) -> str:
    ends = [float(np.degrees(x)) for x in (fall.start_tilt, fall.landing_tilt)]
    return f"starts {ends[0]:.0f}°, lands {ends[1]:.2f}° off upright"


def _scene(fall: Drop, whole: Model, keep: np.ndarray, is_cat: bool) -> Scene:
    path = fall.trajectory
    kinematics = compile_step(fall.model, forward_kinematics, {}, ["pose", "joints"])
    poses = kinematics(path.poses[keep, :3], path.joints[keep])
    shapes: dict[str, list[Shape]] = cat_appearance(whole) if is_cat else model_shapes(whole)
    up = -fall.model.gravity / np.linalg.norm(fall.model.gravity)
    turn = _upright(up)
    upright = {name: turn @ H for name, H in poses.items() if name in shapes}
    times = path.times[keep]
    ghosts = np.sqrt(np.linspace(0.0, 1.0, 5)[:-1]) * times[-1]  # at equal heights
    speed = min((0.05, 0.1, 0.25, 0.5, 1.0), key=lambda x: abs(np.log(x * SHOWN_TIME / times[-1])))
    high = fall.fallen > CAMERA_HEIGHT
    return Scene(times, upright, shapes, speed, True, () if high else ghosts, -72.0, 9.0, follow=high)


def _upright(up: np.ndarray) -> np.ndarray:
    """``4 x 4``: turns the world so that up is z."""
    out = np.eye(4)
    if up[2] < 1.0 - 1e-12:
        side = np.linalg.svd(up[None])[2][1]
        out[:3, :3] = np.stack([side, np.cross(up, side), up])
    return out


def cat_appearance(cat: Model) -> dict[str, list[Shape]]:
    """Fur, face, ears and paws of the sample cat; masses have no looks."""
    shapes = model_shapes(cat)
    for name, parts in shapes.items():
        color = LIGHT if name.endswith("leg_link") else FUR
        shapes[name] = [_with_color(part, color) for part in parts if not name.startswith("vertebra")]
        if name.endswith("leg_link"):
            shapes[name].append(Capsule((0.004, 0.0, -0.19), (0.016, 0.0, -0.192), 0.018, LIGHT))
    shapes["front"].append(Capsule((0.06, 0.0, -0.014), (-0.05, 0.0, -0.014), 0.046, LIGHT))
    shapes["front"].append(Capsule((0.09, 0.0, 0.012), (0.13, 0.0, 0.03), 0.036, FUR))
    shapes["vertebra1"].append(Capsule((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.053, FUR))
    shapes["tail"] = [Capsule((0.0, 0.0, 0.0), (-0.25, 0.0, 0.0), 0.011, FUR)]
    head: list[Shape] = [Capsule((0.07, 0.0, -0.012), (0.078, 0.0, -0.012), 0.019, LIGHT)]
    for side in (1.0, -1.0):
        tip, outer, inner = (0.034, 0.036, 0.074), (0.03, 0.044, 0.022), (0.042, 0.012, 0.04)
        head.append(Triangle([(x, side * y, z) for x, y, z in (tip, outer, inner)], FUR))
        back = ((0.026, 0.03, 0.07), (0.018, 0.044, 0.02), (0.026, 0.012, 0.04))
        head.append(Triangle([(x, side * y, z) for x, y, z in back], "#b9703a"))
        head.append(Capsule((0.078, side * 0.017, 0.014), (0.078, side * 0.017, 0.014), 0.0065, DARK))
    head.append(Capsule((0.096, 0.0, -0.007), (0.096, 0.0, -0.007), 0.005, "#d9727a"))
    shapes["head"] += head
    return shapes


def _with_color(shape: Shape, color: str) -> Shape:
    from dataclasses import replace

    return replace(shape, color=color)


def _map(fall: Drop) -> HeatMap:
    """The curvature about the axis of the turn over the plane of the bend, the other joints as they are held."""
    model, curve = fall.model, fall.manoeuvre.curve
    plane = Plane(np.stack([curve.first, curve.second], axis=1), curve.origin + curve.tuck)
    grid = np.linspace(-1.25 * curve.bend, 1.25 * curve.bend, 61)
    turn = -Mapper(model).map(plane, grid, grid).values[:, :, 3:] @ fall.manoeuvre.axis
    s = np.linspace(0.0, 1.0, 241)
    r = (curve(s).q - curve.origin - curve.weight(s)[:, None] * curve.tuck) @ np.linalg.pinv(plane.directions).T
    trace = Trace("the bend on its way around", np.degrees(r[:, 0]), np.degrees(r[:, 1]), s * fall.duration)
    x, y = fall.bending.names
    return HeatMap(
        "Why it turns: curvature over the bend",
        np.degrees(grid),
        np.degrees(grid),
        turn,
        x_label=f"{x} (degrees)",
        y_label=f"{y} (degrees)",
        unit="rad/rad²",
        traces=(trace,),
        equal=True,
        zero="zero curvature",
        note="Turn about the axis of the whole turn per area that a small gait encloses. The area inside the white "
        f"curve, weighted with the colors, is the turn to leading order.{_shares(fall)}",
    )


def _shares(fall: Drop) -> str:
    """Joints of the two bends, where they are not single joints."""
    words = []
    for name, shares in zip(fall.bending.names, (fall.bending.first, fall.bending.second), strict=True):
        if name not in fall.model.joint_names:
            parts = [f"{j} {x:+.2f}" for j, x in zip(fall.model.joint_names, shares, strict=True) if abs(x) > 0.005]
            words.append(f" {name.capitalize()}: {', '.join(parts)}.")
    return "".join(words)


def _charts(fall: Drop, keep: np.ndarray, times: np.ndarray) -> list[Chart]:
    path, model = fall.trajectory, fall.model
    names = model.rate_joints
    busy = [k for k in range(model.n) if np.abs(path.rates[:, k]).max() > 0.0]
    up = -model.gravity / np.linalg.norm(model.gravity)
    tilt = np.degrees(np.arccos(np.clip(np.einsum("i,kij,j->k", up, path.poses[:, :3, :3], up), -1.0, 1.0)))
    torque = path.forces[:, model.m :]
    return [
        Chart("Tilt of the base", times, [Line("angle between its up and the world's", tilt[keep])], "degrees"),
        Chart("Joints", times, [Line(names[k], np.degrees(path.joints[keep, k])) for k in busy], "degrees"),
        Chart("Joint torques", times, [Line(names[k], torque[keep, k]) for k in busy], "N m"),
        Chart(
            "Angular momentum, relative",
            times,
            [Line("about the center of mass", np.maximum(fall.angular_momentum[keep], 1e-18))],
            log=True,
        ),
        Chart(
            "Energy", times, [Line("mechanical", fall.energy[keep]), Line("work of the joints", fall.work[keep])], "J"
        ),
        Chart("Energy minus work", times, [Line("gap", 1e3 * (fall.energy - fall.work)[keep])], "mJ"),
    ]
