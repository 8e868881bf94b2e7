"""Robot that is moved by hand: bent, dragged, dropped and recorded.  It knows of no browser."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._deprecated import former_arguments
from ..arrays.types import Float_3, Float_3_3, Float_4_4, Pose, Vector, Vector_3
from ..caching import cached_property
from ..constraints import loop_closure as loops
from ..control import InverseKinematics, PositionTask
from ..dynamics import center_of_mass, forward_kinematics, link_pose, locked_inertia, momentum
from ..dynamics.checks import check_robot, positive, vector
from ..errors import ModelError
from ..lie import Trivial
from ..model import Model, State
from ..planning import Reconstruction, Segment
from ..planning.gaits.gait import check_shape
from ..records import concise, of_robot
from ..simulation import simulate
from ..visualization import Page, Scene, appearance
from ..visualization.scenes import turned_up

MAX_FRAMES = 20_000
"""Largest number of frames in a recording."""


@concise
class Totals(NamedTuple):
    """Quantities of the robot as a whole, in the world.

    Example:
        >>> import fallingcat as fc
        >>> fc.viewer.PosedRobot(fc.robots.cat()).totals().center.shape
        (3,)
    """

    center: Float_3
    """``3`` (m): of mass"""
    axes: Float_3_3
    """``3 x 3``: principal axes of the locked inertia, as columns"""
    inertias: Float_3
    """``3`` (kg m^2): about them"""
    linear: Float_3
    """``3`` (N s): momentum"""
    angular: Float_3
    """``3`` (N m s): momentum about the center of mass"""


@of_robot
class PosedRobot:
    """Robot that is moved by hand; :attr:`state` is where it is.

    With :attr:`floats` nothing holds the base: bending joints turns it through the connection, so that no momentum
    arises (``dg = -g A dq``), as for a cat in the air.

    Args:
        model: Robot.
        state: Start; None: the neutral one.

    Example:
        >>> import fallingcat as fc
        >>> cat = PosedRobot(fc.robots.two_cylinder_cat())
        >>> for bend in ([0.5, 0.0], [0.5, 0.5], [0.0, 0.5], [0.0, 0.0]):
        ...     cat.bend(bend)
        >>> turned = cat.model.base.log(cat.state.pose)[3:]  # the joints are back, the cat is not
        >>> bool(np.linalg.norm(turned) > 0.1)
        True
    """

    def __init__(self, model: Model, state: State | None = None) -> None:
        self.model = model
        self.start = self.state = model.neutral() if state is None else state
        check_robot(model, self.start)
        self.floats = self.can_float
        self.time = 0.0
        self.frames: list[tuple[float, State]] = []
        self._reach: dict[str, InverseKinematics] = {}

    @cached_property
    def can_float(self) -> bool:
        """True if bending may turn the base: it has one that moves, and joints that are angles and lengths."""
        try:
            check_shape(self.model, self.model.n)
        except ModelError:
            return False
        return not self.model.loops

    @cached_property
    def _reconstruction(self) -> Reconstruction:
        return Reconstruction(self.model)

    @cached_property
    def _fixed_base_model(self) -> Model:
        """The robot whose base is held."""
        return replace(self.model, base=Trivial())

    # a hand --------------------------------------------------------------------------------------------------------

    def bend(self, joints: Vector) -> None:
        """Move joints to coordinates, at rest; the base follows if it floats, other joints where loops make them.

        Args:
            joints: Flat coordinates of all joints (rad, m, unit quaternions).
        """
        goal = vector(joints, len(self.state.joints), "joints")
        pose = self.state.pose
        if self.floats and self.can_float and not np.array_equal(goal, self.state.joints):
            moved = self._reconstruction.displacement(Segment(self.state.joints, goal), tolerance=1e-9)
            pose = pose @ moved.pose
        at = self.model.state(pose=pose, joints=goal)
        self._set_state(loops.assemble(self.model, at, self._user_joints(goal)) if self.model.loops else at)

    def _user_joints(self, goal: np.ndarray) -> list[str]:
        """Joints that the user moves; others follow where there are loops."""
        places = zip(self.model.joints, self.model.q_slices, strict=True)
        return [joint.name for joint, at in places if not np.array_equal(goal[at], self.state.joints[at])]

    def place(self, pose: Pose) -> None:
        """Move the base, at rest.

        Args:
            pose: ``H_wb`` (4 x 4).
        """
        self._set_state(self.model.state(pose=pose, joints=self.state.joints))

    @former_arguments(place="link")
    def drag(self, link: str, goal: Vector_3) -> float:
        """Move a link or frame as near to a point as its joints let it.

        The joints reach there from a base that is held; then it floats, if it does, and they reach once more.

        Args:
            link: Link or frame.
            goal: Point in the world, 3 (m).

        Returns:
            Distance that is left (m).
        """
        if self.model.loops:
            raise ModelError(f"{self.model.name!r} has loops: its places cannot be dragged")
        goal = vector(goal, 3, "goal")
        if link not in self._reach:
            self._reach[link] = InverseKinematics(self._fixed_base_model, [PositionTask(link)], restarts=0)
        for _ in range(3 if self.floats and self.can_float else 1):
            seen = np.linalg.inv(self.state.pose) @ np.append(goal, 1.0)
            found = self._reach[link](self._fixed_base_model.state(joints=self.state.joints), seen[:3])
            self.bend(found.state.joints)
        return float(np.linalg.norm(self.where(link) - goal))

    @former_arguments(seconds="duration")
    def fall(self, duration: float) -> str:
        """Simulate the robot for a while, under gravity and the forces of the model.

        Args:
            duration: Duration (s).

        Returns:
            Status of the run.
        """
        run = simulate(self.model, self.state, positive(duration, "duration"), progress=False)
        self.time += float(run.times[-1])
        self._set_state(run.state(len(run) - 1), moves=True)
        return run.status

    def reset(self) -> None:
        """Go back to the start, at rest; the record is empty."""
        self.time, self.frames = 0.0, []
        self._set_state(self.start)

    def _set_state(self, state: State, moves: bool = False) -> None:
        self.state = state
        if not moves:
            self.time += 1.0 / 30.0
        if len(self.frames) < MAX_FRAMES:
            self.frames.append((self.time, state))

    # what there is to see ------------------------------------------------------------------------------------------

    @former_arguments(place="link")
    def where(self, link: str) -> Float_3:
        """Origin of a link or frame in the world.

        Args:
            link: Link or frame.

        Returns:
            ``3`` (m).
        """
        return np.asarray(link_pose(self.model, self.state, link)[:3, 3])

    def poses(self) -> dict[str, Float_4_4]:
        """Poses of all links.

        Returns:
            ``4 x 4`` by name.
        """
        seen = forward_kinematics(self.model, self.state)
        return {name: np.asarray(seen[name]) for name in self.model.link_names}

    def totals(self) -> Totals:
        """Center of mass, principal axes and momentum.

        Returns:
            Quantities of the whole robot, in the world.
        """
        model, state = self.model, self.state
        inertias, axes = np.linalg.eigh(locked_inertia(model, state, "centroidal")[3:, 3:])
        if np.linalg.det(axes) < 0.0:
            axes = axes * [1.0, 1.0, -1.0]
        h = momentum(model, state, "centroidal")
        return Totals(np.asarray(center_of_mass(model, state)), axes, inertias, h[:3], h[3:])

    def page(self) -> Page:
        """Page that plays what was done since the start.

        Returns:
            Page of one scene.
        """
        if len(self.frames) < 2:
            raise ModelError("nothing has been recorded yet")
        turn, drawn = turned_up(self.model.gravity), appearance(self.model)
        poses: dict[str, list[np.ndarray]] = {name: [] for name in drawn.shapes}
        for _, state in self.frames:
            seen = forward_kinematics(self.model, state)
            for name, rows in poses.items():
                rows.append(turn @ seen[name])
        times = np.array([t for t, _ in self.frames])
        scene = Scene(
            times - times[0], {k: np.array(v) for k, v in poses.items()}, drawn.shapes, floor=False, notes=drawn.notes
        )
        return Page(self.model.name, "moved by hand", blocks=(scene,))
