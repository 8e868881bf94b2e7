"""``<mesh>``: the solid in its file, which is opened where a mass depends on it and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np

from ...errors import how_to_get
from ...lie.rotations import matrix_from_quaternion
from ..diagnostics import Reader
from ..limits import MAX_BYTES, MAX_HULL, MAX_LENGTH, MAX_MESH_BYTES, MAX_MESHES
from ..meshes.files import Mesh, read_mesh
from ..meshes.inertia import MIN_MEASURE, RULES, Solid, areas, hull, is_oriented, solid
from ..numbers import vector
from ..safe_xml import Element
from .defaults import Defaults
from .files import FilesReader
from .folders import locate
from .ignored import Tally
from .poses import position, unit
from .settings import Settings, choice

_MAX_NUMBERS: Final = 10**6  # of a mesh that stands in the file itself; its attribute is far shorter


@dataclass(frozen=True, eq=False)
class SolidMesh:
    """A mesh with its solid, and its vertices (n x 3, m) in the frame of the geom."""

    solid: Solid
    vertices: np.ndarray

    def box(self, around: bool) -> tuple[np.ndarray, np.ndarray]:
        """Half the sides (3) and the pose (4 x 4) of a box in its place, the longest side last.

        ``around`` the vertices along the principal axes, or the one with the same inertia.
        """
        moments, axes = np.linalg.eigh(self.solid.inertia / self.solid.volume)
        moments, axes = moments[::-1], axes[:, ::-1] * np.sign(np.linalg.det(axes[:, ::-1]))  # right-handed
        middle, half = np.zeros(3), np.sqrt(np.maximum(1.5 * (moments.sum() - 2.0 * moments), 0.0))
        if around:
            seen = (self.vertices - self.solid.center) @ axes
            low, high = seen.min(axis=0), seen.max(axis=0)
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
        H = np.eye(4)
        H[:3, :3], H[:3, 3] = axes, self.solid.center + axes @ middle
        return half, H


class Meshes:
    """The meshes of a file by name; each is read once at most, and all of them within the limits."""

    def __init__(
        self, root: Element, folder: Path, settings: Settings, defaults: Defaults, reader: FilesReader, tally: Tally
    ) -> None:
        self.folder, self.settings, self.reader, self.tally = folder, settings, reader, tally
        found = [mesh for asset in root.all("asset") for mesh in asset.all("mesh")]
        self.assets = {mesh_name(mesh): defaults.applied(mesh, "main") for mesh in found}
        self._weighed: dict[str, SolidMesh] = {}
        self._bytes = 0

    def __getitem__(self, name: str) -> SolidMesh:
        if name not in self._weighed:
            if len(self._weighed) == MAX_MESHES:
                self.reader.fail(self.assets[name], f"the masses of a robot depend on at most {MAX_MESHES:,} meshes")
            self._weighed[name] = self._weigh(self.assets[name])
        return self._weighed[name]

    def _weigh(self, element: Element) -> SolidMesh:
        reader = self.reader
        rule = choice(reader, element, "inertia", RULES, "legacy")
        mesh = self._inline(element) if "vertex" in element.attributes else self._read(element)
        faces, scale = mesh.faces, vector(reader, element, "scale", 3, default=(1.0, 1.0, 1.0))
        if rule == "convex" or not len(faces):
            faces = self._hull(mesh, element)
        elif rule == "exact" and not _has_outward_normals(mesh):
            reader.fail(element, "with inertia='exact' all triangles of a mesh look outwards, and some do not")
        if scale.prod() < 0.0:
            faces = faces[:, [0, 2, 1]]  # seen in the mirror
        vertices = scale * self._in_reference_frame(mesh.vertices, element)
        if not np.abs(vertices).max() <= MAX_LENGTH:
            reader.fail(element, f"the vertices of a mesh are within {MAX_LENGTH:g} m")
        found = solid(vertices[faces], rule)
        if found.volume < MIN_MEASURE:
            why = "its triangles look inwards" if found.volume < 0.0 else "a thin sheet has inertia='shell'"
            reader.fail(element, f"the volume of the mesh is {found.volume:.3g} m^3", why)
        return SolidMesh(found, vertices)

    def path_of(self, element: Element) -> str:
        """The file of a mesh, seen from :attr:`folder`; empty where it has none."""
        name = self._file(element)
        return str(PurePosixPath(self._meshdir, name)) if name else ""

    @property
    def _meshdir(self) -> str:
        return self.settings.meshdir.replace("\\", "/")

    def _file(self, element: Element) -> str:
        name = element.get("file").replace("\\", "/")
        return PurePosixPath(name).name if self.settings.strippath else name

    def _read(self, element: Element) -> Mesh:
        """The mesh in a file: seen from ``meshdir`` in the folder of the model, or from the included file."""
        reader, name = self.reader, self._file(element)
        if not name:
            reader.fail(element, "the inertia of this mesh is not known: it has no file and no vertices")
        starts = [self.folder / self._meshdir, Path(reader.file_of(element)).absolute().parent]
        path = locate(reader, element, name, starts, "a mass depends on it: give the body an <inertial>")
        inner = Reader(path, reader.options, reader.warnings, reader._seen)
        mesh, size = read_mesh(inner, MAX_BYTES)
        self._bytes += size
        if self._bytes > MAX_MESH_BYTES:
            rule = f"the meshes that masses depend on have at most {MAX_MESH_BYTES // 2**20} MiB together"
            reader.fail(element, rule, "give the bodies an <inertial>")
        if not mesh.whole:
            text = (
                "of an OBJ file only the first object is weighed, without faces of more than 100 corners, as in MuJoCo"
            )
            self.tally.note(text, element)
        return mesh

    def _inline(self, element: Element) -> Mesh:
        """The mesh in the attributes ``vertex`` and ``face``."""
        reader = self.reader
        points = vector(reader, element, "vertex", (12, _MAX_NUMBERS))
        faces = vector(reader, element, "face", (0, _MAX_NUMBERS), default=())
        numbers = faces.astype(int)
        if len(points) % 3 or len(faces) % 3 or (numbers != faces).any():
            reader.fail(element, "a vertex has 3 numbers, a face 3 whole numbers")
        if len(faces) and not (numbers.min() >= 0 and numbers.max() < len(points) // 3):
            reader.fail(element, f"the faces of the mesh have the numbers of vertices, 0 to {len(points) // 3 - 1}")
        with np.errstate(over="ignore"):  # what is infinite is too large
            single = points.astype(np.float32).astype(float)
        return Mesh(single.reshape(-1, 3), numbers.reshape(-1, 3))

    def _in_reference_frame(self, vertices: np.ndarray, element: Element) -> np.ndarray:
        """Seen from ``refpos`` and ``refquat``."""
        moved = vertices - position(element, "refpos", self.reader)
        if "refquat" not in element.attributes:
            return moved
        w, x, y, z = unit(element, "refquat", vector(self.reader, element, "refquat", 4), self.reader).tolist()
        return moved @ matrix_from_quaternion(np.array([x, y, z, w]))

    def _hull(self, mesh: Mesh, element: Element) -> np.ndarray:
        if element.get("maxhullvert", "-1").strip() != "-1":
            self.reader.fail(element, "the inertia of a hull that 'maxhullvert' cuts short is not computed")
        if len(mesh.vertices) > MAX_HULL:
            self.reader.fail(element, f"a mesh with a convex hull has at most {MAX_HULL:,} vertices")
        try:
            return hull(mesh.vertices)
        except ImportError:
            rule = "the convex hull of a mesh needs SciPy"
            self.reader.fail(element, rule, f"{how_to_get('scipy')}, or inertia='exact'")
        except RuntimeError:  # of qhull: the vertices lie in a plane
            self.reader.fail(element, "the vertices of the mesh have no convex hull with a volume")


def mesh_name(element: Element) -> str:
    """The name of a mesh, or that of its file."""
    return element.get("name") or PurePosixPath(element.get("file").replace("\\", "/")).stem


def _has_outward_normals(mesh: Mesh) -> bool:
    """As far as MuJoCo looks: at triangles that are not tiny."""
    _, same = np.unique(mesh.vertices, axis=0, return_inverse=True)
    return is_oriented(same.reshape(-1)[mesh.faces[areas(mesh.vertices[mesh.faces]) > MIN_MEASURE**0.5]])
