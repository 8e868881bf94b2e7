"""3-D animation of a page: parts that move, with arrows, points and axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.types import Float_4_4, Matrix_N_3, Tensor, Vector
from ..errors import ModelError
from ..records import concise
from .shapes import Shape, Solid
from .thinning import numbers, sample_indices


@concise
@dataclass(frozen=True)
class Arrows:
    """Arrows beside the parts of a scene, shown or not by a button.

    Example:
        >>> import numpy as np
        >>> arrows = Arrows("forces", np.zeros((2, 1, 3)), np.ones((2, 1, 3)))
        >>> arrows.data(np.arange(2))["name"]
        'forces'
    """

    name: str
    """on the button"""
    starts: Tensor
    """``N x arrows x 3`` (m)"""
    vectors: Tensor
    """``N x arrows x 3`` (m)"""
    color: str = "#ffd166"
    """``#rrggbb``"""
    shown: bool = True
    """at the start"""

    def data(self, keep: np.ndarray) -> dict[str, Any]:
        """Plain numbers of the times that are kept.

        Args:
            keep: Indices of these times.

        Returns:
            Data for JSON.
        """
        starts, vectors = (numbers(np.asarray(x, dtype=float)[keep], 5) for x in (self.starts, self.vectors))
        head = {"kind": "arrows", "name": self.name, "color": self.color, "shown": self.shown}
        return head | {"starts": starts, "vectors": vectors}


@concise
@dataclass(frozen=True)
class Dot:
    """Point that moves with a scene, shown or not by a button.

    Example:
        >>> import numpy as np
        >>> Dot("center of mass", np.zeros((2, 3))).data(np.arange(2))["name"]
        'center of mass'
    """

    name: str
    """on the button"""
    points: Matrix_N_3
    """``N x 3`` (m)"""
    color: str = "#f3f4f8"
    """``#rrggbb``"""
    shown: bool = True
    """at the start"""

    def data(self, keep: np.ndarray) -> dict[str, Any]:
        """Plain numbers of the times that are kept.

        Args:
            keep: Indices of these times.

        Returns:
            Data for JSON.
        """
        points = numbers(np.asarray(self.points, dtype=float)[keep], 5)
        return {"kind": "dot", "name": self.name, "color": self.color, "shown": self.shown, "points": points}


@dataclass(frozen=True)
class Axes:
    """Axes of every part of a scene, x red, y green, z blue, shown or not by a button.

    Example:
        >>> Axes().name
        'frames'
    """

    name: str = "frames"
    """on the button"""
    shown: bool = False
    """at the start"""

    def data(self, keep: np.ndarray) -> dict[str, Any]:
        """Plain data.

        Args:
            keep: Indices of the times that are kept.

        Returns:
            Data for JSON.
        """
        return {"kind": "frames", "name": self.name, "shown": self.shown}


Extra = Arrows | Dot | Axes


@concise
@dataclass(frozen=True)
class Scene:
    """Scene of parts that move: ``poses`` (part: N x 4 x 4, part to world) at ``times``, and the solids fixed to them.

    z is up; ``floor`` says whether there is one at z = 0, or is its pose (4 x 4, z out of it).  ``speed`` is that of
    the player: 0.2 is slow motion.
    ``ghosts`` are times at which the parts leave a faint picture.  With ``follow`` the camera moves along, instead of
    seeing the whole motion: in all directions, or, where it is ``"level"``, at a constant height.  A ``strip`` is as
    wide as the page and goes round: whatever the time is, it shows its own motion again and again.

    Example:
        >>> import numpy as np
        >>> scene = Scene([0.0, 1.0], {"base": np.stack([np.eye(4)] * 2)}, {"base": []})
        >>> scene.data()["kind"]
        'scene'
    """

    times: Vector
    """``N`` (s)"""
    poses: Mapping[str, Tensor]
    """``N x 4 x 4`` by part"""
    shapes: Mapping[str, Sequence[Shape]]
    """solids by part"""
    speed: float = 1.0
    """speed of the player, relative to real time"""
    floor: bool | Float_4_4 = True
    """plane at z = 0, or its pose (4 x 4)"""
    ghosts: Sequence[float] = ()
    """times of faint pictures (s)"""
    azimuth: float = -60.0
    """azimuth of the camera (degrees)"""
    elevation: float = 12.0
    """elevation of the camera (degrees)"""
    follow: bool | str = False
    """move the camera along"""
    strip: bool = False
    """True: as wide as the page, in a loop"""
    caption: str = ""
    """below the picture"""
    extras: Sequence[Extra] = ()
    """arrows, dots and axes"""
    notes: Sequence[str] = ()
    """said below the picture, such as what could not be drawn"""
    ground: Sequence[Shape] = ()
    """shapes that stand still below the parts; the camera ignores them"""
    live: Mapping[str, Any] | None = None
    """plain data of a robot that the page simulates itself, by its :attr:`.Page.scripts`; None: the poses are played"""

    def data(self) -> dict[str, Any]:
        """Plain numbers, no more pictures than can be seen: each pose as the 12 numbers of its upper rows.

        Returns:
            Data for JSON.
        """
        parts, keep = [], sample_indices(len(self.times))
        solids = [s for shapes in (self.ground, *self.shapes.values()) for s in shapes if isinstance(s, Solid)]
        meshes = list({id(solid.triangles): solid.triangles for solid in solids}.values())
        number = {id(mesh): i for i, mesh in enumerate(meshes)}

        def drawn(shapes: Sequence[Shape]) -> list[dict[str, Any]]:
            return [s.data() | ({"mesh": number[id(s.triangles)]} if isinstance(s, Solid) else {}) for s in shapes]

        for name, shapes in self.shapes.items():
            poses = np.asarray(self.poses[name], dtype=float)
            if poses.shape != (len(self.times), 4, 4):
                raise ModelError(f"poses of {name!r} must have shape ({len(self.times)}, 4, 4), got {poses.shape}")
            if shapes:
                flat = numbers(poses[keep, :3].ravel(), 5)
                parts.append({"name": name, "shapes": drawn(shapes), "poses": flat})
        return {
            "kind": "scene",
            "t": numbers(np.asarray(self.times)[keep]),
            "parts": parts,
            "speed": self.speed,
            "floor": None if self.floor is False else numbers(np.eye(4)[:3] if self.floor is True else self.floor[:3]),
            "ghosts": numbers(self.ghosts),
            "azimuth": self.azimuth,
            "elevation": self.elevation,
            "follow": self.follow,
            "strip": self.strip,
            "caption": self.caption,
            "meshes": [mesh.data() for mesh in meshes],
            "extras": [extra.data(keep) for extra in self.extras],
            "notes": list(self.notes),
            "ground": drawn(self.ground),
        } | ({} if self.live is None else {"live": dict(self.live)})
