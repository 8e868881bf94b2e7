"""Actuators: motors, servos, muscles, and whatever else pulls by ``gain activation + bias``; data of the model.

MuJoCo knows one actuator, ``<general>``: ``<motor>``, ``<position>``, ``<velocity>``, ... are ways to fill it in, and
so are the elements of default classes, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from ...model import Actuator, Joint, Limits
from ..numbers import number, vector
from ..safe_xml import Element
from .activation import ATTRIBUTES, CURVES, PLACEHOLDER_MUSCLE, RATES, activation_of, muscle_of, number_of
from .at_rest import AtRest
from .defaults import Defaults
from .files import FilesReader
from .ignored import Tally
from .parts import fresh
from .settings import choice
from .transmissions import NAMED, Transmissions, is_looked_at, joint_name

_INF: Final = float("inf")
_SILENT: Final = {"name", "class", "user", "lengthrange", *NAMED}
_SHARED: Final = {"group", "gear", "ctrlrange", "ctrllimited", "forcerange", "forcelimited", "inheritrange"}
TYPES: Final = {"dyntype": "none", "gaintype": "fixed", "biastype": "none"}
_AFFINE: Final = {**TYPES, "biastype": "affine"}
_TYPES_READ: Final = {
    "dyntype": ("none", "integrator", "filter", "filterexact", "muscle"),
    "gaintype": ("fixed", "affine", "muscle"),
    "biastype": ("none", "affine", "muscle"),
}
_GENERAL: Final = frozenset([*TYPES, "gainprm", "biasprm", "dynprm"])
_MUSCLE: Final = ("timeconst", "tausmooth", "range", "force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax")
DISABLED: Final = "actuators of a group that 'actuatorgroupdisable' switches off are left out"
_OFF_MESSAGE: Final = "actuators are off unless a law commands them, such as fc.control.Actuators"


def read_actuators(
    root: Element,
    transmissions: Transmissions,
    defaults: Defaults,
    reader: FilesReader,
    tally: Tally,
    felt: Callable[[str], float],
    drawn: AtRest,
    disabled: Collection[int] = (),
) -> list[Actuator]:
    """The actuators of the robot, in MuJoCo's order, without those of ``disabled`` groups.

    Joints have ``felt`` inertias, ``drawn`` is the robot as drawn.
    """
    every = [element for section in root.all("actuator") for element in section]
    for element in (element for element in every if not is_looked_at(element)):
        tally.note(f"<{element.tag}> of a body is not read", element)
    given = [element for element in every if is_looked_at(element)]
    taken = {element.get("name") for element in given}
    found = []
    for element in given:
        joint = transmissions.joint(element)
        if joint is None and joint_name(element) is not None:  # of a body that is no part of the robot
            continue
        drive = Drive()
        for each in (*defaults.actuators[defaults.named(element, "class", "main")], element):
            drive = drive.with_element(each, reader)
        if number_of(drive.shared.get("group", "0")) in disabled:
            tally.note(DISABLED, element)
            continue
        numbers = _numbers(drive, element, joint.limits if joint else Limits(), reader)
        on, odd = None, drive.unsupported_reason
        if joint is None:
            on = transmissions.of(element, np.array([*numbers["gear"], *[0.0] * 6][:6]))
            if on is None:  # of a body that is no part of the robot
                continue
            odd = on if isinstance(on, str) else odd or ("with 'dampratio'" if drive.ratio else "")
        elif joint.kind.nv != 1:
            odd = f"on a joint of type {joint.kind.name!r}"
        if odd:
            tally.note(f"<{element.tag}> {odd} is not read", element)
            continue
        numbers["gear"] = 1.0 if "site" in element.attributes else float(numbers["gear"][0])
        whole = element.get("tendon") or element.get("site") or element.get("cranksite")
        name = element.get("name") or fresh(f"{joint.name if joint else whole}_{element.tag}", taken)
        if joint is not None and drive.ratio:
            drive = drive.damped(felt(joint.name), numbers["gear"])
        made = drive.actuator(name, joint.name if joint else "", transmission=on, **numbers)
        if made.kind == "muscle":
            whole_muscle = muscle_of(made, drive.curve, element, drawn, reader, tally)
            if whole_muscle is None:
                continue
            made = whole_muscle
        found.append(made)
        tally.note(_OFF_MESSAGE, element)
    return found


def driven_joints(names: Set[str], joints: Sequence[Joint], actuators: Sequence[Actuator]) -> tuple[str, ...] | None:
    """The joints that actuators of a file pull on, ``names``, where some of these are not read; else None."""
    if names <= {actuator.joint for actuator in actuators}:
        return None
    return tuple(joint.name for joint in joints if joint.name in names and joint.kind.nv)


def actuated_joints(root: Element) -> set[str]:
    """Names of the joints that actuators pull on, whatever their kind."""
    given = [element for section in root.all("actuator") for element in section if is_looked_at(element)]
    return {name for element in given if (name := joint_name(element)) is not None}


@dataclass(frozen=True)
class Drive:
    """Values of a ``<general>``, which pulls by ``gain control + bias . (1, x, dx/dt)`` where its types are plain."""

    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    slope: tuple[float, float] = (0.0, 0.0)
    """change of the gain by x and dx/dt"""
    dynamics: tuple[float, ...] = (1.0, 0.0, 0.0)
    """numbers of the activation"""
    curve: tuple[float, ...] = ()
    """numbers of a muscle"""
    types: Mapping[str, str] = field(default_factory=lambda: TYPES)
    kinds: tuple[str, ...] = ()
    """the elements that filled it in, the last one last"""
    mixed: bool = False
    """True if its gains depend on the way in which MuJoCo mixes elements of several kinds"""
    shared: Mapping[str, str] = field(default_factory=dict)
    """attributes that all elements have alike"""
    others: Mapping[str, str] = field(default_factory=dict)
    """attributes that no actuator of ours can have"""

    def with_element(self, element: Element, reader: FilesReader) -> Drive:
        """This one, filled in by one element more."""
        fill, keys = _TAG_READERS.get(element.tag, (Drive._unknown, ()))
        shared, others = dict(self.shared), dict(self.others)
        for key, text in element.attributes.items():
            if key in _SHARED:
                shared[key] = text
            elif key not in _SILENT and key not in keys:
                others[key] = text
        if element.tag == "general" and _GENERAL.isdisjoint(element.attributes):
            return replace(self, shared=shared, others=others)
        kinds = (*self.kinds, element.tag)
        return replace(fill(self, element, reader), kinds=kinds, shared=shared, others=others)

    def _motor(self, _element: Element, _reader: FilesReader) -> Drive:
        return Drive()

    def _position(self, element: Element, reader: FilesReader) -> Drive:
        kp, kp_known = self._servo(element, "kp", self.gain, 1.0, reader)
        kv, kv_known = self._servo(element, "kv", -self.bias[2], 0.0, reader)
        mixed = not (kp_known and (kv_known or "dampratio" in element.attributes)) or bool(self.bias[0])
        ratio = number(reader, element, "dampratio", default=-kv)
        if "dampratio" in element.attributes and (ratio < 0.0 or "kv" in element.attributes):
            reader.fail(element, "'dampratio' is not negative, and stands without 'kv'")
        slow = number(reader, element, "timeconst", default=0.0)
        types = {**_AFFINE, "dyntype": "filterexact"} if slow else _AFFINE
        dynamics = (slow, 0.0, 0.0) if slow else self.dynamics
        return Drive(kp, (0.0, -kp, ratio), dynamics=dynamics, types=types, mixed=mixed)

    def _intvelocity(self, element: Element, reader: FilesReader) -> Drive:
        drive = self._position(element, reader)
        return replace(drive, dynamics=(1.0, 0.0, 0.0), types={**_AFFINE, "dyntype": "integrator"})

    def _damper(self, element: Element, reader: FilesReader) -> Drive:
        kv, known = self._servo(element, "kv", -self.slope[1], 0.0, reader)
        return Drive(0.0, slope=(0.0, -kv), types={**TYPES, "gaintype": "affine"}, mixed=not known)

    def _cylinder(self, element: Element, reader: FilesReader) -> Drive:
        area = number(reader, element, "area", default=1.0)
        if "diameter" in element.attributes:
            area = np.pi / 4.0 * number(reader, element, "diameter") ** 2
        first, second, third = vector(reader, element, "bias", 3, default=(0.0, 0.0, 0.0)).tolist()
        slow = number(reader, element, "timeconst", default=1.0)
        types = {"dyntype": "filter", "gaintype": "fixed", "biastype": "affine"}
        return Drive(area, (first, second, third), dynamics=(slow, 0.0, 0.0), types=types, mixed=self.kinds != ())

    def _muscle(self, element: Element, reader: FilesReader) -> Drive:
        known = self.curve or CURVES
        times = vector(reader, element, "timeconst", 2, default=(self.dynamics if self.curve else RATES)[:2]).tolist()
        smooth = number(reader, element, "tausmooth", default=self.dynamics[2] if self.curve else 0.0)
        ends = vector(reader, element, "range", 2, default=known[:2]).tolist()
        keys = ("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax")
        rest = [number(reader, element, key, default=x) for key, x in zip(keys, known[2:], strict=True)]
        types = dict.fromkeys(TYPES, "muscle")
        return Drive(
            dynamics=(*times, smooth), curve=(*ends, *rest), types=types, mixed=self.kinds not in ((), ("muscle",))
        )

    def _velocity(self, element: Element, reader: FilesReader) -> Drive:
        kv, known = self._servo(element, "kv", self.gain, 1.0, reader)
        return Drive(kv, (0.0, 0.0, -kv), types=_AFFINE, mixed=not known)

    def _servo(
        self, element: Element, key: str, inherited: float, usual: float, reader: FilesReader
    ) -> tuple[float, bool]:
        """A gain, and whether it is known: what a servo takes from a class of another kind depends on the MuJoCo.

        All of them take the plain gains of a ``<general>``.
        """
        alike, alone = self.kinds[-1:] == (element.tag,), not {*self.kinds} - {"motor"}
        plain = self.types["gaintype"] == "fixed" and self.types["biastype"] in ("none", "affine")
        alike = alike or ({*self.kinds} == {"general"} and plain and element.tag != "damper")
        known = key in element.attributes or (not self.mixed and (alike or alone))
        return number(reader, element, key, default=inherited if alike else usual), known

    def _general(self, element: Element, reader: FilesReader) -> Drive:
        """Types by their words, and as many of the first numbers as are given."""
        types = {key: element.get(key, self.types[key]) for key in TYPES}
        gains = vector(reader, element, "gainprm", (1, 10), default=(self.gain,)).tolist()
        slope = [*gains[1:3], *self.slope[len(gains[1:3]) :]]
        rates = vector(reader, element, "dynprm", (1, 10), default=self.dynamics).tolist()[:3]
        curve = tuple([*gains, *(self.curve or (0.0,) * 9)[len(gains) :]][:9]) if "muscle" in types.values() else ()
        given: list[float] = vector(reader, element, "biasprm", (1, 10), default=self.bias)[:3].tolist()
        first, second, third = [*given, *self.bias[len(given) :]]
        dynamics = (*rates, *self.dynamics[len(rates) :])
        return Drive(gains[0], (first, second, third), (slope[0], slope[1]), dynamics, curve, types, mixed=self.mixed)

    def _unknown(self, element: Element, _reader: FilesReader) -> Drive:
        return Drive(types={**TYPES, "gaintype": element.tag})

    @property
    def ratio(self) -> float:
        """Ratio to critical damping, as which MuJoCo takes a last bias above zero of what is like a servo."""
        return max(0.0, self.bias[2]) if self.bias[1] == -self.gain else 0.0

    def damped(self, inertia: float, gear: float) -> Drive:
        """With the damping ``ratio 2 sqrt(kp m)``, given the inertia of the joint: ``m`` as the gear has it."""
        m = inertia / gear**2 if gear else 0.0
        return replace(self, bias=(*self.bias[:2], -2.0 * self.ratio * float(np.sqrt(self.gain * m))))

    @property
    def unsupported_reason(self) -> str:
        """Reason why no actuator of ours is this one, in words; none if one is."""
        for key, word in self.types.items():
            if word not in _TYPES_READ[key]:
                return f"with {key} {word!r}"
        muscles = {self.types[key] == "muscle" for key in ("gaintype", "biastype")}
        if len(muscles) > 1:
            return "with a gain or a bias alone that is of a muscle"
        if number_of(self.others.get("actdim", "-1")) > 1.0:
            return "with 'actdim'"
        inherits = self.shared.get("inheritrange", "0") != "0"
        if inherits and ("ctrlrange" in self.shared or {*self.kinds} != {"position"}):
            return "with 'inheritrange' beside a range, or of a class that is for other actuators"
        if self.mixed:
            return "with gains of a class that is for other actuators"
        return next((f"with {key!r}" for key in self.others if key not in ATTRIBUTES), "")

    def actuator(self, name: str, joint: str, **numbers: Any) -> Actuator:
        """The actuator, of the kind that says it shortest."""
        gain, bias = self.gain, self.bias if self.types["biastype"] == "affine" else (0.0, 0.0, 0.0)
        numbers |= {"activation": activation_of(self.types["dyntype"], self.dynamics, self.others)}
        if self.types["gaintype"] == "muscle":
            return Actuator(name, joint, "muscle", **{"muscle": PLACEHOLDER_MUSCLE} | numbers)
        if self.types["gaintype"] == "affine" and any(self.slope):
            return Actuator(name, joint, "general", gain=gain, bias=bias, gain_slope=self.slope, **numbers)
        if gain == 1.0 and not any(bias):
            return Actuator(name, joint, "motor", **numbers)
        if bias[:2] == (0.0, -gain):
            return Actuator(name, joint, "position", kp=gain, kv=-bias[2] + 0.0, **numbers)
        if bias == (0.0, 0.0, -gain):
            return Actuator(name, joint, "velocity", kv=gain, **numbers)
        return Actuator(name, joint, "general", gain=gain, bias=bias, **numbers)


_TAG_READERS: Final[dict[str, tuple[Callable[[Drive, Element, FilesReader], Drive], tuple[str, ...]]]] = {
    "general": (Drive._general, (*_GENERAL, "dynprm")),
    "motor": (Drive._motor, ()),
    "position": (Drive._position, ("kp", "kv", "dampratio", "timeconst")),
    "intvelocity": (Drive._intvelocity, ("kp", "kv", "dampratio")),
    "damper": (Drive._damper, ("kv",)),
    "cylinder": (Drive._cylinder, ("timeconst", "area", "diameter", "bias")),
    "muscle": (Drive._muscle, (*_MUSCLE,)),
    "velocity": (Drive._velocity, ("kv",)),
}
"""Function that fills in an element, and the attributes that it reads."""


def _numbers(drive: Drive, element: Element, limits: Limits, reader: FilesReader) -> dict[str, Any]:
    """Gear and ranges; ``inheritrange`` is the part of the joint's range that a control may take."""
    full = reader.twin(element, dict(drive.shared))
    control = _range(full, "ctrl", reader)
    if part := number(reader, full, "inheritrange", default=0.0):
        if not np.isfinite([limits.lower, limits.upper]).all():
            reader.fail(element, "the joint of an actuator with 'inheritrange' has a range")
        middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * part * (limits.upper - limits.lower)
        control = middle - half, middle + half
    gear = vector(reader, full, "gear", (1, 6), default=(1.0,)).tolist()
    return {"gear": gear, "control_range": control, "force_range": _range(full, "force", reader)}


def _range(element: Element, what: str, reader: FilesReader) -> tuple[float, float]:
    """A range counts where ``limited`` says so, or says nothing."""
    limited = choice(reader, element, f"{what}limited", ("true", "false", "auto"), "auto")
    lower, upper = vector(reader, element, f"{what}range", 2, default=(0.0, 0.0)).tolist()
    if limited == "false" or (limited == "auto" and lower >= upper):
        return -_INF, _INF
    if lower >= upper:
        reader.fail(element, f"the lower end of '{what}range' lies below the upper end", f"{lower:g} and {upper:g}")
    return lower, upper
