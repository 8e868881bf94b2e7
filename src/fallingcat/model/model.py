"""A robot: a tree of links, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._deprecated import former_arguments
from ..arrays import is_numeric
from ..arrays.types import (
    Float_4_4,
    Float_n,
    FloatArray,
    Matrix_k_nv,
    Pose,
    Poses,
    Twist,
    Vector,
    Vector_3,
    Vector_4,
    Vector_n,
)
from ..caching import cached_property
from ..errors import ModelError, describe
from ..lie import Group, Product
from . import actuation, edits, flat_vectors, joint_inertia, mimics, names, states, summary
from . import keyframes as recorded
from .actuator import Actuator
from .body import Frozen, frozen_array
from .configuration import Configuration
from .force_elements import ForceElement
from .joint import Joint, Limits
from .keyframes import Keyframe
from .link import Frame, Link
from .loops import Loop
from .names import check_actuators, check_forces, check_frames, check_loops, excluded_pairs, index, records
from .state import State
from .surface import Surface
from .tendons import Tendon
from .tree import depth_first, resolve_leaders, root

GRAVITY = (0.0, 0.0, -9.81)
_PARTS = {"links": Link, "joints": Joint, "frames": Frame, "loops": Loop, "actuators": Actuator} | {
    "force_elements": ForceElement,
    "tendons": Tendon,
}


@former_arguments(apart="contact_exclusions")
@dataclass(frozen=True, eq=False)
class Model(Frozen):
    """Floating-base robot: a base group, links and joints, gravity; frames on links, and loops that close the tree.

    Links and joints may be given in any order; they are kept depth first, children as given.  ``links[0]`` is the base
    link and ``joints[i]`` carries ``links[i + 1]``.  A model never changes; two models are equal when they are the
    same object, so a model is a static argument of ``jax.jit``.

    Example:
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
    """name of the robot"""
    base: Group
    """group in which the base moves"""
    links: tuple[Link, ...]
    """base link first"""
    joints: tuple[Joint, ...] = ()
    """``joints[i]`` carries ``links[i + 1]``"""
    gravity: Vector_3 = field(default_factory=lambda: np.array(GRAVITY))
    """``3``: m/s^2, world axes"""
    frames: tuple[Frame, ...] = ()
    """on links"""
    loops: tuple[Loop, ...] = ()
    """that close the tree"""
    actuators: tuple[Actuator, ...] = ()
    """drives of joints"""
    driven: actuation.Drives | None = None
    """see :meth:`drive`; None: the joints of ``actuators``, or all where there are none"""
    contact_exclusions: tuple[tuple[str, str], ...] = ()
    """links that do not push each other in runs with :class:`fallingcat.control.SelfContact`, by the robot's file"""
    start: Keyframe | None = None
    """configuration of :meth:`neutral`, see :meth:`start_at`; None: identities"""
    named_states: tuple[Keyframe, ...] = ()
    """states of :attr:`keyframes`"""
    force_elements: tuple[ForceElement, ...] = ()
    """forces on links that are built into the robot: they act in runs"""
    tendons: tuple[Tendon, ...] = ()
    """cords over joints or along points: their springs, friction and limits act in runs"""
    ground: Surface | None = None
    """surface of the ground in the robot's file; None: a :class:`fallingcat.model.Surface` with its defaults"""

    def __post_init__(self) -> None:
        if not isinstance(self.base, Group):
            raise ModelError(f"the base is a group of fallingcat.lie, not {describe(self.base)}")
        for part, kind in _PARTS.items():
            object.__setattr__(self, part, records(getattr(self, part), part, kind))
        by_name = {link.name: link for link in self.links}
        joints = resolve_leaders(depth_first([link.name for link in self.links], self.joints))
        top = root([link.name for link in self.links], joints)
        object.__setattr__(self, "joints", tuple(joints))
        object.__setattr__(self, "links", tuple(by_name[name] for name in (top, *(j.child for j in joints))))
        object.__setattr__(self, "gravity", frozen_array(self.gravity, (3,), "gravity"))
        check_frames(self)
        check_loops(self)
        check_forces(self)
        check_actuators(self)
        object.__setattr__(self, "contact_exclusions", excluded_pairs(self.contact_exclusions, self.links))
        if not isinstance(self.ground, Surface | None):
            raise ModelError(f"the ground of a model is a Surface, not {describe(self.ground)}")
        object.__setattr__(self, "driven", actuation.drives(self.driven, self.joints))
        object.__setattr__(self, "named_states", recorded.checked(self.named_states, self.start))
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
        """Length ``m + n`` of the quasi-velocity ``[twist; rates]``."""
        return self.m + self.n

    @cached_property
    def nq(self) -> int:
        """Length of the flat configuration vector."""
        return self.base.nq + sum(joint.nq for joint in self.joints)

    @cached_property
    def configuration(self) -> Configuration:
        """Configuration group: ``exp``, ``log``, ``ad``, ``displace``, ``difference``, ``interpolate``."""
        return Configuration(self.base, Product(tuple(joint.kind.group for joint in self.joints if not joint.mimic)))

    # names and indices ----------------------------------------------------------------------------------------

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints with coordinates, in order (fixed joints and those that follow others have none)."""
        return tuple(joint.name for joint in self.joints if joint.nv)

    @cached_property
    def rate_joints(self) -> tuple[str, ...]:
        """Name of the joint of each of the ``n`` rates."""
        return tuple(joint.name for joint in self.joints for _ in range(joint.nv))

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, the base link first."""
        return tuple(link.name for link in self.links)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of the parent link of each joint in :attr:`links`."""
        index = {name: i for i, name in enumerate(self.link_names)}
        return tuple(index[joint.parent] for joint in self.joints)

    @cached_property
    def leaders(self) -> tuple[int, ...]:
        """Place in :attr:`joints` of the joint that each one follows: its own, where it follows none."""
        return mimics.leaders(self.joints)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Place of the coordinates of each joint, or of its leader's, in ``state.joints``."""
        return mimics.slices([joint.nq for joint in self.joints], self.leaders)

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Place of the rates of each joint, or of its leader's, in ``state.rates``."""
        return mimics.slices([joint.nv for joint in self.joints], self.leaders)

    def link_index(self, link: str) -> int:
        """Place of a link in :attr:`links`.

        Args:
            link: Name.

        Returns:
            Index.
        """
        return index("link", link, self.link_names)

    def joint_index(self, joint: str) -> int:
        """Place of a joint in :attr:`joints`.

        Args:
            joint: Name.

        Returns:
            Index.
        """
        return index("joint", joint, self._all_joint_names)

    @cached_property
    def _all_joint_names(self) -> tuple[str, ...]:
        """Names of all joints, with those that follow others."""
        return tuple(joint.name for joint in self.joints)

    def leading_index(self, joint: str) -> int:
        """Place of a joint with coordinates of its own in :attr:`joints`; one that follows another is refused.

        Args:
            joint: Name.

        Returns:
            Index.
        """
        i = self.joint_index(joint)
        if self.leaders[i] != i:
            raise ModelError(f"joint {joint!r} has no coordinate: it follows {self.joints[self.leaders[i]].name!r}")
        return i

    @cached_property
    def _frames_by_name(self) -> dict[str, Frame]:
        """Frames of the model, and those of links that were asked for."""
        return {frame.name: frame for frame in self.frames}

    def frame(self, link: str, placement: Pose | None = None, name: str = "") -> Frame:
        """Frame on a link, or the frame of the model, or of the link, that has this name.

        Args:
            link: Name of a link or frame.
            placement: Pose on the link (4x4); None: the frame of this name.
            name: Name of the new frame.

        Returns:
            Frame fixed to a link.
        """
        if placement is None:
            known = self._frames_by_name
            if not isinstance(link, str) or link not in known:
                index("link or frame", link, (*(frame.name for frame in self.frames), *self.link_names))
                known[link] = Frame(link, link)
            return known[link]
        self.link_index(link)
        return Frame(link if isinstance(name, str) and not name else name, link, placement)

    @cached_property
    def armature(self) -> Float_n:
        """Reflected rotor inertia (n) that each joint rate feels, of followers too; see :class:`Joint`."""
        return mimics.armature(self)

    @cached_property
    def actuation(self) -> Matrix_k_nv:
        """Actuation matrix ``S`` (k x nv): drives with the forces ``u`` (k) cause generalised forces ``S' u``.

        None of them act on the base ([ETH] (3.55), (3.56)).  The drives are those of :meth:`drive`; else one for each
        degree of freedom of the joints that :attr:`actuators` move, or of all joints where there are no actuators.
        Control brings about what it can by these.
        """
        S = actuation.matrix(self)
        return frozen_array(S, S.shape, "actuation")

    @cached_property
    def limits(self) -> tuple[Limits, ...]:
        """Limits of each of :attr:`joint_names`, so that all that follow it stay within their limits too."""
        return mimics.limits(self)

    @cached_property
    def mass(self) -> float:
        """Total mass (kg)."""
        total = sum(link.body.mass for link in self.links)
        return float(total) if is_numeric(total) else total

    @cached_property
    def is_numeric(self) -> bool:
        """True if every parameter is a number, none an expression (see :mod:`fallingcat.symbolic`)."""
        placed = [joint.placement for joint in self.joints] + [joint.offset for joint in self.joints]
        bodies = all(link.body.is_numeric for link in self.links)
        return bodies and all(map(is_numeric, (self.gravity, self.armature, *placed)))

    @cached_property
    def nominal(self) -> Model:
        """Robot with typical numbers where this one's numbers are expressions.

        Itself, unless it is one of many that differ (:class:`fallingcat.simulation.BatchSimulator`).
        """
        return self

    @cached_property
    def carried_inertias(self) -> Vector_n | None:
        """Inertias (n) that :func:`fallingcat.control.laws.carried_inertia.carried_inertia` has found, or None.

        For one of many robots that differ (:class:`fallingcat.simulation.BatchSimulator`), whose numbers are
        expressions.
        """
        return None

    @cached_property
    def idle_links(self) -> tuple[str, ...]:
        """Massless links that move, relative to what carries them, against no inertia: ``M`` is singular."""
        return joint_inertia.idle_links(self)

    @property
    def kinematic(self) -> bool:
        """True if the robot has poses and Jacobians only: masses are missing, so that ``M`` is singular at every shape.

        Example:
            >>> from fallingcat.lie import SE3
            >>> Model("arm", SE3(), (Link("base"),)).kinematic
            True
        """
        return bool(self.idle_links)

    @cached_property
    def neutral_joints(self) -> FloatArray:
        """Coordinates of all joints at :meth:`neutral`."""
        return states.neutral_joints(self)

    @cached_property
    def neutral_pose(self) -> Float_4_4:
        """Pose of the base (4 x 4) at :meth:`neutral`."""
        return states.neutral_pose(self)

    @cached_property
    def keyframes(self) -> dict[str, State]:
        """States by name: those of the robot's file, and of :meth:`add_keyframes`."""
        return {each.name: each.state(self) for each in self.named_states}

    # states ---------------------------------------------------------------------------------------------------

    def state(
        self,
        pose: Poses | None = None,
        joints: Vector | Mapping[str, Vector] | None = None,
        twist: Twist | None = None,
        rates: Vector | Mapping[str, Vector] | None = None,
        *,
        position: Vector_3 | None = None,
        quaternion: Vector_4 | None = None,
        rpy: Vector_3 | None = None,
    ) -> State:
        """Checked :class:`State`; what is left out is as in :meth:`neutral`.

        Numbers are checked: shape, finiteness, membership in the groups.  Arrays may have axes in front, for many
        states at once.

        Args:
            pose: ``H_wb`` (4x4), without ``position``, ``quaternion`` and ``rpy``.
            joints: Coordinates in the model's order, or a mapping from joint names (rad, m, unit quaternions).
            twist: Body-fixed base velocity, ``m`` (m/s, rad/s).
            rates: Joint rates in the model's order, or a mapping from joint names (rad/s, m/s).
            position: Position of the base, 3 (m).
            quaternion: Rotation of the base (4, ``xyzw``).
            rpy: Rotation of the base (3, rad): roll, pitch, yaw, as in URDF.

        Returns:
            State of this robot.
        """
        return states.make(self, states.pose_of(self, pose, position, quaternion, rpy), joints, twist, rates)

    def standing(self, ground: Any, joints: Vector | Mapping[str, Vector] | None = None, **base: Any) -> State:
        """State at rest on the ground.

        The base is moved along the normal until the lowest point touches, or, on springs, until they carry the weight.

        Args:
            ground: Contact such as :class:`fallingcat.contact.CompliantFloor`.
            joints: Coordinates (nq of the joints), or some by name, as in :meth:`state`.
            **base: ``position``, ``quaternion``, ``rpy`` or ``pose``, as in :meth:`state`.

        Returns:
            State of this robot.
        """
        return states.standing(self, ground, self.state(joints=joints, **base))

    def neutral(self) -> State:
        """State at rest: the start of its file or :meth:`start_at`, else identities; beyond a stop, the stop.

        Returns:
            State of this robot.
        """
        return self.state()

    def random_state(self, rng: np.random.Generator, *batch: int) -> State:
        """Random state, or many: groups uniform (within finite joint limits), positions and velocities normal.

        Args:
            rng: Random generator.
            *batch: Axes in front.

        Returns:
            State, or ``batch`` of them.
        """
        return states.random(self, rng, *batch)

    # flat vectors, and those of other libraries --------------------------------------------------------------------

    flatten, unflatten = flat_vectors.flatten, flat_vectors.unflatten
    integrate, difference = flat_vectors.integrate, flat_vectors.difference
    interpolate, random = flat_vectors.interpolate, flat_vectors.random
    to_mujoco, from_mujoco = flat_vectors.to_mujoco, flat_vectors.from_mujoco
    to_pinocchio, from_pinocchio = flat_vectors.to_pinocchio, flat_vectors.from_pinocchio

    # other models ---------------------------------------------------------------------------------------------

    link, joint = names.link, names.joint
    reroot, lock, merge_fixed, replace_body = edits.reroot, edits.lock, edits.merge_fixed, edits.replace_body
    drive, close_loops, open_loops = edits.drive, edits.close_loops, edits.open_loops
    start_at, add_keyframes = recorded.start_at, recorded.add_keyframes

    __repr__, _repr_html_ = summary.model_text, summary.model_table
