"""adam's ``KinDynComputations`` for every kind of number.

adam knows three velocity representations of a free base, and the user's order of joints; here both are one change of
velocity ``v_y = T v`` of the body-fixed equations, and all that changes is ``T`` on the outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum, auto
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np

import fallingcat as fc
from fallingcat.arrays import concatenate

Representation = Literal["body", "mixed", "inertial"]
STANDARD_GRAVITY = (0.0, 0.0, -9.80665, 0.0, 0.0, 0.0)


class Representations(IntEnum):
    """Where base and frame velocities are seen from."""

    BODY_FIXED_REPRESENTATION = auto()
    MIXED_REPRESENTATION = auto()
    INERTIAL_FIXED_REPRESENTATION = auto()


class Seen(NamedTuple):
    """A state, and ``v_y = T v``, the velocity that the user sees; ``T`` moves by ``T_dot``."""

    state: fc.State
    T: Any
    T_dot: Any
    inverse: Any

    @property
    def drift(self) -> Any:
        """The body-fixed acceleration (nv) while the velocity that the user sees is constant: ``-T^-1 T_dot v``."""
        return -(self.inverse @ (self.T_dot @ self.state.velocity))


class KinDyn:
    """Kinematics and dynamics of a robot on a free base; ``base_transform`` (4x4), joints in the order given."""

    def __init__(
        self,
        description: Any,
        joints_name_list: Sequence[str] | None = None,
        gravity: Any = STANDARD_GRAVITY,
        **_unused: Any,
    ) -> None:
        in_memory = hasattr(description, "body_mass")
        words = {"base": "free", "physics": "warn", "loops": "open"}  # adam's mimic joints are independent
        model = fc.from_mujoco_model(description) if in_memory else fc.load(description, **words)
        names = list(model.joint_names if joints_name_list is None else joints_name_list)
        rotorless = tuple(replace(joint, armature=0.0) for joint in model.joints)  # as adam's robots are
        model = replace(model, joints=rotorless)
        self.model = model.lock(dict.fromkeys(set(model.joint_names) - {*names}, 0.0)).merge_fixed()
        self.g = np.asarray(gravity, dtype=float)
        self.NDoF = len(names)
        self.representation: Representation = "mixed"
        self._order = np.eye(6 + self.NDoF)[[*range(6), *(6 + self.model.joint_names.index(name) for name in names)]]
        links = [*self.model.link_names, *(frame.name for frame in self.model.frames)]
        self.rbdalgos = SimpleNamespace(model=SimpleNamespace(actuated_joints=names, links=links), NDoF=self.NDoF)

    @classmethod
    def from_urdf(cls, path: Any, *args: Any, **options: Any) -> Self:
        """The robot of a file."""
        return cls(path, *args, **options)

    @classmethod
    def from_mujoco_model(cls, peer: Any, use_mujoco_actuators: bool = False, **options: Any) -> Self:
        """The robot of an ``MjModel``; its actuators may name the joints."""
        if use_mujoco_actuators:
            options.setdefault("joints_name_list", [peer.actuator(i).name for i in range(peer.nu)])
        return cls(peer, **options)

    def set_frame_velocity_representation(self, representation: Representations) -> None:
        """Choose where velocities are seen from."""
        word = Representations(representation).name.split("_")[0].lower()
        self.representation = cast(Representation, word)

    # positions ------------------------------------------------------------------------------------------------------

    def forward_kinematics(self, frame: str, base_transform: Any, joint_positions: Any) -> Any:
        """World pose of a frame (4x4)."""
        return self._call(lambda s: fc.link_pose(self.model, s.state, frame), base_transform, joint_positions)

    def CoM_position(self, base_transform: Any, joint_positions: Any) -> Any:
        """The center of mass in the world (3)."""
        return self._call(lambda s: fc.center_of_mass(self.model, s.state), base_transform, joint_positions)

    # velocities -----------------------------------------------------------------------------------------------------

    def jacobian(self, frame: str, base_transform: Any, joint_positions: Any) -> Any:
        """``J_y = J T^-1`` (6 x nv)."""
        return self._call(lambda s: self._jacobian(s, frame), base_transform, joint_positions)

    def relative_jacobian(self, frame: str, joint_positions: Any) -> Any:
        """The columns of the joints (6 x n), of a base at the origin."""
        return self._call(lambda s: self._jacobian(s, frame)[:, 6:], np.eye(4), joint_positions)

    def jacobian_dot(
        self, frame: str, base_transform: Any, joint_positions: Any, base_velocity: Any, joint_velocities: Any
    ) -> Any:
        """``d/dt (J T^-1) = (dJ/dt - J T^-1 dT/dt) T^-1`` (6 x nv)."""

        def derivative(s: Seen) -> Any:
            J_dot = fc.dynamics.jacobian_derivative(self.model, s.state, frame, self.representation)
            return (J_dot - self._jacobian(s, frame) @ s.T_dot) @ s.inverse

        return self._call(derivative, base_transform, joint_positions, base_velocity, joint_velocities)

    def CoM_jacobian(self, base_transform: Any, joint_positions: Any) -> Any:
        """3 x nv: the velocity of the center of mass along the world's axes."""
        return self._call(
            lambda s: fc.center_of_mass_jacobian(self.model, s.state) @ s.inverse,
            base_transform,
            joint_positions,
        )

    def centroidal_momentum_matrix(self, base_transform: Any, joint_positions: Any) -> Any:
        """6 x nv: momentum about the center of mass, along the world's axes (the body's, for body velocities)."""

        def matrix(s: Seen) -> Any:
            A = fc.centroidal_momentum_matrix(self.model, s.state) @ s.inverse
            if self.representation != "body":
                return A
            R = s.state.pose[:3, :3]
            return concatenate([R.T @ A[:3], R.T @ A[3:]])

        return self._call(matrix, base_transform, joint_positions)

    # forces ---------------------------------------------------------------------------------------------------------

    def get_total_mass(self) -> float:
        """kg."""
        return self.model.mass

    def mass_matrix(self, base_transform: Any, joint_positions: Any) -> Any:
        """``T^-T M T^-1`` (nv x nv)."""
        return self._call(
            lambda s: s.inverse.T @ fc.mass_matrix(self.model, s.state) @ s.inverse,
            base_transform,
            joint_positions,
        )

    def bias_force(self, base_transform: Any, joint_positions: Any, base_velocity: Any, joint_velocities: Any) -> Any:
        """What holds the velocity that the user sees constant (nv): ``T^-T (M drift + C v + g)``."""
        return self._bias(self.g, base_transform, joint_positions, base_velocity, joint_velocities)

    def coriolis_term(
        self, base_transform: Any, joint_positions: Any, base_velocity: Any, joint_velocities: Any
    ) -> Any:
        """The bias without gravity (nv)."""
        return self._bias(np.zeros(6), base_transform, joint_positions, base_velocity, joint_velocities)

    def gravity_term(self, base_transform: Any, joint_positions: Any) -> Any:
        """The bias at rest (nv)."""
        return self._bias(self.g, base_transform, joint_positions)

    def aba(
        self,
        base_transform: Any,
        joint_positions: Any,
        base_velocity: Any,
        joint_velocities: Any,
        joint_torques: Any,
        external_wrenches: Mapping[str, Any] | None = None,
    ) -> Any:
        """The acceleration of the velocity that the user sees (nv): ``T a + T_dot v``."""
        model = self._under(self.g)

        def acceleration(s: Seen, torques: Any) -> Any:
            forces = s.T.T @ concatenate([np.zeros(6), torques])
            a = fc.forward_dynamics(model, s.state, forces, external_wrenches, self.representation)
            return s.T @ (a - s.drift)

        given = base_transform, joint_positions, base_velocity, joint_velocities
        return self._call(acceleration, *given, torques=joint_torques)

    # inside ---------------------------------------------------------------------------------------------------------

    def _jacobian(self, s: Seen, frame: str) -> Any:
        return fc.jacobian(self.model, s.state, frame, self.representation) @ s.inverse

    def _bias(self, gravity: Any, *given: Any) -> Any:
        model = self._under(gravity)
        return self._call(lambda s: s.inverse.T @ fc.inverse_dynamics(model, s.state, s.drift), *given)

    def _under(self, gravity: Any) -> fc.Model:
        return replace(self.model, gravity=np.asarray(gravity, dtype=float)[:3])

    def _call(
        self,
        function: Callable[..., Any],
        base_transform: Any,
        joint_positions: Any,
        base_velocity: Any = None,
        joint_velocities: Any = None,
        torques: Any = None,
    ) -> Any:
        """``function`` of what is seen (and of torques), in the user's kind of array."""
        H, q = self._array(base_transform), self._array(joint_positions)
        v = np.zeros(6 + self.NDoF)
        if base_velocity is not None:
            v = concatenate([self._array(base_velocity), self._array(joint_velocities)])
        more = () if torques is None else (self._array(torques),)
        return self._result(function(self._seen(H, q, v), *more))

    def _seen(self, H: Any, q: Any, v: Any) -> Seen:
        """The state in which the user sees the velocity ``v`` (nv)."""
        P, change = self._order, getattr(fc.changes, self.representation)
        state = fc.State(H, P[6:, 6:].T @ q, np.zeros(6), np.zeros(self.NDoF))
        at_rest = change(self.model, state)
        ours = at_rest.inverse @ (P.T @ v)
        state = state._replace(twist=ours[:6], rates=ours[6:])
        moving = change(self.model, state)
        return Seen(state, P @ moving.T, P @ moving.T_dot, moving.inverse @ P.T)

    def _array(self, x: Any) -> Any:
        """An argument as an array."""
        return np.asarray(x, dtype=float)

    def _result(self, x: Any) -> Any:
        """An answer as the user's kind of array."""
        return x
