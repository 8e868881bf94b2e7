"""``<mujoco>`` to a :class:`~fallingcat.model.Model`: the steps, in order."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

from ...lie import SE3, Trivial
from ...model import Model
from ..assembly import Parts, assemble
from ..diagnostics import Reader
from ..names import check_name
from ..safe_xml import Element
from .actuators import actuated_joints, driven_joints, read_actuators
from .at_rest import AtRest, base_pose, refs
from .attach import Models
from .base import find_robot
from .bodies import Walk
from .contact_exclusions import contact_exclusions
from .equalities import Equalities
from .files import with_includes
from .folders import home
from .force_elements import fluid_drag, gravity_compensation
from .ignored import Tally
from .inertia import felt_by_joints, weigh_bodies
from .keyframes import Coordinates, read_keyframes, start_of
from .parts import make_pieces
from .references import References
from .sites import read_sites
from .springs import with_springdampers
from .surfaces import ground_of, read_pairs, surface_of
from .tendons import Tendons
from .transmissions import Transmissions


def read_mjcf(root: Element, reader: Reader) -> Model:
    """The model in a ``<mujoco>`` element.

    One top body with a free joint is the base link, and the base is free; otherwise the base link is the world.
    ``base`` of the options replaces the group of a free base, or frees the one body that is fixed to the world.

    Example:
        >>> from fallingcat.io.safe_xml import parse
        >>> reader = Reader("brick.xml")
        >>> brick = b"<body name='brick'><freejoint/><geom type='box' size='.1 .1 .05' mass='2'/></body>"
        >>> read_mjcf(parse(b"<mujoco><worldbody>" + brick + b"</worldbody></mujoco>", reader), reader)
        <Model 'robot': base SE(3), 1 links, 0 joint dof, 2 kg>
    """
    reader, files = with_includes(root, reader)
    tally = Tally(reader)
    models = Models(files, reader, tally)
    source = models.read(root, home(reader))
    settings = source.settings
    references = References(root, reader)
    bodies = Walk(source, models.sources, reader, tally).through(root)
    references.check(tally)
    if len(bodies) == 1:
        reader.fail(bodies[0].element, "a robot has at least one <body>")
    robot = find_robot(bodies, reader, tally)
    masses = weigh_bodies(bodies, robot, reader, tally)
    pairs = read_pairs(root, source.defaults, reader, tally)
    surface = partial(surface_of, pairs=pairs, reader=reader, tally=tally)
    pieces = make_pieces(bodies, masses, robot.base, robot.kept, surface, reader)
    sites = read_sites(bodies, robot.kept, [*pieces.link_places], tally)
    name = root.get("model")
    if name:
        check_name(reader, root, "robot", name)
    parts = Parts(
        name=name or "robot",
        base=SE3() if robot.base else Trivial(),
        links=pieces.links,
        joints=pieces.joints,
        link_places=pieces.link_places,
        joint_places=pieces.joint_places,
        gravity=settings.gravity,
        needs_mass=True,
        virtual=pieces.virtual,
        contact_exclusions=contact_exclusions(root, pieces.geoms, pairs, tally),
        ground=ground_of(bodies, pairs, reader, tally),
        start=start_of(bodies, robot.base),
        named_states=read_keyframes(root, Coordinates(bodies, robot.base), reader, tally),
        frames=sites.frames,
        force_elements=[
            *gravity_compensation(bodies, masses, robot.kept),
            *fluid_drag(bodies, masses, robot.kept, settings, tally),
        ],
    )
    model = assemble(parts, reader)
    tendons = Tendons(root, model, bodies, robot.kept, sites, source.defaults, reader, tally)
    model = replace(model, tendons=tuple(tendons.read()))
    inertias = cache(lambda: felt_by_joints(bodies, masses))

    def felt(joint: str) -> float:
        return inertias().get(id(pieces.joint_places[joint]), 0.0)

    model = with_springdampers(model, bodies, felt)
    actuators = read_actuators(
        root,
        Transmissions(model, sites, reader),
        source.defaults,
        reader,
        tally,
        felt,
        AtRest(model, refs(bodies), base_pose(bodies, robot.kept, model)),
        settings.disabled_groups,
    )
    model = replace(
        model, actuators=tuple(actuators), driven=driven_joints(actuated_joints(root), model.joints, actuators)
    )
    if reader.options.loops == "close":
        model = model.close_loops(*Equalities(root, model, bodies, settings, reader).loops(tally))
    tally.report()
    return model
