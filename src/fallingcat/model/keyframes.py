"""States that a model keeps by name: where it starts, and the keyframes of its file."""

# ruff: noqa: D417 (methods of a class in another file: nobody passes `self`)
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import is_numeric
from ..arrays.types import FloatArray, Pose, Vector_m
from ..errors import ModelError, describe
from ..lie import SE3
from ..records import concise
from .body import Frozen, frozen_array
from .names import no_twins
from .state import State
from .states import check_record

if TYPE_CHECKING:
    from .model import Model

START = "start"
"""Name of the state in which a robot starts."""
_SE3 = SE3()


@concise
@dataclass(frozen=True, eq=False)
class Keyframe(Frozen):
    """State of a robot by the names of its joints, so that edits of the tree keep it.

    What is left out is neutral.  Joints that a robot does not have are passed over.

    Example:
        >>> from fallingcat.model import robots
        >>> Keyframe("bent", joints={"joint1": [0.5]}).state(robots.planar_arm()).joints
        array([0.5, 0. , 0. ])
    """

    name: str
    """name of the state"""
    pose: Pose | None = None
    """``4 x 4``: base coordinates to world coordinates (m)"""
    joints: Mapping[str, FloatArray] = field(default_factory=dict)
    """coordinates (rad, m, unit quaternions)"""
    twist: Vector_m | None = None
    """``m``: body-fixed velocity of the base (m/s, rad/s)"""
    rates: Mapping[str, FloatArray] = field(default_factory=dict)
    """velocities (rad/s, m/s)"""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError(f"the name of a keyframe is a text, not {describe(self.name)}")
        for key in ("joints", "rates"):
            given = getattr(self, key)
            if not isinstance(given, Mapping):
                raise ModelError(f"{key} of a keyframe are numbers by the names of joints, not {describe(given)}")
            fixed = {name: frozen_array(x, np.shape(x), f"{key} of {name!r}") for name, x in given.items()}
            object.__setattr__(self, key, fixed)
        for key in ("pose", "twist"):
            if (x := getattr(self, key)) is not None:
                object.__setattr__(self, key, frozen_array(x, np.shape(x), f"{key} of a keyframe"))

    def state(self, model: Model) -> State:
        """Checked state of a robot.

        Args:
            model: Robot.

        Returns:
            State; joints that the model does not have are left out.
        """
        own = set(model.joint_names)
        joints, rates = ({k: x for k, x in each.items() if k in own} for each in (self.joints, self.rates))
        return model.state(self.pose, joints, self.twist, rates)

    def with_prefix(self, part: str, pose: str | None = None) -> Keyframe:
        """Same state of a part of a scene.

        Args:
            part: Name of the part, whose joints are ``part/NAME``.
            pose: Joint that carries it; None: its base.

        Returns:
            Keyframe of the scene.
        """
        joints, rates = ({f"{part}/{k}": x for k, x in each.items()} for each in (self.joints, self.rates))
        if pose is not None:
            joints |= {} if self.pose is None else {pose: np.asarray(_SE3.coordinates(self.pose))}
            rates |= {} if self.twist is None else {pose: self.twist}
        return Keyframe(f"{part}/{self.name}", None, joints, None, rates)


def keyframe(model: Model, name: str, state: State) -> Keyframe:
    """Record of one state of plain numbers."""
    check_record(model, state)
    if state.batch or not all(map(is_numeric, state)):
        raise ModelError(f"the keyframe {name!r} is one state of plain numbers, not {describe(state)}")
    moving = [(joint.name, i) for i, joint in enumerate(model.joints) if joint.nv]
    joints = {joint: state.joints[model.q_slices[i]] for joint, i in moving}
    rates = {joint: state.rates[model.v_slices[i]] for joint, i in moving}
    return Keyframe(name, state.pose, joints, state.twist, rates)


def checked(given: Any, start: Any) -> tuple[Keyframe, ...]:
    """Keyframes of a model, each name once."""
    if not isinstance(start, Keyframe | None):
        raise ModelError(f"start is a Keyframe, such as model.start_at(state) makes, not {describe(start)}")
    if not isinstance(given, (tuple, list)) or not all(isinstance(each, Keyframe) for each in given):
        raise ModelError(f"named_states are Keyframe records, not {describe(given)}")
    no_twins("keyframe", [each.name for each in given])
    return tuple(given)


# methods of Model ---------------------------------------------------------------------------------------------------


def start_at(self: Model, state: State) -> Model:
    """Robot whose neutral state is another: :meth:`Model.state` takes from it what is left out, but not its velocity.

    Args:
        state: State of this robot.

    Returns:
        Robot.

    Example:
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> arm.start_at(arm.state(joints=[0.1, 0.2, 0.3])).neutral().joints
        array([0.1, 0.2, 0.3])
    """
    return replace(self, start=replace(keyframe(self, START, state), twist=None, rates={}))


def add_keyframes(self: Model, **states: State) -> Model:
    """Robot with more states in :attr:`Model.keyframes`; they replace those of the same name.

    Args:
        **states: States of this robot by name.

    Returns:
        Robot.

    Example:
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> arm.add_keyframes(home=arm.state(joints=[0.1, 0.2, 0.3])).keyframes["home"].joints
        array([0.1, 0.2, 0.3])
    """
    kept = [each for each in self.named_states if each.name not in states]
    return replace(self, named_states=(*kept, *(keyframe(self, name, state) for name, state in states.items())))


def reroot_keyframes(model: Model, path: Sequence[int]) -> dict[str, Any]:
    """Start and keyframes with the pose and the twist of another base link, the end of a path of joints."""

    def moved(frame: Keyframe) -> Keyframe:
        state = frame.state(model)
        H, twist = state.pose, model.base.selection @ state.twist
        for i in path:
            q, v = state.joints[model.q_slices[i]], state.rates[model.v_slices[i]]
            step = model.joints[i].transform(q)
            H, twist = H @ step, _SE3.Ad(_SE3.inverse(step)) @ twist + model.joints[i].motion_subspace(q) @ v
        return replace(frame, pose=H, twist=model.base.coselection @ twist)

    start = None if model.start is None else replace(moved(model.start), twist=None)
    return {"start": start, "named_states": tuple(map(moved, model.named_states))}
