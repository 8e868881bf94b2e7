"""From the bodies of a file to the parts of a model: which link is the base, how joints and links are called."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...lie import SE3, Group, Trivial
from ...model import Body, Fixed, Joint, Link, Model
from ..assembly import Parts, assemble
from ..diagnostics import Located
from ..names import check_name
from ..safe_xml import Element
from .bodies import BodyPart, Walk
from .defaults import Defaults
from .files import FilesReader, with_includes
from .inertia import weigh_bodies
from .redundancy import check_redundancy
from .references import References, check_assets
from .schema import check_elements
from .settings import read_settings
from .tally import Tally

from ..diagnostics import Reader  # isort: skip

WORLD = "world"


def read_mjcf(root: Element, reader: Reader) -> Model:
    """The model in a ``<mujoco>`` element.

    One top body with a free joint is the base link, and the base is free; otherwise the base link is the world.
    ``base`` of the options replaces the group of a free base, or frees the one body that is fixed to the world.
    """
    many = with_includes(root, reader)
    check_elements(root, many)
    tally = Tally(many)
    settings = read_settings(root, many, tally)
    references = References(root, many)
    bodies = Walk(settings, Defaults(root, many), many, tally).through(root)
    if len(bodies) == 1:
        many.fail(bodies[0].element, "a robot has at least one <body>")
    base = _base(bodies, many, tally)
    kept = _carried(bodies, base)
    moving = [body.moves or (base > 0 and keep) for body, keep in zip(bodies, kept, strict=True)]
    masses = weigh_bodies(bodies, moving, settings, many, tally)
    references.check(tally)
    check_assets(root, many)
    tally.report()
    group: Group = SE3() if base else Trivial()
    naming = _Naming(bodies, references)
    parts = _Parts(bodies, masses, naming, many).of(base, kept)
    name = root.get("model")
    if name:
        check_name(many, root, "robot", name)
    return assemble(
        Parts(
            name=name or "robot",
            base=group,
            links=parts.links,
            joints=parts.joints,
            link_places=parts.link_places,
            joint_places=parts.joint_places,
            gravity=settings.gravity,
            virtual=parts.virtual,
        ),
        many,
    )
