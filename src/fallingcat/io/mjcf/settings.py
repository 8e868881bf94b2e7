"""Settings of the whole file: ``<compiler>`` and ``<option>``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from ...model.model import GRAVITY
from ..diagnostics import Reader
from ..limits import MAX_INERTIA, MAX_MASS
from ..numbers import number, vector
from ..safe_xml import Element, only
from ..uris import check_uri
from .ignored import Tally

_BOOLEAN: Final = {"true": True, "false": False}
_LAWS: Final = ("constraint", "equality", "frictionloss", "limit", "spring", "damper", "actuation")
_MAX_GROUP: Final = 30
_FLUID: Final = ("density", "viscosity", "wind")


@dataclass(frozen=True)
class Settings:
    """The compiler's settings that change what a file means; MuJoCo's defaults where they are left out."""

    angle: float = math.pi / 180.0
    """Radians per unit of an angle in the file: degrees, unless it says otherwise."""
    eulerseq: str = "xyz"
    """Axes of ``euler``, in order; lower case turns with the frame, upper case stays with the parent."""
    autolimits: bool = True
    inertiafromgeom: str = "auto"
    groups: tuple[float, float] = (0.0, 5.0)
    """Groups of geoms that have a mass."""
    balanceinertia: bool = False
    boundmass: float = 0.0
    boundinertia: float = 0.0
    settotalmass: float = -1.0
    meshdir: str = ""
    """Folder of meshes, relative to the file."""
    strippath: bool = False
    """True if only the name of a mesh counts, not the path before it."""
    fitaabb: bool = False
    """True if a shape that is fitted to a mesh encloses it; False: it has its inertia."""
    density: float = 0.0
    """Density of the fluid around the robot (kg/m^3)."""
    viscosity: float = 0.0
    """Viscosity of the fluid (Pa s)."""
    wind: tuple[float, ...] = (0.0, 0.0, 0.0)
    """Velocity of the fluid, world axes (m/s)."""
    gravity: np.ndarray = field(default_factory=lambda: np.array(GRAVITY))
    disabled_groups: tuple[int, ...] = ()
    """Groups of actuators that are switched off."""


def read_settings(root: Element, reader: Reader, tally: Tally) -> Settings:
    """All ``<compiler>`` and ``<option>`` elements together; where two speak of the same, the last one holds."""
    settings = Settings()
    for compiler in root.all("compiler"):
        settings = replace(settings, **_compiler(compiler, reader, tally))
    for option in root.all("option"):
        settings = replace(settings, **_option(option, reader, tally))
    for option in root.all("option"):
        flag = only(reader, option, "flag")
        if flag is not None and _is_disabled(reader, flag, "gravity"):
            settings = replace(settings, gravity=np.zeros(3))
        off = [name for name in _LAWS if flag is not None and _is_disabled(reader, flag, name)]
        if off:
            tally.note(f"<flag> does not switch off {', '.join(map(repr, off))}: laws of simulations do", flag)
    return settings


def _is_disabled(reader: Reader, flag: Element, name: str) -> bool:
    return choice(reader, flag, name, ("enable", "disable"), "enable") == "disable"


def choice(reader: Reader, element: Element, attribute: str, words: tuple[str, ...], default: str) -> str:
    """One of a few words in an attribute.

    Example:
        >>> from fallingcat.io.safe_xml import parse
        >>> reader = Reader("r.xml")
        >>> choice(reader, parse(b"<compiler angle='Grad'/>", reader), "angle", ("degree", "radian"), "degree")
        Traceback (most recent call last):
        fallingcat.errors.FileError: r.xml:1: <compiler>: 'angle' is one of degree, radian, not 'Grad'
    """
    text = element.get(attribute, default)
    if text not in words:
        reader.fail(element, f"{attribute!r} is one of {', '.join(words)}, not {text[:80]!r}")
    return text


def boolean(reader: Reader, element: Element, attribute: str, default: bool) -> bool:
    """``true`` or ``false`` in an attribute."""
    return _BOOLEAN[choice(reader, element, attribute, ("true", "false"), "true" if default else "false")]


def _compiler(compiler: Element, reader: Reader, tally: Tally) -> dict[str, Any]:
    if choice(reader, compiler, "coordinate", ("local", "global"), "local") == "global":
        reader.fail(compiler, "global coordinates are not read", "MuJoCo up to 2.3.3 converts such a file")
    if boolean(reader, compiler, "alignfree", False):
        rule = "alignfree moves the frame of a free body to its inertia, and is not read"
        reader.fault(compiler, rule, "frames stay where they are")
    if boolean(reader, compiler, "fusestatic", False):
        tally.note("'fusestatic' is not read: fixed bodies are merged or kept as load(fixed=...) says", compiler)
    for name in ("meshdir", "texturedir", "assetdir"):
        if compiler.get(name).strip():
            check_uri(reader, compiler, compiler.get(name), climbs=True)
    return {
        setting: read(compiler, reader, name)
        for name, (setting, read) in _COMPILER.items()
        if name in compiler.attributes
    }


def _text(compiler: Element, reader: Reader, name: str) -> str:
    return compiler.get(name)


def _flag(compiler: Element, reader: Reader, name: str) -> bool:
    return boolean(reader, compiler, name, False)


def _angle(compiler: Element, reader: Reader, name: str) -> float:
    return 1.0 if choice(reader, compiler, name, ("degree", "radian"), "degree") == "radian" else math.pi / 180.0


def _from_geoms(compiler: Element, reader: Reader, name: str) -> str:
    return choice(reader, compiler, name, ("auto", "true", "false"), "auto")


def _pair(compiler: Element, reader: Reader, name: str) -> tuple[float, ...]:
    return tuple(vector(reader, compiler, name, 2).tolist())


def _amount(compiler: Element, reader: Reader, name: str) -> float:
    value, most = number(reader, compiler, name), MAX_INERTIA if name == "boundinertia" else MAX_MASS
    if value > most or (value < 0.0 and name != "settotalmass"):  # a negative total means: as it is
        reader.fail(compiler, f"{name!r} lies between 0 and {most:g}", f"is {value:g}")
    return value


def _eulerseq(compiler: Element, reader: Reader, name: str) -> str:
    sequence = compiler.get(name)
    if len(sequence) != 3 or set(sequence) - set("xyzXYZ"):
        reader.fail(compiler, f"{name!r} is three of x, y, z, X, Y, Z, not {sequence[:80]!r}")
    return sequence


_COMPILER: Final[dict[str, tuple[str, Callable[[Element, Reader, str], Any]]]] = {
    "assetdir": ("meshdir", _text),
    "meshdir": ("meshdir", _text),  # holds where both are given
    "angle": ("angle", _angle),
    "eulerseq": ("eulerseq", _eulerseq),
    "inertiafromgeom": ("inertiafromgeom", _from_geoms),
    "inertiagrouprange": ("groups", _pair),
    **{name: (name, _flag) for name in ("autolimits", "balanceinertia", "strippath", "fitaabb")},
    **{name: (name, _amount) for name in ("boundmass", "boundinertia", "settotalmass")},
}
"""attribute -> the setting that it gives, and how it is read"""


def _option(option: Element, reader: Reader, tally: Tally) -> dict[str, Any]:
    if "timestep" in option.attributes and number(reader, option, "timestep") <= 0.0:
        reader.fail(option, "the time step is positive", f"is {option.get('timestep')[:40]}")
    found: dict[str, Any] = {}
    for name in _FLUID:
        if name in option.attributes and vector(reader, option, name, (1, 3)).any():
            found[name] = vector(reader, option, name, (1, 3)).tolist()
    if "wind" in found and len(found["wind"]) != 3:
        reader.fail(option, "the 'wind' has three numbers", f"is {option.get('wind')[:40]!r}")
    settings = {key: tuple(x) if key == "wind" else x[0] for key, x in found.items()}
    if option.get("actuatorgroupdisable").strip():
        groups = vector(reader, option, "actuatorgroupdisable", (1, _MAX_GROUP + 1)).tolist()
        if not {*groups} <= {*range(_MAX_GROUP + 1)}:
            reader.fail(option, f"'actuatorgroupdisable' has integers from 0 to {_MAX_GROUP}")
        settings["disabled_groups"] = tuple(map(int, groups))
    return settings | ({"gravity": vector(reader, option, "gravity", 3)} if "gravity" in option.attributes else {})
