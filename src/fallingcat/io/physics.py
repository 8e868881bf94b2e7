"""Masses and inertias of a whole robot: what no body can have, what of that cannot matter, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final

import numpy as np

from ..lie import Trivial
from ..model import Body, Fixed, Link, Model
from ..model.joint_inertia import Resistance, resistances
from .diagnostics import Located, Reader
from .limits import MAX_MASS_RATIO

MAX_INERTIA_CHANGE: Final = 1e-9
"""Largest relative change of the inertia that a joint feels when impossible bodies are replaced by the nearest possible
ones: then they cannot matter."""


def check_physics(
    model: Model,
    merged: Model,
    places: Mapping[str, Located | None],
    virtual: Set[str],
    needs_mass: bool,
    reader: Reader,
) -> None:
    """Every moving whole, a link with what is welded to it; ``virtual`` links are the reader's own.

    Where the format ``needs_mass``, as MJCF does, moments are positive: no points, no rounding below zero.
    """
    still = model.links[0].name if isinstance(model.base, Trivial) else None
    wholes = [link for link in merged.links if link.name != still]
    wrong = [link for link in wholes if _problem(link.body)]
    parts = _parts(model)
    _check_wholes(merged, wrong, [part for link in wrong for part in parts[link.name]], places, needs_mass, reader)
    fine = {link.name for link in wholes} - {link.name for link in wrong}
    for part in [part for name in parts if name in fine for part in parts[name]]:
        if part.body.inertia.any() and _problem(part.body):  # among others, a point mass is a fine part
            reader.warn(places[part.name], "no body has this inertia alone, but together with what is fixed to it")
    light = [link.name for link in wholes if link.body.mass == 0.0 and link.name not in virtual]
    _warn_of_massless(merged, light, places, needs_mass, reader)
    check_ratio([(link.body.mass, link.name) for link in wholes if link.body.mass > 0.0], places, reader)


def _parts(model: Model) -> dict[str, list[Link]]:
    """For each link that moves on its own, itself and what is welded to it."""
    home: dict[str, str] = {model.links[0].name: model.links[0].name}
    for joint in model.joints:  # parents first
        home[joint.child] = home[joint.parent] if isinstance(joint.kind, Fixed) else joint.child
    parts: dict[str, list[Link]] = {}
    for link in model.links:
        parts.setdefault(home[link.name], []).append(link)
    return parts


NEEDS_MASS: Final = "a link that moves needs a mass"
_NO_MASS: Final = 'there is an inertia without a mass; if this is the base that stands in the world, say base="fixed"'


def _problem(body: Body) -> str | None:
    """The rule that a body breaks; nothing at all breaks none."""
    if body.mass == 0.0:
        return _NO_MASS if body.inertia.any() else None
    return next(iter(body.problems()), None)


def _check_wholes(
    merged: Model,
    wrong: Sequence[Link],
    parts: Sequence[Link],
    places: Mapping[str, Located | None],
    needs_mass: bool,
    reader: Reader,
) -> None:
    """Bodies that cannot exist: remarks where no joint feels the difference to ones that can, else errors."""
    if not wrong:
        return
    guilty = [part for part in parts if _problem(part.body)] or wrong
    missing = {part.name: _missing_inertia(part.body) for part in guilty}
    felt = () if needs_mass else _changed_inertias(merged, wrong)
    if not felt:
        worst_first = sorted(guilty, key=lambda part: -missing[part.name])
        reader.physics([(places[part.name], _problem(part.body) or "") for part in worst_first])
    for name, moment in missing.items() if felt else ():
        reader.warn(places[name], _UNFELT if moment else "a mass without extent: a point, or a rod")
    for link, at in zip(merged.links, felt, strict=False):
        if link.body.mass > 0.0 and at.none[1]:
            reader.warn(places[link.name], "a mass without extent on its own axis: the mass matrix is singular")


def _missing_inertia(body: Body) -> float:
    """Inertia that a body lacks to be one (kg m^2); without a mass, all."""
    return float("inf") if body.mass == 0.0 else float(np.abs(body.possible.inertia - body.inertia).max())


_UNFELT: Final = (
    f"no body has this inertia, but no joint feels more than {MAX_INERTIA_CHANGE:g} of what it misses: taken as it is"
)


def _changed_inertias(merged: Model, wrong: Sequence[Link]) -> Sequence[Resistance]:
    """Inertias at the base and the joints with the wrong bodies and with possible ones; nothing if they differ."""
    if any(link.body.mass == 0.0 for link in wrong):
        return ()
    names = {link.name for link in wrong}
    bodies = [link.body for link in merged.links]
    mended = [link.body.possible if link.name in names else link.body for link in merged.links]
    felt = resistances(merged, bodies, mended)
    for given, able in (at.free for at in felt):
        size = np.sqrt(np.abs(np.diag(able)))
        if (np.abs(able - given) > MAX_INERTIA_CHANGE * np.outer(size, size)).any():
            return ()
    return felt


def _warn_of_massless(
    merged: Model, massless: Sequence[str], places: Mapping[str, Located | None], needs_mass: bool, reader: Reader
) -> None:
    idle = merged.idle_links
    tied = {joint.child for joint in merged.joints if joint.mimic}  # what moves them has to move their leaders
    between = [name for name in massless if name not in idle and (needs_mass or name not in tied)]
    if needs_mass and between:
        reader.physics([(places[name], f"{NEEDS_MASS}, and {name!r} has none") for name in between])
    for name in between if not needs_mass else ():
        text = "a massless link between joints: the mass matrix is singular where their axes line up"
        reader.warn(places[name], text)
    warn_of_idle_links(merged, places, reader)


def warn_of_idle_links(merged: Model, places: Mapping[str, Located | None], reader: Reader) -> None:
    """Warn of links that nothing resists: there are no dynamics."""
    idle = merged.idle_links
    if idle == merged.link_names[:1]:
        text = 'no mass resists the base: a kinematic model, without dynamics; base="fixed" welds it to the world'
        reader.warn(places[idle[0]], text)
    else:
        for name in idle:
            text = 'no mass resists this link: a kinematic model, without dynamics; massless="weld" fixes such joints'
            reader.warn(places[name], text)


def check_ratio(masses: Sequence[tuple[float, str]], places: Mapping[str, Located | None], reader: Reader) -> None:
    """A warning where masses differ so much that forward dynamics has no digits left."""
    if not masses:
        return
    (light, thin), (heavy, thick) = min(masses), max(masses)
    if heavy > MAX_MASS_RATIO * light:
        text = f"{thick!r} is {heavy / light:.2g} times as heavy as {thin!r}: forward dynamics will lose its digits"
        reader.warn(places[thick], text)
