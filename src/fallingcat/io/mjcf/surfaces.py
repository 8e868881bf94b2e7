"""Contact parameters of geoms, of ``<pair>`` elements and of the ground plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ...model.surface import DIMENSIONS, Surface
from ..diagnostics import Reader
from ..numbers import number, vector
from ..safe_xml import Element
from .bodies import BodyPart
from .defaults import Defaults
from .geometry import Geom
from .ignored import Tally
from .shapes import bits

GROUND: Final = ("plane", "hfield")
_SOFT: Final = ("solref", "solimp", "solmix", "solreffriction")
_SOFTNESS: Final = (
    "'solref', 'solimp' and 'solmix' of geoms and pairs are not read: stiffness and damping are those of the contact "
    "that is simulated, such as fc.contact.CompliantFloor(..., stiffness=, damping=)"
)
_TORSION: Final = "torsional and rolling friction ('condim' 4 and 6) do not act: these contacts have sliding friction"
_UNEVEN: Final = "a <pair> has two coefficients of sliding friction: the first one counts along both tangents"

Pairs = Mapping[str, tuple[tuple[str, Surface], ...]]
"""Names of geoms, each with the others that a ``<pair>`` joins it to."""


def read_pairs(root: Element, defaults: Defaults, reader: Reader, tally: Tally) -> Pairs:
    """All ``<pair>`` elements; what one does not say has MuJoCo's defaults, not the parameters of its geoms."""
    found: dict[str, list[tuple[str, Surface]]] = {}
    for section in root.all("contact"):
        for element in section.all("pair"):
            full = defaults.applied(element, "main")
            first, second = element.get("geom1"), element.get("geom2")
            surface = _surface(full, reader, tally, 5)
            found.setdefault(first, []).append((second, surface))
            found.setdefault(second, []).append((first, surface))
    return {name: tuple(pairs) for name, pairs in found.items()}


def surface_of(geom: Geom, pairs: Pairs, reader: Reader, tally: Tally) -> Surface | None:
    """Contact parameters of a geom of a link; None where it touches nothing, and of the ground."""
    return None if geom.kind in GROUND else _touching(geom, pairs, reader, tally)


def _touching(geom: Geom, pairs: Pairs, reader: Reader, tally: Tally) -> Surface | None:
    name = geom.element.get("name")
    own, touches = pairs.get(name, ()) if name else (), bits(geom) != (0, 0)
    if not touches and not own:
        return None
    surface = _surface(geom.element, reader, tally, 3) if touches else Surface()
    return replace(surface, name=name, pairs=own, paired_only=not touches) if own else surface


def ground_of(bodies: Sequence[BodyPart], pairs: Pairs, reader: Reader, tally: Tally) -> Surface | None:
    """Surface of a plane or height field that does not move; the first one of several."""
    planes = (geom for body in bodies if not body.moves for geom in body.geoms if geom.kind in GROUND)
    found = [(geom, own) for geom in planes if (own := _touching(geom, pairs, reader, tally))]
    for geom, surface in found[1:]:
        if surface != found[0][1]:
            tally.note("the planes of the world have different contact parameters: the first one counts", geom.element)
    return found[0][1] if found else None


def _surface(element: Element, reader: Reader, tally: Tally, most: int) -> Surface:
    """Contact parameters in the attributes of a ``<geom>`` or ``<pair>``, with warnings of those that do not act."""
    given: dict[str, Any] = {}
    if "friction" in element.attributes:
        friction = vector(reader, element, "friction", (1, most))
        if (friction < 0.0).any():
            reader.fail(element, "friction is not negative", f"is {element.get('friction')[:40]!r}")
        given["friction"] = float(friction[0])
        if most > 3 and len(friction) > 1 and friction[0] != friction[1]:
            tally.note(_UNEVEN, element)
    given["dimensions"] = _integer_attribute(element, "condim", 3, reader)
    if given["dimensions"] not in DIMENSIONS:
        reader.fail(element, "'condim' is 1, 3, 4 or 6", f"is {element.get('condim')[:40]!r}")
    if given["dimensions"] > 3:
        tally.note(_TORSION, element)
    if element.tag == "geom":
        given["priority"] = _integer_attribute(element, "priority", 0, reader)
    given["margin"] = max(0.0, number(reader, element, "margin", default=0.0))
    if any(name in element.attributes for name in _SOFT):
        tally.note(_SOFTNESS, element)
    return Surface(**given)


def _integer_attribute(element: Element, attribute: str, default: int, reader: Reader) -> int:
    given = number(reader, element, attribute, default=float(default))
    if given != int(given):
        reader.fail(element, f"{attribute!r} is an integer", f"is {element.get(attribute)[:40]!r}")
    return int(given)
