"""Addresses of meshes and textures.  No reader here opens one; a drawing might, so bad ones stop at the door."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from ..errors import FileError
from ..model.shapes import Mesh
from .diagnostics import Located, Reader

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters at least: C:\\ is a drive
_LOCAL: Final = ("package", "model", "file")
_ROS: Final = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH")
_MAX_UPWARDS: Final = 2  # robot/urdf/v2/x.urdf with meshes in robot/meshes


def check_uri(reader: Reader, place: Located, uri: str, *, climbs: bool = False) -> None:
    """Refuse remote addresses and, unless it ``climbs``, a path that leads out of its package; warn of absolute paths.

    Example:
        >>> reader = Reader("r.urdf")
        >>> check_uri(reader, None, "package://robot/meshes/arm.stl")
        >>> check_uri(reader, None, "../meshes/arm.stl")
        >>> check_uri(reader, None, "package://robot/../../etc/passwd")
        Traceback (most recent call last):
        fallingcat.errors.FileError: r.urdf: the path 'package://robot/../../etc/passwd' climbs out of its package
    """
    if not uri.strip():
        reader.fail(place, "the file name is empty")
    shown = uri if len(uri) <= 120 else uri[:117] + "..."
    scheme = _SCHEME.match(uri)
    if scheme is not None and scheme[1].lower() not in _LOCAL:
        reader.fail(place, f"{shown!r} is not a local file", "package://, model://, file:// and paths are")
    path = unquote(uri[scheme.end() :] if scheme else uri).replace("\\", "/")
    in_package = scheme is not None and scheme[1].lower() != "file"
    if not in_package and (path.startswith("/") or re.match(r"[A-Za-z]:", path)):
        reader.warn(place, f"{shown!r} is an absolute path: it exists on one machine only", kind="absolute paths")
    if not climbs and _upwards(path) > (0 if in_package else _MAX_UPWARDS):
        home = "its package" if in_package else "the robot's folders"
        reader.fail(place, f"the path {shown!r} climbs out of {home}")


def seen_from(path: str | os.PathLike[str], mesh: Mesh) -> str:
    """The address of a mesh as the robot's file ``path`` writes it: relative where that is near, else absolute.

    Example:
        >>> seen_from("/robots/dog/dog.toml", Mesh("meshes/leg.stl", "/robots/dog/urdf"))
        'urdf/meshes/leg.stl'
    """
    if _SCHEME.match(mesh.path):
        return mesh.path
    here, whole = os.path.dirname(os.path.abspath(path)), os.path.join(mesh.folder, mesh.path)
    try:
        relative = os.path.relpath(whole, here).replace("\\", "/")
    except ValueError:  # on another drive
        return whole
    return relative if _upwards(relative) <= _MAX_UPWARDS and not os.path.isabs(mesh.path) else whole


def located(mesh: Mesh) -> Path:
    """The file of a mesh, if there is one; a package is a folder above the robot's file, or one that ROS knows.

    Example:
        >>> located(Mesh("no/such.stl", "/robots"))
        Traceback (most recent call last):
        fallingcat.errors.FileError: no/such.stl: there is no such file
    """
    scheme = _SCHEME.match(mesh.path)
    path = unquote(mesh.path[scheme.end() :] if scheme else mesh.path).replace("\\", "/")
    if scheme is None or scheme[1].lower() == "file":
        if (
            scheme is None and _upwards(path) > _MAX_UPWARDS
        ):  # of an MJCF file: others were looked at when they were read
            raise FileError("the path climbs out of the robot's folders", file=mesh.path)
        places = [Path(mesh.folder, path.replace("///", "/") if scheme else path)]
    else:
        package, *steps = [step for step in path.split("/") if step]
        above = [Path(mesh.folder), *Path(mesh.folder).parents]
        known = [Path(each) for name in _ROS for each in os.environ.get(name, "").split(os.pathsep) if each]
        homes = [folder for folder in above if folder.name == package]
        homes += [folder / package for folder in above] + [
            root / p for root in known for p in (package, f"share/{package}")
        ]
        places = [home.joinpath(*steps) for home in (*homes, *above[:-1])]
    for place in places:
        if place.is_file():
            return place
    raise FileError("there is no such file", file=mesh.path)


def _upwards(path: str) -> int:
    """Number of levels that a path climbs above where it starts; for ``//package/...`` the package is the start."""
    start = 1 if path.startswith("//") and not path.startswith("///") else 0
    depth = lowest = 0
    for step in [s for s in path.split("/") if s not in ("", ".")][start:]:
        depth += -1 if step == ".." else 1
        lowest = min(lowest, depth)
    return -lowest
