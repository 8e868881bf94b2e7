"""Elements and attributes of MJCF: a misspelt one would lose a mass or a limit without a word."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from ..diagnostics import Reader
from ..numbers import vector
from ..safe_xml import Element, only

_POSE: Final = "pos quat axisangle xyaxes zaxis euler"
_SECTIONS: Final = (
    "compiler option size visual statistic default custom asset worldbody deformable contact equality tendon actuator "
    "sensor keyframe extension"
)
_INSIDE_BODY: Final = "inertial joint freejoint geom site camera light body frame attach"
_JOINT: Final = (
    "actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis damping frictionloss group limited margin pos "
    "range ref solimpfriction solimplimit solreffriction solreflimit springdamper springref springyield stiffness type "
    "user"
)
_GEOM: Final = (
    f"{_POSE} adhesion castshadow conaffinity condim contype density fitscale fluidcoef fluidshape friction fromto gap "
    "group hfield margin mass material mesh priority rgba shellinertia size solimp solmix solref surfacevel type user"
)

_ATTRIBUTES: Final[dict[str, frozenset[str]]] = {
    tag: frozenset(names.split())
    for tag, names in {
        "mujoco": "model",
        "worldbody": "",
        "compiler": "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict convexhull "
        "coordinate discardvisual eulerseq exactmeshinertia fitaabb fusestatic inertiafromgeom inertiagrouprange "
        "meshdir passthrough savecanonical savecompiled saveinertial settotalmass strippath texturedir usethread",
        "option": "actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone density gravity impratio "
        "integrator iterations jacobian ls_iterations ls_tolerance magnetic mpr_iterations mpr_tolerance "
        "noslip_iterations noslip_tolerance o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations "
        "sleep_tolerance solver timestep tolerance viscosity wind",
        "default": "class",
        "body": f"name childclass {_POSE} fuse gravcomp mocap simple sleep user",
        "frame": f"name childclass {_POSE}",
        "attach": "model body frame prefix",
        "inertial": f"{_POSE} mass diaginertia fullinertia",
        "joint": f"name class {_JOINT}",
        "freejoint": "name group align",
        "geom": f"name class {_GEOM}",
    }.items()
}
_CHILDREN: Final[dict[str, frozenset[str]]] = {
    tag: frozenset(names.split())
    for tag, names in {
        "mujoco": _SECTIONS,
        "worldbody": _INSIDE_BODY,
        "body": _INSIDE_BODY,
        "frame": _INSIDE_BODY,
        "attach": "",
        "inertial": "",
        "joint": "",
        "freejoint": "",
        "geom": "plugin",
    }.items()
}
_SECTION_CHILDREN: Final[dict[str, frozenset[str]]] = {
    tag: frozenset(names.split())
    for tag, names in {
        "compiler": "lengthrange",
        "option": "flag",
        "size": "",
        "statistic": "",
        "visual": "global quality headlight map scale rgba",
        "custom": "numeric text tuple",
        "asset": "mesh hfield skin texture material model",
        "deformable": "flex skin",
        "contact": "pair exclude",
        "equality": "connect weld joint tendon flex flexvert flexstrain distance",
        "tendon": "spatial fixed",
        "keyframe": "key",
        "extension": "plugin",
        "site": "",
        "camera": "",
        "light": "",
    }.items()
}
_ONLY_IN_BODIES: Final = frozenset({"worldbody", "body", "frame", "inertial", "freejoint", "replicate", "attach"})
_NUMBERS: Final[dict[str, int | tuple[int, int]]] = {
    "pos": 3, "quat": 4, "axisangle": 4, "xyaxes": 6, "zaxis": 3, "euler": 3, "axis": 3, "range": 2, "ref": 1,
    "fromto": 6, "size": (1, 3), "mass": 1, "density": 1, "diaginertia": 3, "fullinertia": 6, "group": 1,
    "armature": 1, "frictionloss": 1, "gravcomp": 1, "springref": 1, "margin": 1, "boundmass": 1, "boundinertia": 1,
    "settotalmass": 1, "inertiagrouprange": 2,
}  # fmt: skip
_BUILDERS: Final = ("plugin",)
_TEXT: Final = frozenset(
    ["name", "class", "childclass", "model", "file", "prefix", "text", "key", "value", "objname", "refname"]
)


def check_elements(root: Element, reader: Reader) -> None:
    """Every element that is read has known attributes with finite numbers; nowhere in the file is a ``nan``."""
    stack = [(root, False)]
    while stack:
        element, passed_over = stack.pop()
        _no_nan(element, reader)
        if not passed_over:
            _check_element(element, reader)
        for child in element if passed_over or element.tag not in _CHILDREN else ():
            if child.tag in _ONLY_IN_BODIES:  # it would be lost
                reader.fail(child, f"<{element.tag}> has no element <{child.tag}>")
        inside = passed_over or element.tag not in _CHILDREN
        stack.extend((child, inside) for child in reversed(element.children))


def _check_element(element: Element, reader: Reader) -> None:
    """An element that is read, or the outside of a section that is not."""
    if element.tag == "default":
        _check_default(element, reader)
    elif element.tag in _ATTRIBUTES:
        _check_attributes(element, _ATTRIBUTES[element.tag], reader)
    known = _CHILDREN.get(element.tag, _SECTION_CHILDREN.get(element.tag))
    for child in element if known is not None else ():
        if known is not None and child.tag not in known:
            _refuse(child, element, known, reader)


def _check_default(top: Element, reader: Reader) -> None:
    stack = [top]
    while stack:
        default = stack.pop()
        _check_attributes(default, _ATTRIBUTES["default"], reader)
        for child in default:
            if child.tag == "default":
                stack.append(child)
            elif child.tag in ("joint", "geom"):
                only(reader, default, child.tag)
                _check_attributes(child, _ATTRIBUTES[child.tag] - {"name", "class"}, reader)
                for inner in child:
                    _refuse(inner, child, frozenset(), reader)


def _check_attributes(element: Element, known: frozenset[str], reader: Reader) -> None:
    for name in [name for name in _NUMBERS if name in element.attributes and not element.attributes[name].strip()]:
        del element.attributes[name]  # nothing is said, as in MuJoCo
    for name in element.attributes:
        if name not in known:
            hint = _nearest_name(name, known) or "it is misspelt, or newer than this reader"
            reader.fail(element, f"<{element.tag}> has no attribute {name!r}", hint)
        if name in _NUMBERS:
            vector(reader, element, name, _NUMBERS[name])
    if element.text:
        reader.warn(element, f"there is text inside <{element.tag}>, which says nothing: {element.text[:40]!r}")


def _refuse(child: Element, parent: Element, known: frozenset[str], reader: Reader) -> None:
    if child.tag in _BUILDERS:
        rule = f"<{child.tag}> makes bodies when MuJoCo compiles the file, and is not read"
        reader.fail(child, rule, "let MuJoCo write them out: mujoco.mj_saveLastXML, or write them by hand")
    reader.fail(child, f"<{parent.tag}> has no element <{child.tag}>", _nearest_name(child.tag, known))


def _nearest_name(name: str, known: frozenset[str]) -> str | None:
    near = get_close_matches(name, sorted(known), n=1)
    return f"do you mean {near[0]!r}?" if near else None


def _no_nan(element: Element, reader: Reader) -> None:
    """MuJoCo reads ``nan`` wherever a number stands; no file means it."""
    for name, text in element.attributes.items():
        if name in _TEXT or "nan" not in text.lower():
            continue
        words = text.lower().split()
        if any(word.lstrip("+-") == "nan" for word in words) and all(map(_numeric, words)):
            reader.fail(element, f"{name!r} holds finite numbers, not 'nan'")


def _numeric(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
