"""Settings for the elements of one model: those of its compiler, its default classes, its meshes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..safe_xml import Element
from .defaults import Defaults
from .files import FilesReader
from .ignored import Tally
from .meshes import Meshes
from .settings import Settings, read_settings


@dataclass(frozen=True, eq=False)
class Source:
    """Settings, default classes and meshes of a ``<mujoco>`` element."""

    settings: Settings
    defaults: Defaults
    meshes: Meshes
    materials: dict[str, Element]
    """By name, with their defaults applied."""


def read_source(root: Element, folder: Path, reader: FilesReader, tally: Tally) -> Source:
    """The source of all that stands in ``root``, whose meshes are seen from ``folder``."""
    settings, defaults = read_settings(root, reader, tally), Defaults(root, reader)
    meshes = Meshes(root, folder, settings, defaults, reader, tally)
    found = [material for asset in root.all("asset") for material in asset.all("material")]
    drawn = [each for each in found if each.get("class", "main") in defaults.classes]
    materials = {each.get("name"): defaults.applied(each, "main") for each in drawn}
    return Source(settings, defaults, meshes, materials)
