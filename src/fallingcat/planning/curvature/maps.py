"""Constraint curvature functions: the curvature over a plane of shapes ([Mishra] Algorithm 1, V-B)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...arrays.types import Float_n, Float_N_m, Float_N_n, FloatArray, Matrix, Matrix_N_n, Vector, Vector_n
from ...compiler.compilation import compile_step
from ...dynamics import principal_axes
from ...dynamics.checks import check_model
from ...dynamics.principal import standing_out
from ...errors import ModelError, describe
from ...model import Model
from ...records import concise, of_robot
from ..gaits.curve_arguments import finite, samples
from ..gaits.curves import Curve, EmbeddedCurve
from ..gaits.gait import check_shape
from .frames import (
    GaitFrame,
    GivenFrame,
    KnownFrame,
    chassis_axes,
    check_frame,
    frame_poses,
    framed_curvature,
    name_of,
    resolve_frame,
    rotational_inertia,
)
from .perturbation import MinimumPerturbation
from .regions import Region


@concise
@dataclass(frozen=True, eq=False)
class Plane:
    """Plane of shapes ``q = origin + directions r`` with two coordinates ([Mishra] (59)).

    Example:
        >>> Plane(np.eye(3)[:, :2], np.zeros(3)).shapes([[0.1, 0.2]])
        array([[0.1, 0.2, 0. ]])
    """

    directions: FloatArray
    """``n x 2``"""
    origin: Float_n
    """``n``"""

    def __post_init__(self) -> None:
        """Check that there are two independent directions."""
        directions, origin = finite(self.directions, 2, "directions"), finite(self.origin, 1, "origin")
        if directions.shape != (len(origin), 2) or np.linalg.matrix_rank(directions) < 2:
            raise ModelError("a plane must have two independent directions, n x 2, and an origin of n joints")
        object.__setattr__(self, "directions", directions)
        object.__setattr__(self, "origin", origin)

    @classmethod
    def of_joints(cls, model: Model, first: str, second: str, origin: Vector_n | None = None) -> Plane:
        """Plane of two joints, with the others constant.

        Args:
            model: Robot.
            first: Joint of the first coordinate.
            second: Joint of the second coordinate.
            origin: Shape (n) at ``r = 0``; None: neutral.

        Returns:
            Plane of unit directions.

        Example:
            >>> from fallingcat.model import robots
            >>> Plane.of_joints(robots.two_cylinder_cat(), "spine_z", "spine_y").directions.tolist()
            [[1.0, 0.0], [0.0, 1.0]]
        """
        check_model(model)
        directions = np.zeros((model.n, 2))
        for column, name in enumerate((first, second)):
            place = model.v_slices[model.leading_index(name)]
            if place.stop - place.start != 1:
                raise ModelError(f"joint {name!r} must have one degree of freedom, got {place.stop - place.start}")
            directions[place.start, column] = 1.0
        return cls(directions, model.neutral().joints if origin is None else origin)

    def shapes(self, r: Matrix) -> Float_N_n:
        """Shapes of points of the plane.

        Args:
            r: Points (N x 2).

        Returns:
            Joint coordinates (N x n).
        """
        return np.asarray(self.origin + samples(r, 2, "r") @ self.directions.T)

    def region(self, first: Vector, second: Vector) -> Region:
        """Rectangle of the plane that two grids span.

        Args:
            first: Values (N1) of the first coordinate.
            second: Values (N2) of the second coordinate.

        Returns:
            Region between their smallest and largest values.
        """
        grids = [_grid(first, "first"), _grid(second, "second")]
        return Region(
            self.directions, self.origin, np.array([x.min() for x in grids]), np.array([x.max() for x in grids])
        )

    def curve(self, curve: Curve) -> EmbeddedCurve:
        """Curve of two coordinates as one of all joints.

        Args:
            curve: Curve of two coordinates.

        Returns:
            Curve of n joints.
        """
        if not isinstance(curve, Curve):
            raise ModelError(f"curve must be a Curve, got {describe(curve)}")
        if curve.size != 2:
            raise ModelError(f"a curve in a plane must have 2 coordinates, got {curve.size}")
        return EmbeddedCurve(curve, self.directions, self.origin)


@concise
class CurvatureMap(NamedTuple):
    """Curvature ``DA(e1, e2)`` over a grid of a plane: minus the displacement per area of a small gait.

    Example:
        >>> from fallingcat.model import robots
        >>> cat, grid = robots.two_cylinder_cat(), np.linspace(-1.0, 1.0, 3)
        >>> curvature_map(cat, Plane.of_joints(cat, "spine_z", "spine_y"), grid, grid).frame
        'base'
    """

    plane: Plane
    first: FloatArray
    """``N1``: grid of the first coordinate"""
    second: FloatArray
    """``N2``: grid of the second one"""
    values: FloatArray
    """``N1 x N2 x m``: along the base's algebra, ``[v; w]`` for SE(3)"""
    frame: str

    def save(self, path: str | Path) -> None:
        """Write the map to a file.

        Args:
            path: ``.csv`` has a row of coordinates and values for each point, ``.nc`` is a netCDF file that xarray
                opens (as :meth:`to_xarray`).

        Example:
            >>> import tempfile
            >>> from fallingcat.model import robots
            >>> cat, grid = robots.two_cylinder_cat(), np.linspace(-1.0, 1.0, 3)
            >>> found = curvature_map(cat, Plane.of_joints(cat, "spine_z", "spine_y"), grid, grid)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     found.save(Path(folder) / "map.csv")
            ...     (Path(folder) / "map.csv").read_text().splitlines()[0]
            'r1,r2,c1,c2,c3,c4,c5,c6'
        """
        from .map_files import write

        write(self, path)

    def to_xarray(self) -> Any:
        """Map as an ``xarray.Dataset``.

        Returns:
            ``curvature`` over ``r1``, ``r2`` and ``component``, with its plane.
        """
        from .map_files import dataset

        return dataset(self)


