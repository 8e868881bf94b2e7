"""Scenes of a robot at given states: a picture, or a page that plays them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate
from ..arrays.vectorize import vectorize
from ..dynamics import center_of_mass, forward_kinematics
from ..dynamics.checks import check_model, positive
from ..errors import ModelError, describe
from ..io.diagnostics import check_path
from ..model import Model, State
from .animation import Scene
from .appearance import appearance, surface
from .page import Page
from .shapes import Shape, Solid

PATCH = 61
"""Heights along each side of uneven ground."""
RATE = 30.0
"""States per second where no times are given."""
Shapes = Mapping[str, Sequence[Shape]]


class Stage(NamedTuple):
    """Scene, and data to draw more into it."""

    scene: Scene
    upright: np.ndarray
    """``4 x 4``: world to picture, whose z is up"""
    poses: dict[str, np.ndarray]
    """``times x 4 x 4`` of links and frames, in the picture"""
    centers: np.ndarray
    """``times x 3``: center of mass, in the picture"""
    size: float
    """m: of the robot, from link to link"""


def picture(
    model: Model,
    state: State,
    path: str | os.PathLike[str],
    *,
    ground: Any = None,
    size: tuple[int, int] = (960, 720),
    azimuth: float = -60.0,
    elevation: float = 12.0,
) -> Path:
    """Write a picture of a robot to a ``.png`` file.

    Needs the extra ``video`` and Chromium, as videos do.

    Args:
        model: Robot; it is drawn by the shapes of its file, or as capsules from joint to joint.
        state: Configuration.
        path: File to write.
        ground: Contact whose ground is drawn, such as a :class:`fallingcat.contact.CompliantFloor`.
        size: Width and height (pixels).
        azimuth: Of the camera (degrees).
        elevation: Of the camera (degrees).

    Returns:
        The path.

    Example:
        >>> picture(model, model.neutral(), "robot.png")  # doctest: +SKIP
    """
    from .video import write_picture

    check_path(path)
    for name, x in (("azimuth", azimuth), ("elevation", elevation)):
        if not isinstance(x, (int, float, np.number)) or not np.isfinite(x):
            raise ModelError(f"{name} is an angle in degrees, not {describe(x)}")
    scene = stage(model, [state], [0.0], ground=ground, azimuth=float(azimuth), elevation=float(elevation)).scene
    return write_picture(Page(model.name, blocks=(scene,)), path, pixels(size))


def play(
    model: Model,
    states: Sequence[State] | State,
    times: Sequence[float] | np.ndarray | None = None,
    *,
    ground: Any = None,
    speed: float = 1.0,
    shapes: Shapes | None = None,
) -> Page:
    """Page that plays states one after the other; notebooks show it, ``.write("x.html")`` keeps it.

    Args:
        model: Robot.
        states: List of states, or a batch with one axis in front.
        times: Of the states (s), growing; left out, they follow each other at 30 per second.
        ground: Contact whose ground is drawn.
        speed: Of the player; 0.2 is slow motion.
        shapes: Shapes drawn on each link, by its name; left out, those that :func:`.appearance` finds.

    Returns:
        Page with one scene.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> play(cat, cat.random_state(np.random.default_rng(0), 5))
        <Page 'cat': Scene>
    """
    many = [states.at(i) for i in range(len(states.pose))] if isinstance(states, State) else list(states)
    if not many:
        raise ModelError("there is no state to play")
    at = np.arange(len(many)) / RATE if times is None else np.asarray(times, dtype=float)
    if at.shape != (len(many),) or not np.isfinite(at).all() or (np.diff(at) <= 0.0).any():
        raise ModelError(f"times are {len(many)} growing numbers, one for each state, not {describe(times)}")
    return Page(model.name, blocks=(stage(model, many, at, ground=ground, speed=speed, shapes=shapes).scene,))


def stage(
    model: Model,
    states: Sequence[State],
    times: Any,
    *,
    ground: Any = None,
    speed: float = 1.0,
    shapes: Shapes | None = None,
    **view: Any,
) -> Stage:
    """Scene of states at times (s) over the ground of a contact; ``view`` goes to :class:`.Scene`."""
    check_model(model)
    positive(speed, "speed")
    upright = turned_up(model.gravity)
    poses, centers = _link_poses(model, states)
    poses, centers = {name: upright @ H for name, H in poses.items()}, centers @ upright[:3, :3].T
    drawn, notes = appearance(model) if shapes is None else (shapes, [])
    if not isinstance(drawn, Mapping) or not drawn.keys() <= poses.keys():
        raise ModelError(f"shapes is a mapping from names of links to solids, not {describe(shapes)}")
    places = np.array([H[:, :3, 3] for H in poses.values()])  # names x times x 3
    travel, size = np.ptp(places[0], axis=0).max(), float(np.ptp(places[:, 0], axis=0).max())
    view |= _ground(model, ground, upright, places) | {"follow": bool(travel > 5.0 * (size + 0.1)), "notes": notes}
    scene = Scene(times, {name: poses[name] for name in drawn}, drawn, speed=speed, **view)
    return Stage(scene, upright, poses, centers, size)


def pixels(size: Any) -> tuple[int, int]:
    """Width and height of a picture, checked."""
    sides = np.asarray(size) if isinstance(size, (tuple, list)) and len(size) == 2 else np.zeros(2)
    if sides.dtype.kind not in "iu" or sides.min() < 16 or sides.max() > 4096:
        raise ModelError(f"size is width and height in pixels, from 16 to 4096, not {describe(size)}")
    return int(sides[0]), int(sides[1])


def turned_up(gravity: np.ndarray) -> np.ndarray:
    """Rotation from the world to the picture, whose z is up: planar robots stand in the x-z plane there."""
    turn = np.eye(4)
    if abs(gravity[1]) > abs(gravity[2]):
        turn[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
    return turn


def _link_poses(model: Model, states: Sequence[State]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Poses of all links (times x 4 x 4) by name, and the center of mass (times x 3; zero without mass)."""
    names = tuple(forward_kinematics(model, states[0]))

    def rows(q: Any) -> Any:
        state = model.unflatten(q)
        center = center_of_mass(model, state) if model.mass else np.zeros(3)
        return concatenate([*(H[:3].reshape(12) for H in forward_kinematics(model, state).values()), center])

    found = vectorize(rows, np.array([model.flatten(state)[0] for state in states]))
    poses = np.tile(np.eye(4), (len(names), len(states), 1, 1))
    poses[:, :, :3] = found[:, :-3].reshape(len(states), len(names), 3, 4).transpose(1, 0, 2, 3)
    return dict(zip(names, poses, strict=True)), found[:, -3:]


def _ground(model: Model, contact: Any, upright: np.ndarray, places: np.ndarray) -> dict[str, Any]:
    """The ground in the picture: a plane, or what rises above it around ``places`` (... x 3, in the picture)."""
    if contact is None:
        return {"floor": False}
    try:
        ground: Any = contact.ground(model)
    except AttributeError:
        raise ModelError(
            f"ground is a contact, such as fc.contact.CompliantFloor(...), not {describe(contact)}"
        ) from None
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
    heights = np.array([[float(ground.terrain.height(a, b)) for b in y] for a in x])
    return {"floor": False, "ground": (Solid(surface(x, y, heights), H, "#5b6b86"),)}
