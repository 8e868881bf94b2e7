"""Results of the references, which take minutes, and the command that makes them.

cd tests && python -m engines.stored        # writes engines/references.json; a slow test makes them again
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("references.json")


@cache
def _stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def box(name: str) -> np.ndarray:
    """End of a scene of :mod:`box_scenes`, as :meth:`BoxScene.reference` has it."""
    return np.array(_stored()["boxes"][name])


def robot(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Pose of the base (4 x 4) and joint coordinates at the end of a scene of :mod:`robot_scenes`."""
    found = _stored()["robots"][name]
    return np.array(found["pose"]), np.array(found["joints"])


def made() -> dict[str, Any]:
    """All results again."""
    from . import box_scenes, robot_scenes

    boxes = {name: scene.reference().tolist() for name, scene in box_scenes.SCENES.items()}
    ends = {name: make().reference() for name, make in robot_scenes.SCENES.items()}
    robots = {name: {"pose": end.pose.tolist(), "joints": end.joints.tolist()} for name, end in ends.items()}
    return {"boxes": boxes, "robots": robots}


if __name__ == "__main__":
    FILE.write_text(json.dumps(made(), indent=1) + "\n", encoding="utf-8")
