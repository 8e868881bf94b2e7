"""Poses: ``pos`` and one of the five ways to write an orientation."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from ...lie.rotations import about, homogeneous, matrix_from_quaternion
from ..diagnostics import Reader
from ..limits import MAX_LENGTH
from ..numbers import vector
from ..safe_xml import Element
from .defaults import ORIENTATIONS
from .settings import Settings

_AXES: Final = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_ROUNDING: Final = 4e-16  # of a product of sines and cosines; a quarter turn gives exact zeros


def pose(element: Element, settings: Settings, reader: Reader) -> np.ndarray:
    """``4 x 4``: coordinates of the element's frame to coordinates of what it stands in.

    Example:
        >>> from fallingcat.io.safe_xml import parse
        >>> reader = Reader("r.xml")
        >>> pose(parse(b"<body pos='1 2 3' euler='0 0 90'/>", reader), Settings(), reader)
        array([[ 0., -1.,  0.,  1.],
               [ 1.,  0.,  0.,  2.],
               [ 0.,  0.,  1.,  3.],
               [ 0.,  0.,  0.,  1.]])
    """
    return homogeneous(orientation(element, settings, reader), position(element, "pos", reader))


def position(element: Element, attribute: str, reader: Reader) -> np.ndarray:
    """Three numbers (m), zero by default."""
    p = vector(reader, element, attribute, 3, default=(0.0, 0.0, 0.0))
    if np.abs(p).max() > MAX_LENGTH:
        reader.fail(element, f"{attribute!r} is within {MAX_LENGTH:g} m")
    return p


def orientation(element: Element, settings: Settings, reader: Reader) -> np.ndarray:
    """``3 x 3``, the identity by default."""
    given = [name for name in ORIENTATIONS if name in element.attributes]
    if not given:
        return np.eye(3)
    if len(given) > 1:
        reader.fail(element, f"an orientation is given once, not by {' and '.join(map(repr, given))}")
    return {
        "quat": _from_quaternion,
        "axisangle": _from_axis_angle,
        "xyaxes": _from_axes,
        "zaxis": _from_z,
        "euler": _from_euler,
    }[given[0]](element, settings, reader)


def unit(element: Element, attribute: str, v: np.ndarray, reader: Reader) -> np.ndarray:
    """``v`` with length 1; too short or too long to have a direction is an error."""
    length = math.hypot(*v.tolist())
    if not 1e-9 < length < 1e9:
        reader.fail(element, f"{attribute!r} needs a direction, and has the length {length:g}")
    return v / length


def clean(R: np.ndarray) -> np.ndarray:
    """``R`` with exact zeros where only rounding is left: they keep generated code sparse."""
    return np.where(np.abs(R) < _ROUNDING, 0.0, R)


def shortest_turn(z: np.ndarray) -> np.ndarray:
    """The shortest rotation that takes the z axis to the unit vector ``z`` (about x where it is opposite)."""
    cross = np.array([-z[1], z[0], 0.0])
    sine = math.hypot(*cross.tolist())
    if sine < 1e-12:
        return np.eye(3) if z[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    return clean(about(cross / sine, math.atan2(sine, z[2])))


def _from_quaternion(element: Element, settings: Settings, reader: Reader) -> np.ndarray:
    w, x, y, z = unit(element, "quat", vector(reader, element, "quat", 4), reader).tolist()
    return clean(matrix_from_quaternion(np.array([x, y, z, w])))


def _from_axis_angle(element: Element, settings: Settings, reader: Reader) -> np.ndarray:
    values = vector(reader, element, "axisangle", 4)
    return clean(about(unit(element, "axisangle", values[:3], reader), settings.angle * float(values[3])))


def _from_axes(element: Element, settings: Settings, reader: Reader) -> np.ndarray:
    values = vector(reader, element, "xyaxes", 6)
    x = unit(element, "xyaxes", values[:3], reader)
    y = unit(element, "xyaxes", values[3:], reader)
    y = unit(element, "xyaxes", y - (x @ y) * x, reader)  # y only says on which side it is
    return clean(np.stack([x, y, np.cross(x, y)], axis=1))


def _from_z(element: Element, settings: Settings, reader: Reader) -> np.ndarray:
    return shortest_turn(unit(element, "zaxis", vector(reader, element, "zaxis", 3), reader))


def _from_euler(element: Element, settings: Settings, reader: Reader) -> np.ndarray:
    R = np.eye(3)
    for letter, angle in zip(settings.eulerseq, vector(reader, element, "euler", 3).tolist(), strict=True):
        turn = about(_AXES[letter.lower()], settings.angle * angle)
        R = R @ turn if letter.islower() else turn @ R
    return clean(R)
