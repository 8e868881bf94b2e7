"""A robot: a tree of links, frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import is_numeric, scale
from ..arrays.types import Pose, Scalar, Twist, Vector
from ..caching import cached_property
from ..errors import ModelError, describe
from ..lie import Group, Product
from . import actuation, edits, exchange, states, summary
from . import joint_inertia as resistance
from . import mimics as followers
from .actuator import Actuator
from .body import Body, Frozen, frozen_array
from .configuration import Configuration
from .joint import Joint, Limits
from .link import Frame, Link
from .loops import Loop
from .names import check_actuators, check_frames, check_loops, index, pairs_of_links, records
from .state import State
from .tree import followed, ordered, root

GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True, eq=False)
class Model(Frozen):
    """A floating-base robot: a base group, links and joints, gravity; frames on links, and loops that close the tree.

    Links and joints may be given in any order; they are kept depth first, children as given.  ``links[0]`` is the base
    link and ``joints[i]`` carries ``links[i + 1]``.  A model never changes; two models are equal when they are the
    same object, so a model is a static argument of ``jax.jit``.

    >>> from fallingcat.lie import SE3
    >>> from fallingcat.model import Body, Joint, Link, Model, Revolute
    >>> body = Body(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.1]))
    >>> cat = Model(
    ...     "cat",
    ...     base=SE3(),
    ...     links=(Link("front", body), Link("rear", body)),
    ...     joints=(Joint("spine", Revolute((0.0, 0.0, 1.0)), parent="front", child="rear"),),
    ... )
    >>> cat.m, cat.n, cat.nv, cat.mass
    (6, 1, 7, 2.0)
    >>> cat.state(joints={"spine": 0.5}).joints
    array([0.5])
    """

    name: str
    base: Group
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    gravity: np.ndarray = field(default_factory=lambda: np.array(GRAVITY))
    frames: tuple[Frame, ...] = ()
    loops: tuple[Loop, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    driven: actuation.Drives | None = None
    """see :meth:`drive`; None: the joints of ``actuators``, or all where there are none"""
    apart: tuple[tuple[str, str], ...] = ()
    """links that do not push each other in runs with :class:`fallingcat.control.SelfContact`, by the robot's file"""

    def __post_init__(self) -> None:
        if not isinstance(self.base, Group):
            raise ModelError(f"the base is a group of fallingcat.lie, not {describe(self.base)}")
        for part, kind in (
            ("links", Link),
            ("joints", Joint),
            ("frames", Frame),
            ("loops", Loop),
            ("actuators", Actuator),
        ):
            object.__setattr__(self, part, records(getattr(self, part), part, kind))
        by_name = {link.name: link for link in self.links}
        joints = followed(ordered([link.name for link in self.links], self.joints))
        top = root([link.name for link in self.links], joints)
        object.__setattr__(self, "joints", tuple(joints))
        object.__setattr__(self, "links", tuple(by_name[name] for name in (top, *(j.child for j in joints))))
        object.__setattr__(self, "gravity", frozen_array(self.gravity, (3,), "gravity"))
        check_frames(self)
        check_loops(self)
        check_actuators(self)
        object.__setattr__(self, "apart", pairs_of_links(self.apart, [link.name for link in self.links]))
        object.__setattr__(self, "driven", actuation.drives(self.driven, self.joints))
        if self.driven is not None:
            _ = self.actuation  # an error where drives depend on each other
        if any(joint.mimic for joint in joints):
            _ = self.limits  # an error where followers leave their leader no room

    # dimensions -----------------------------------------------------------------------------------------------

    @property
    def m(self) -> int:
        """Dimension of the base group."""
        return self.base.dim

    @cached_property
    def n(self) -> int:
        """Dimension of the shape space: degrees of freedom of all joints; those that follow others have none."""
        return sum(joint.nv for joint in self.joints)

    @property
    def nv(self) -> int:
        """``m + n``: length of the quasi-velocity ``[twist; rates]``."""
        return self.m + self.n

    @cached_property
    def nq(self) -> int:
        """Length of the flat configuration vector."""
        return self.base.nq + sum(joint.nq for joint in self.joints)

    @cached_property
    def configuration(self) -> Configuration:
        """The configuration group: ``exp``, ``log``, ``ad``, ``displace``, ``difference``, ``interpolate``."""
        return Configuration(self.base, Product(tuple(joint.kind.group for joint in self.joints if not joint.mimic)))

    # names and indices ----------------------------------------------------------------------------------------

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints with coordinates, in order (fixed joints and those that follow others have none)."""
        return tuple(joint.name for joint in self.joints if joint.nv)

    @cached_property
    def rate_joints(self) -> tuple[str, ...]:
        """For each of the ``n`` rates the name of its joint."""
        return tuple(joint.name for joint in self.joints for _ in range(joint.nv))

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, the base link first."""
        return tuple(link.name for link in self.links)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """For each joint the index of its parent link in :attr:`links`."""
        index = {name: i for i, name in enumerate(self.link_names)}
        return tuple(index[joint.parent] for joint in self.joints)

    @cached_property
    def leaders(self) -> tuple[int, ...]:
        """For each joint the place in :attr:`joints` of the one that it follows: its own, where it follows none."""
        return followers.leaders(self.joints)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """For each joint the place of its coordinates, or of its leader's, in ``state.joints``."""
        return followers.slices([joint.nq for joint in self.joints], self.leaders)

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """For each joint the place of its rates, or of its leader's, in ``state.rates``."""
        return followers.slices([joint.nv for joint in self.joints], self.leaders)

    def link_index(self, link: str) -> int:
        """The place of a link in :attr:`links`."""
        return index("link", link, self.link_names)

    def joint_index(self, joint: str) -> int:
        """The place of a joint in :attr:`joints`."""
        return index("joint", joint, self._all_joint_names)

    @cached_property
    def _all_joint_names(self) -> tuple[str, ...]:
        """With those that follow others."""
        return tuple(joint.name for joint in self.joints)

    def leading_index(self, joint: str) -> int:
        """As :meth:`joint_index`, of a joint with coordinates of its own: one that follows another is refused."""
        i = self.joint_index(joint)
        if self.leaders[i] != i:
            raise ModelError(f"joint {joint!r} has no coordinate: it follows {self.joints[self.leaders[i]].name!r}")
        return i

    @cached_property
    def _frames_by_name(self) -> dict[str, Frame]:
        """Those of the model, and those of links that were asked for."""
        return {frame.name: frame for frame in self.frames}

    def frame(self, link: str, placement: Pose | None = None, name: str = "") -> Frame:
        """A frame at ``placement`` (4x4) on a link, or the frame of the model, or of the link, that has this name."""
        if placement is None:
            known = self._frames_by_name
            if not isinstance(link, str) or link not in known:
                index("link or frame", link, (*(frame.name for frame in self.frames), *self.link_names))
                known[link] = Frame(link, link)
            return known[link]
        self.link_index(link)
        return Frame(link if isinstance(name, str) and not name else name, link, placement)

    @cached_property
    def armature(self) -> np.ndarray:
        """The reflected rotor inertia (n) that each joint rate feels, of followers too; see :class:`Joint`."""
        return followers.armature(self)

    @cached_property
    def actuation(self) -> np.ndarray:
        """``S`` (k x nv): ``k`` drives with the forces ``u`` bring about generalised forces ``S' u``, none of them on
        the base ([ETH] (3.55), (3.56)).

        Those of :meth:`drive`; else one for each degree of freedom of the joints that :attr:`actuators` move, or of all
        joints where there are no actuators.  Control brings about what it can by these.
        """
        S = actuation.matrix(self)
        return frozen_array(S, S.shape, "actuation")

    @cached_property
    def limits(self) -> tuple[Limits, ...]:
        """For each of :attr:`joint_names` what it may do, so that all that follow it stay within their limits too."""
        return followers.limits(self)

    @cached_property
    def mass(self) -> float:
        """Total mass (kg)."""
        total = sum(link.body.mass for link in self.links)
        return float(total) if is_numeric(total) else total

    @cached_property
    def is_numeric(self) -> bool:
        """Whether every parameter is a number, none an expression (see :mod:`fallingcat.symbolic`)."""
        placed = [joint.placement for joint in self.joints] + [joint.offset for joint in self.joints]
        bodies = all(link.body.is_numeric for link in self.links)
        return bodies and all(map(is_numeric, (self.gravity, self.armature, *placed)))

    @cached_property
    def nominal(self) -> Model:
        """The robot that tells sizes where this one's numbers are expressions: itself, unless it is one of many that
        differ (:class:`fallingcat.simulation.BatchSimulator`).
        """
        return self

    @cached_property
    def inertias_behind(self) -> Any:
        """``n``: what :func:`fallingcat.control.laws.passive_joints.carried` has found, for one of many robots that differ
        (:class:`fallingcat.simulation.BatchSimulator`), whose numbers are expressions; else None.
        """
        return None

    @cached_property
    def idle_links(self) -> tuple[str, ...]:
        """Massless links that move, relative to what carries them, against no inertia: ``M`` is singular."""
        return resistance.idle_links(self)

    @property
    def kinematic(self) -> bool:
        """Whether the robot has poses and Jacobians only: masses are missing, so that ``M`` is singular at every shape.

        >>> from fallingcat.lie import SE3
        >>> Model("arm", SE3(), (Link("base"),)).kinematic
        True
        """
        return bool(self.idle_links)

    @cached_property
    def neutral_joints(self) -> np.ndarray:
        """The coordinates of all joints at :meth:`neutral`."""
        return states.neutral_joints(self)

    # states ---------------------------------------------------------------------------------------------------

    def state(
        self,
        pose: Pose | None = None,
        joints: Vector | Mapping[str, Any] | None = None,
        twist: Twist | None = None,
        rates: Vector | Mapping[str, Any] | None = None,
        *,
        position: Vector | None = None,
        quaternion: Vector | None = None,
        rpy: Vector | None = None,
    ) -> State:
        """A checked :class:`State`; what is left out is as in :meth:`neutral`.

        ``pose`` is ``H_wb`` (4x4), or else ``position`` (3, m) and ``quaternion`` (4, ``xyzw``) or ``rpy`` (3, rad:
        roll, pitch, yaw, as in URDF); ``twist`` is the body-fixed base velocity (m), ``joints`` and ``rates`` are
        arrays in the model's order or mappings from joint names.  Numbers are checked: shape, finiteness, membership in
        the groups.  Arrays may have axes in front, for many states at once.
        """
        return states.make(self, states.pose_of(pose, position, quaternion, rpy), joints, twist, rates)

    def standing(self, ground: Any, joints: Any = None, **base: Any) -> State:
        """State at rest on the ground, which is a contact such as :class:`fallingcat.contact.CompliantFloor`.

        The base is moved along the normal until the lowest point touches, or, on springs, until they carry the weight;
        ``joints``, and ``position``, ``quaternion``, ``rpy`` or ``pose`` in ``base``, are as in :meth:`state`.
        """
        if not callable(getattr(ground, "place", None)):
            raise ModelError(f"ground is a contact, such as fc.contact.CompliantFloor(...), not {describe(ground)}")
        return ground.place(self, self.state(joints=joints, **base))

    def neutral(self) -> State:
        """The state at rest with every group at its identity; a joint that may not stand there, at its nearest stop."""
        return self.state()

    def random_state(self, rng: np.random.Generator, *batch: int) -> State:
        """A random state, or ``batch`` of them: groups uniform (within finite joint limits), positions and velocities
        normal.
        """
        return states.random(self, rng, *batch)

    def flatten(self, state: State) -> tuple[Vector, Vector]:
        """The flat vectors ``q = [base coordinates, joints]`` (..., nq) and ``v = [twist, rates]`` (..., nv).

        For an SE(3) base ``q`` starts with position and quaternion ``xyzw``, as in Pinocchio and ROS.
        """
        return states.flatten(self, state)

    def unflatten(self, q: Vector, v: Vector | None = None) -> State:
        """The state with the flat vectors ``q`` and ``v`` (zero if left out), or as many states as their axes in front
        say; the inverse of :meth:`flatten`.
        """
        return states.unflatten(self, q, v)

    def integrate(self, q: Vector, x: Vector) -> Vector:
        """The flat ``q`` (..., nq) moved by ``x`` (..., nv): the base by ``exp`` of its body-fixed part, joints alike.

        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> q, _ = cat.flatten(cat.neutral())
        >>> cat.integrate(q, np.eye(cat.nv)).shape, cat.difference(q, cat.integrate(q, np.ones(cat.nv)))[:3].round(12)
        ((16, 17), array([1., 1., 1.]))
        """
        return self.configuration.integrate(q, x)

    def difference(self, q: Vector, p: Vector) -> Vector:
        """The shortest ``x`` (..., nv) with ``integrate(q, x) = p``; angles and lengths simply subtract."""
        return self.configuration.between(q, p)

    def interpolate(self, q: Vector, p: Vector, s: Scalar) -> Vector:
        """The flat point (..., nq) at ``s`` in [0, 1] on the one-parameter path from ``q`` to ``p``."""
        return self.integrate(q, scale(s, self.difference(q, p)))

    def random(self, rng: np.random.Generator, *batch: int) -> np.ndarray:
        """Random flat ``q`` (``batch x nq``), by the law of :meth:`random_state`.

        >>> from fallingcat.model import robots
        >>> robots.cat().random(np.random.default_rng(0), 10_000).shape
        (10000, 17)
        """
        return states.random_coordinates(self, rng, *batch)

    def to_mujoco(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """``qpos, qvel`` in MuJoCo's conventions: quaternions ``wxyz``, linear velocity in the world.

        Joints keep the model's order, which is MuJoCo's when the model was read from the same file.  For many states
        at once, and for Drake and ROS, see :mod:`fallingcat.exchange`.
        """
        return exchange.mujoco(self).to(*self.flatten(state))

    def from_mujoco(self, qpos: Vector, qvel: Vector | None = None) -> State:
        """The state with MuJoCo's ``qpos`` and ``qvel`` (zero if left out); the inverse of :meth:`to_mujoco`."""
        return self.unflatten(*exchange.mujoco(self).from_(qpos, qvel))

    def to_pinocchio(self, state: State, like: Any) -> tuple[np.ndarray, np.ndarray]:
        """``q, v`` in the order and the conventions of ``like``, a ``pinocchio.Model`` of the same robot."""
        return exchange.pinocchio(self, like).to(*self.flatten(state))

    def from_pinocchio(self, q: Vector, v: Vector | None = None, *, like: Any) -> State:
        """The state with Pinocchio's ``q`` and ``v`` (zero if left out); the inverse of :meth:`to_pinocchio`."""
        return self.unflatten(*exchange.pinocchio(self, like).from_(q, v))

    # other models ---------------------------------------------------------------------------------------------

    def reroot(self, link: str) -> Model:
        """The same robot with another base link; joints are numbered anew, their coordinates keep their meaning."""
        return edits.reroot(self, link)

    def lock(self, joints: Mapping[str, Any] | Sequence[str]) -> Model:
        """The robot with some joints welded, at the given coordinates (or at neutral, for plain names or one name)."""
        return edits.lock(self, joints)

    def merge_fixed(self) -> Model:
        """The robot without fixed joints: what they carry joins the parent's body, their links become frames."""
        return edits.merge_fixed(self)

    def replace_body(self, link: str, body: Body) -> Model:
        """The robot with another body on a link."""
        return edits.replace_body(self, link, body)

    def drive(self, driven: Sequence[str | Mapping[str, float]] | np.ndarray | None) -> Model:
        """The robot whose drives are these: names of joints, ``{joint: factor}`` for one drive that moves several, or a
        matrix (k x n) of such factors; None: as its actuators say.  See :attr:`actuation`.

        >>> from fallingcat.model import robots
        >>> robots.planar_arm().drive(["joint1", {"joint2": 1.0, "joint3": -1.0}]).actuation
        array([[ 1.,  0.,  0.],
               [ 0.,  1., -1.]])
        """
        return replace(self, driven=driven)  # type: ignore[arg-type]  # it is brought to one form

    def close_loops(self, *loops: Loop) -> Model:
        """The robot with more loops; :mod:`fallingcat.loops` moves it.  All else sees the open tree."""
        return replace(self, loops=(*self.loops, *loops))

    def open_loops(self) -> Model:
        """The robot without its loops: the tree alone."""
        return replace(self, loops=())

    __repr__, _repr_html_ = summary.model_text, summary.model_table