@of_robot
class Mapper:
    """Compiled curvature of one robot in one frame, for many maps.

    ``"minimum_perturbation"`` depends on the region of shapes: here it is given as the frame that was computed over it
    (:func:`~fallingcat.planning.minimum_perturbation`).

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.
        frame: Frame of the curvature (:mod:`fallingcat.planning.curvature.frames`).

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.two_cylinder_cat()
        >>> Mapper(cat).curvature(np.zeros((4, 2)), np.array([1.0, 0.0]), np.array([0.0, 1.0])).shape
        (4, 6)
    """

    def __init__(self, model: Model, frame: GaitFrame = "base") -> None:
        """Compile the curvature."""
        check_model(model)
        check_shape(model, model.n)
        known = check_frame(model, frame)
        if known == "minimum_perturbation":
            raise ModelError(
                "minimum-perturbation coordinates belong to a region: pass the result of minimum_perturbation"
            )
        self.model, self.frame = model, known
        at_center = known in ("center_of_mass", "virtual_chassis", "principal_axes") or isinstance(
            known, MinimumPerturbation
        )
        seen_from = "center_of_mass" if at_center else "base"
        self._kernel = compile_step(model, framed_curvature, {}, ["joints"], frame=seen_from)
        self._axes = _turning_axes(model, known)

    def curvature(self, joints: Matrix_N_n, x: Vector, y: Vector) -> Float_N_m:
        """Curvature ``DA(x, y)`` at many shapes.

        Args:
            joints: Shapes (N x n).
            x: First directions (N x n, or n).
            y: Second directions (N x n, or n).

        Returns:
            Elements of the base's algebra (N x m).
        """
        joints = samples(joints, self.model.n, "joints")
        out: FloatArray = self._kernel(joints, x, y)
        if isinstance(self.frame, MinimumPerturbation):
            return np.asarray((self.frame.seen(joints) @ out[:, :, None])[:, :, 0])
        if isinstance(self.frame, GivenFrame):
            G, poses = self.model.base, frame_poses(self.model, joints, self.frame)
            return np.array([G.Ad(G.inverse(H)) @ F for H, F in zip(poses, out, strict=True)])
        if self._axes is None:
            return out
        return np.einsum("kji,kcj->kci", self._axes(joints), out.reshape(-1, 2, 3)).reshape(-1, 6)

    def map(self, plane: Plane, first: Vector, second: Vector) -> CurvatureMap:
        """Map over the grid ``first`` x ``second`` of a plane's coordinates.

        Args:
            plane: Plane of shapes.
            first: Values (N1) of the first coordinate.
            second: Values (N2) of the second coordinate.

        Returns:
            Map with values N1 x N2 x m.
        """
        if not isinstance(plane, Plane):
            raise ModelError(f"plane must be a Plane, such as Plane.of_joints(...), got {describe(plane)}")
        a, b = _grid(first, "first"), _grid(second, "second")
        r = np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2)
        x, y = np.ascontiguousarray(plane.directions.T)
        values = self.curvature(plane.shapes(r), x, y)
        return CurvatureMap(plane, a, b, values.reshape(len(a), len(b), self.model.m), name_of(self.frame))


def _turning_axes(model: Model, frame: KnownFrame) -> Callable[[np.ndarray], np.ndarray] | None:
    """Rotations (N x 3 x 3), frame to base, at shapes (N x n), of frames at the center of mass that turn."""
    if frame == "principal_axes":
        axes = compile_step(model, principal_axes, {}, ["joints"])
        return lambda joints: np.asarray(axes(joints))
    if frame == "virtual_chassis":
        inertia, axis = compile_step(model, rotational_inertia, {}, ["joints"]), standing_out(model)
        return lambda joints: chassis_axes(inertia(joints), *axis)
    return None


def curvature_map(
    model: Model,
    plane: Plane,
    first: Vector,
    second: Vector,
    *,
    frame: GaitFrame = "base",
) -> CurvatureMap:
    """Constraint curvature functions of a robot over a plane of shapes ([Mishra] Algorithm 1).

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.
        plane: Plane of shapes.
        first: Values (N1) of the first coordinate.
        second: Values (N2) of the second coordinate.
        frame: Frame of the curvature (:mod:`fallingcat.planning.curvature.frames`); minimum-perturbation coordinates
            are computed over the rectangle of the map.

    Returns:
        Map with values N1 x N2 x m.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.two_cylinder_cat()
        >>> angles = np.linspace(-1.0, 1.0, 5)
        >>> curvature_map(cat, Plane.of_joints(cat, "spine_z", "spine_y"), angles, angles).values.shape
        (5, 5, 6)
    """
    check_model(model)
    if not isinstance(plane, Plane):
        raise ModelError(f"plane must be a Plane, such as Plane.of_joints(...), got {describe(plane)}")
    return Mapper(model, resolve_frame(model, frame, lambda: plane.region(first, second))).map(plane, first, second)


def _grid(x: Any, what: str) -> np.ndarray:
    grid = finite(x, 1, what)
    if not len(grid):
        raise ModelError(f"{what} must be a grid of finite numbers, got {describe(x)}")
    return grid
