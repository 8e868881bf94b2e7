"""``<mujoco>`` to a :class:`~fallingcat.model.Model`: the steps, in order."""

from __future__ import annotations

from ...lie import SE3, Trivial
from ...model import Model
from ..assembly import Parts, assemble
from ..diagnostics import Reader
from ..names import check_name
from ..safe_xml import Element
from .actuators import read_actuators
from .base import find_robot
from .bodies import Walk
from .defaults import Defaults
from .files import with_includes
from .inertia import weigh_bodies
from .parts import make_pieces
from .references import References, check_assets
from .schema import check_elements
from .settings import read_settings
from .tally import Tally


def read_mjcf(root: Element, reader: Reader) -> Model:
    """The model in a ``<mujoco>`` element.

    One top body with a free joint is the base link, and the base is free; otherwise the base link is the world.
    ``base`` of the options replaces the group of a free base, or frees the one body that is fixed to the world.

    >>> from fallingcat.io.safe_xml import parse
    >>> reader = Reader("brick.xml")
    >>> brick = b"<body name='brick'><freejoint/><geom type='box' size='.1 .1 .05' mass='2'/></body>"
    >>> read_mjcf(parse(b"<mujoco><worldbody>" + brick + b"</worldbody></mujoco>", reader), reader)
    <Model 'robot': base SE(3), 1 links, 0 joint dof, 2 kg>
    """
    reader = with_includes(root, reader)
    check_elements(root, reader)
    tally = Tally(reader)
    settings = read_settings(root, reader, tally)
    references = References(root, reader)
    defaults = Defaults(root, reader)
    bodies = Walk(settings, defaults, reader, tally).through(root)
    references.check(tally)
    check_assets(root, reader)
    if len(bodies) == 1:
        reader.fail(bodies[0].element, "a robot has at least one <body>")
    robot = find_robot(bodies, reader, tally)
    base = robot.base
    moving = [body.moves or (base > 0 and keep) for body, keep in zip(bodies, robot.kept, strict=True)]
    masses = weigh_bodies(bodies, moving, settings, reader, tally)
    pieces = make_pieces(bodies, masses, base, robot.kept, reader)
    actuators = read_actuators(root, pieces.joints, defaults, reader, tally)
    tally.report()
    name = root.get("model")
    if name:
        check_name(reader, root, "robot", name)
    parts = Parts(
        name=name or "robot",
        base=SE3() if base else Trivial(),
        links=pieces.links,
        joints=pieces.joints,
        link_places=pieces.link_places,
        joint_places=pieces.joint_places,
        gravity=settings.gravity,
        virtual=pieces.virtual,
        actuators=actuators,
    )
    return assemble(parts, reader)
