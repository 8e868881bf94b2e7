"""``<replicate>``: copies of what stands in it, each in a frame of its own."""

from __future__ import annotations

from typing import Final

import numpy as np

from ...lie.rotations import about, quaternion_from_matrix
from ..numbers import number, vector
from ..safe_xml import Element
from .files import Files, FilesReader
from .repeated_references import repeat_references

MAX_COPIES: Final = 1_000
"""Copies that one element makes at most."""
_AXES: Final = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_ATTRIBUTES: Final = {"count", "offset", "euler", "sep", "prefix"}  # the last without effect, as in MuJoCo


def with_copies(root: Element, reader: FilesReader, files: Files) -> None:
    """Put frames with copies in the place of every ``<replicate>``, the innermost first.

    Copy ``i`` stands in the frame ``(offset, euler)^i``, and its names end in ``sep`` and ``i``, as in MuJoCo.
    """
    stack: list[tuple[Element, bool]] = [(world, False) for world in root.all("worldbody")]
    while stack:
        element, is_done = stack.pop()
        if not is_done:
            stack.append((element, True))
            stack.extend((child, False) for child in element.children)
            continue
        children: list[Element] = []
        for child in element.children:
            children += _copies(child, root, reader, files) if child.tag == "replicate" else [child]
        element.children = children


def _copies(element: Element, root: Element, reader: FilesReader, files: Files) -> list[Element]:
    """The frames that an element becomes."""
    for name in element.attributes:
        if name not in _ATTRIBUTES:
            reader.fail(element, f"<replicate> has no attribute {name!r}")
    count = int(number(reader, element, "count"))
    if not 0 <= count <= MAX_COPIES:
        reader.fail(element, f"'count' lies between 0 and {MAX_COPIES:,}", f"is {count}")
    H, step = np.eye(4), _step(element, root, reader)
    suffixes = [f"{element.get('sep')}{i:0{len(str(count))}d}" for i in range(count)]
    repeat_references(root, element, suffixes, reader, files)
    frames = []
    for suffix in suffixes:
        quat = _quaternion(H[:3, :3])
        pose = {"pos": " ".join(map(repr, H[:3, 3].tolist())), "quat": " ".join(map(repr, quat.tolist()))}
        frame = reader.twin(element, pose)
        frame.tag, frame.parent = "frame", element.parent
        frame.children = [_copied_tree(child, frame, suffix, reader, files) for child in element.children]
        frames.append(frame)
        H = H @ step
    return frames


def _step(element: Element, root: Element, reader: FilesReader) -> np.ndarray:
    """``4 x 4``: from one copy to the next, by the angles and the order of axes of the compiler."""
    sequence, unit = "xyz", np.pi / 180.0
    for compiler in root.all("compiler"):
        sequence = compiler.get("eulerseq", sequence)
        unit = {"radian": 1.0, "degree": np.pi / 180.0}.get(compiler.get("angle"), unit)
    H = np.eye(4)
    H[:3, 3] = vector(reader, element, "offset", 3, default=(0.0, 0.0, 0.0))
    for letter, angle in zip(sequence, vector(reader, element, "euler", 3, default=(0.0,) * 3).tolist(), strict=True):
        turn = about(_AXES.get(letter.lower(), _AXES["z"]), unit * angle)
        H[:3, :3] = H[:3, :3] @ turn if letter.islower() else turn @ H[:3, :3]
    return H


def _quaternion(R: np.ndarray) -> np.ndarray:
    """``wxyz`` of a rotation."""
    return np.roll(np.asarray(quaternion_from_matrix(R)), 1)


def _copied_tree(top: Element, parent: Element, suffix: str, reader: FilesReader, files: Files) -> Element:
    """A tree once more, with other names."""
    stack, copies = [(top, parent)], list[Element]()
    while stack:
        element, above = stack.pop()
        names = {"name": element.get("name") + suffix} if "name" in element.attributes else {}
        copy = reader.twin(element, element.attributes | names)
        copy.parent = above
        if above is not parent:
            above.children.append(copy)
        copies.append(copy)
        if element.tag == "attach":
            files.suffixes[id(copy)] = files.suffixes.get(id(element), "") + suffix
        files.count(element)
        stack.extend((child, copy) for child in reversed(element.children))
    return copies[0]
