"""The values in the tables of a TOML robot: numbers, vectors, matrices and names, each with its rule."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat
from pydantic_core import PydanticCustomError

from ...lie import rotations
from ...lie.charts import EulerZYX
from ..limits import MAX_INERTIA, MAX_LENGTH, MAX_MASS, MAX_NAME, MIN_MASS

UNIT_TOLERANCE: Final = 1e-6  # a unit vector or a rotation with six printed digits passes

Vector3 = tuple[float, float, float]


def wrong(text: str) -> PydanticCustomError:
    """A complaint in our own words; braces would be placeholders."""
    return PydanticCustomError("robot", "{text}", {"text": text})


def numbers(what: str, *sizes: int) -> Any:
    """The validator of a list that has one of these sizes."""

    def check(values: list[float]) -> list[float]:
        if len(values) not in sizes:
            raise wrong(f"{what} has {' or '.join(map(str, sizes))} numbers, not {len(values)}")
        return values

    return AfterValidator(check)


def _in_space(point: list[float]) -> Vector3:
    x, y, z = (float(p) for p in [*point, 0.0][:3])
    if max(abs(x), abs(y), abs(z)) > MAX_LENGTH:
        raise wrong(f"a coordinate is at most {MAX_LENGTH:g} m")
    return x, y, z


def _matrix(given: Any) -> Any:
    """Moments of inertia as nine numbers, from one (a flat body), three (principal) or nine."""
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return [[given / 2, 0.0, 0.0], [0.0, given / 2, 0.0], [0.0, 0.0, given]]
    if isinstance(given, list) and len(given) == 3 and not any(isinstance(x, list) for x in given):
        a, b, c = given
        return [[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]]
    if isinstance(given, list) and len(given) == 3 and all(isinstance(row, list) for row in given):
        return given
    raise wrong("the inertia is one number (a flat body's moment about z), three or a 3x3 matrix")


def _square(rows: list[list[float]]) -> np.ndarray:
    if [len(row) for row in rows] != [3, 3, 3]:
        raise wrong("a matrix has three rows of three numbers")
    return np.array(rows, dtype=float)


def _as_list(given: Any) -> Any:
    """One number is a list of one."""
    return given if isinstance(given, list) else [given]


def _not_denormal(mass: float) -> float:
    if 0.0 < mass < MIN_MASS:
        raise wrong(f"a mass is zero or at least {MIN_MASS:g} kg, not {mass:g}")
    return mass


def _symmetric(inertia: np.ndarray) -> np.ndarray:
    if np.abs(inertia).max() > MAX_INERTIA:
        raise wrong(f"the inertia is at most {MAX_INERTIA:g} kg m^2")
    if np.abs(inertia - inertia.T).max() > 1e-12 * np.abs(inertia).max():
        raise wrong("the inertia is a symmetric matrix")
    return inertia


def _rotation(R: np.ndarray) -> np.ndarray:
    wide = np.abs(R).max() > 2.0  # before products that would overflow
    if wide or np.abs(R @ R.T - np.eye(3)).max() > UNIT_TOLERANCE or np.linalg.det(R) < 0.0:
        raise wrong("a rotation matrix is orthogonal with determinant 1")
    return R


def _axis(axis: Vector3) -> Vector3:
    length = math.hypot(*axis)
    if length == 0.0:
        raise wrong("an axis is not zero")
    if not 1e-9 < length < 1e9:
        raise wrong(f"an axis is a vector of length 1, and its length is {length:g}")
    return axis


def _pitch(pitch: float) -> float:
    if not 1.0 / MAX_LENGTH <= abs(pitch) <= MAX_LENGTH:
        raise wrong(f"a pitch lies between {1.0 / MAX_LENGTH:g} and {MAX_LENGTH:g} m/rad, and is {pitch:g}")
    return pitch


def _quaternion(q: list[float]) -> list[float]:
    if abs(float(np.linalg.norm(q)) - 1.0) > UNIT_TOLERANCE:
        raise wrong(f"the quaternion xyzw has length {float(np.linalg.norm(q)):.6g}, not 1")
    return q


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Names = Annotated[list[Name], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]
Point = Annotated[list[FiniteFloat], numbers("a position", 2, 3), AfterValidator(_in_space)]
Axis = Annotated[list[FiniteFloat], numbers("an axis", 2, 3), AfterValidator(_in_space), AfterValidator(_axis)]
Quaternion = Annotated[list[FiniteFloat], numbers("a quaternion", 4), AfterValidator(_quaternion)]
RollPitchYaw = Annotated[list[FiniteFloat], numbers("rpy", 3)]
Length = Annotated[FiniteFloat, Field(gt=0.0, le=MAX_LENGTH)]
Pitch = Annotated[FiniteFloat, AfterValidator(_pitch)]
Mass = Annotated[FiniteFloat, Field(ge=0.0, le=MAX_MASS), AfterValidator(_not_denormal)]
Inertia = Annotated[
    list[list[FiniteFloat]], BeforeValidator(_matrix), AfterValidator(_square), AfterValidator(_symmetric)
]
Armature = Annotated[list[Annotated[FiniteFloat, Field(ge=0.0, le=MAX_INERTIA)]], BeforeValidator(_as_list)]
Rotation = Annotated[list[list[FiniteFloat]], AfterValidator(_square), AfterValidator(_rotation)]
Interval = Annotated[list[FiniteFloat], numbers("a range", 2)]
Gravity = Annotated[list[FiniteFloat], numbers("gravity", 2, 3), AfterValidator(_in_space)]


def turned(angle: float) -> np.ndarray:
    """``3 x 3``: the rotation by ``angle`` about z."""
    return np.asarray(rotations.about((0.0, 0.0, 1.0), float(angle)))


def rotation_from_rpy(rpy: Any) -> np.ndarray:
    """``3 x 3``: ``Rz(yaw) Ry(pitch) Rx(roll)``, as in URDF."""
    roll, pitch, yaw = (float(angle) for angle in rpy)
    return np.asarray(EulerZYX().to_matrix(np.array([yaw, pitch, roll])))
