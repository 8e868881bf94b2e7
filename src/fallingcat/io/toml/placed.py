"""Tables of TOML robots for what has a pose: placements, start and keyframes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, model_validator

from ...lie import rotations
from ...model.keyframes import START, Keyframe
from ..limits import MAX_LINKS
from .values import Name, Point, Quaternion, RollPitchYaw, Rotation, rotation_from_rpy, turned, wrong


class Table(BaseModel):
    """A table of the file: no unknown keys, no text that happens to look like a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class PlacementTable(Table):
    """Placement: a position and at most one way of turning it (rad)."""

    position: Point = (0.0, 0.0, 0.0)  # type: ignore[assignment]  # the validator makes a tuple of the list
    angle: FiniteFloat | None = None
    rpy: RollPitchYaw | None = None
    quaternion: Quaternion | None = None
    rotation: Rotation | None = None

    @model_validator(mode="after")
    def _one_rotation(self) -> Self:
        given = [key for key in ("angle", "rpy", "quaternion", "rotation") if getattr(self, key) is not None]
        if len(given) > 1:
            raise wrong(f"only one of {', '.join(given)} may be given")
        return self

    def placement(self) -> np.ndarray:
        """``4 x 4``: coordinates of what is placed to coordinates of what it is placed on."""
        H = np.eye(4)
        H[:3, 3] = self.position
        if self.angle is not None:
            H[:3, :3] = turned(self.angle)
        elif self.rpy is not None:
            H[:3, :3] = rotation_from_rpy(self.rpy)
        elif self.quaternion is not None:
            q = np.array(self.quaternion)
            H[:3, :3] = rotations.matrix_from_quaternion(q / np.linalg.norm(q))
        elif self.rotation is not None:
            H[:3, :3] = self.rotation
        return H


Coordinates = Annotated[
    dict[Name, Annotated[list[FiniteFloat], BeforeValidator(lambda x: x if isinstance(x, list) else [x])]],
    Field(max_length=MAX_LINKS),
]


class StartTable(PlacementTable):
    """Pose in which the robot starts: of its base, and of joints by name; neutral by default."""

    joints: Coordinates = {}

    def build(self) -> Keyframe:
        """The state."""
        placed = bool(self.model_fields_set & set(PlacementTable.model_fields))
        return Keyframe(START, self.placement() if placed else None, _arrays(self.joints))


class KeyframeTable(StartTable):
    """A state by name."""

    name: Name
    twist: Annotated[list[FiniteFloat], Field(max_length=6)] | None = None
    rates: Coordinates = {}

    def build(self) -> Keyframe:
        """The state."""
        twist = None if self.twist is None else np.array(self.twist)
        return replace(super().build(), name=self.name, twist=twist, rates=_arrays(self.rates))


def _arrays(given: dict[str, list[float]]) -> dict[str, np.ndarray]:
    return {name: np.array(numbers) for name, numbers in given.items()}
