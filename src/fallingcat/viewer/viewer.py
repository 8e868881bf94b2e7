"""The browser's side of a puppet: sliders, handles and buttons, through viser on this computer alone."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ExtraMissingError, FallingCatError, ModelError, describe
from ..escaping import html
from ..lie.rotations import quaternion_from_matrix
from ..model import Model, State
from ..records import short_text
from ..visualization import Shape, appearance
from ..visualization.scenes import turned_up
from .access_control import require_token
from .posed_robot import PosedRobot
from .solids import triangles_of

HOST = "127.0.0.1"
STEP = 1.0 / 30.0
"""s: between two pictures"""
STEP_SIZE = 1e-3
"""rad or m: of sliders"""
_NO_SELECTION_NAMES = ("nothing", "(nothing)", "((nothing))")
"""Not dragged: the first of them that is no name of a link or frame."""
ANY_ANGLE, ANY_LENGTH = np.pi, 1.0
"""rad, m: how far sliders of joints without limits go"""


def view(model: Model, state: State | None = None, *, port: int = 8080) -> Viewer:
    """Live view of a robot in the browser; extra ``view``.

    It stands at :attr:`Viewer.url`, ``http://127.0.0.1:port/TOKEN/`` (or the next port that is free).  Only this
    computer reaches it, and only who knows the token.

    Sliders bend joints; ``free float`` lets that turn the base, momentum staying zero; a handle drags a link or frame;
    ``simulate`` lets the robot go.  It runs until :meth:`Viewer.stop`; in a notebook it shows itself.

    Args:
        model: Robot.
        state: Start; None: the neutral one.
        port: Port of the server.

    Returns:
        Viewer, which runs until it is stopped.

    Example:
        >>> viewer = view(model)  # doctest: +SKIP
        >>> viewer.stop()  # doctest: +SKIP
    """
    return Viewer(PosedRobot(model, state), port)


class Viewer:
    """View of a :class:`PosedRobot` in the browser.

    Args:
        posed_robot: Robot that is moved.
        port: Port of the server.

    Example:
        >>> viewer = Viewer(PosedRobot(model))  # doctest: +SKIP
        >>> viewer.save("moved.html")  # doctest: +SKIP
    """

    def __init__(self, posed_robot: PosedRobot, port: int = 8080) -> None:
        try:
            import viser
        except ImportError:
            raise ExtraMissingError("view", package="viser", purpose="a live view") from None
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
            raise ModelError(f"port is a whole number from 1 to 65535, not {describe(port)}")
        self.posed_robot, self._lock, self._ignores_events = posed_robot, threading.RLock(), False
        self._turn = turned_up(posed_robot.model.gravity)
        token = secrets.token_urlsafe(16)
        self.server: Any = _start_server(viser, port, posed_robot.model.name, token)
        self.url = f"http://{HOST}:{self.server.get_port()}/{token}/"
        self._build()
        self._is_running = True
        self._clock = threading.Thread(target=self._tick, daemon=True)
        self._clock.start()

    def __repr__(self) -> str:
        return f"<Viewer of {short_text(self.posed_robot.model.name)} at {self.url}>"

    def stop(self) -> None:
        """Close the view."""
        self._is_running = False
        self._clock.join(timeout=5.0)
        with redirect_stdout(StringIO()):
            self.server.stop()

    def _repr_html_(self) -> str:
        return f'<iframe src="{html(self.url)}" width="100%" height="600" style="border:0"></iframe>'

    # what is there -------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        scene, gui, model = self.server.scene, self.server.gui, self.posed_robot.model
        gui.configure_theme(show_share_button=False, show_logo=False)
        gui.main_panel.dock_right()
        scene.set_up_direction("+z")
        size, center = self._size(), self._turn[:3, :3] @ self.posed_robot.totals().center
        floor = min(float((self._turn @ H)[2, 3]) for H in self.posed_robot.poses().values())
        about = {"cell_size": 0.5 * size, "section_size": 2.5 * size, "position": (*center[:2], floor)}
        scene.add_grid("/grid", width=10.0 * size, height=10.0 * size, plane="xy", **about)
        self.server.initial_camera.position = tuple(center + size * np.array([1.3, -1.6, 0.7]))
        self.server.initial_camera.look_at = tuple(center)
        drawn = appearance(model)
        self._links = {name: scene.add_frame(f"/robot/{i}", show_axes=False) for i, name in enumerate(model.link_names)}
        for i, name in enumerate(model.link_names):
            for k, shape in enumerate(drawn.shapes.get(name, [])):
                self._draw(f"/robot/{i}/{k}", shape)
        self._center = scene.add_icosphere("/center", radius=0.03 * size, color=(240, 200, 40))
        self._axes = scene.add_frame("/axes", axes_length=0.5 * size, axes_radius=0.008 * size, visible=False)
        self._arrow = scene.add_arrows("/momentum", np.zeros((1, 2, 3), np.float32), (200, 60, 160), visible=False)
        self._handle = scene.add_transform_controls("/handle", scale=0.4 * size, disable_rotations=True, visible=False)
        self._handle.on_update(self._serialize_action(self._on_handle))
        self._say = gui.add_html("")  # markdown of viser runs script
        self.say("; ".join(drawn.notes) or "at rest")
        self._floating_checkbox = gui.add_checkbox(
            "free float", self.posed_robot.floats, disabled=not self.posed_robot.can_float
        )
        self._floating_checkbox.on_update(self._serialize_action(self._toggle_floating))
        self._runs = gui.add_checkbox("simulate", False)
        self._checkboxes = {
            name: gui.add_checkbox(name, first)
            for name, first in (("center of mass", True), ("principal axes", False), ("momentum", False))
        }
        for box in self._checkboxes.values():
            box.on_update(self._serialize_action(lambda _: self.refresh()))
        places = (*model.link_names, *(frame.name for frame in model.frames))
        self._no_selection = next((x for x in _NO_SELECTION_NAMES if x not in places), "")
        self._target = gui.add_dropdown("drag", (self._no_selection, *places))
        self._target.on_update(self._serialize_action(self._on_target))
        gui.add_button("reset").on_click(self._serialize_action(self._reset))
        gui.add_button("export what was done").on_click(self._serialize_action(self._export))
        self._sliders = self._joint_sliders(gui)
        self.refresh()

    def _joint_sliders(self, gui: Any) -> list[tuple[int, Any]]:
        """One for each coordinate that is an angle or a length, with its place."""
        model, sliders = self.posed_robot.model, []
        with gui.add_folder("joints"):
            limits = dict(zip(model.joint_names, model.limits, strict=True))
            for joint, where in zip(model.joints, model.q_slices, strict=True):
                if joint.mimic or where.stop - where.start != 1:
                    continue
                turns = np.any(joint.kind.motion_subspace(joint.kind.neutral())[3:])
                most = ANY_ANGLE if turns else ANY_LENGTH
                low, high = (
                    float(x) if np.isfinite(x) else sign * most
                    for x, sign in ((limits[joint.name].lower, -1.0), (limits[joint.name].upper, 1.0))
                )
                now = float(self.posed_robot.state.joints[where.start])
                low, high = min(low, now), max(high, now, low + 1e-3)
                slider = gui.add_slider(joint.name, low, high, STEP_SIZE, now)
                slider.on_update(self._serialize_action(self._on_slider))
                sliders.append((where.start, slider))
        return sliders

    def _draw(self, name: str, shape: Shape) -> None:
        mesh = triangles_of(shape)
        color, opacity = tuple(int(shape.color[i : i + 2], 16) for i in (1, 3, 5)), getattr(shape, "opacity", 1.0)
        seen = {"color": color, "opacity": opacity if opacity < 1.0 else None, "side": "double"}
        self.server.scene.add_mesh_simple(name, mesh.points.astype(np.float32), mesh.faces.astype(np.uint32), **seen)

    def _size(self) -> float:
        places = np.array([H[:3, 3] for H in self.posed_robot.poses().values()])
        return max(0.2, float(np.ptp(places, axis=0).max()))

    # what a hand does ----------------------------------------------------------------------------------------------

    def _serialize_action(self, act: Callable[[Any], None]) -> Callable[[Any], None]:
        """Serialize user actions, and show their errors in the panel."""

        def run_action(event: Any) -> None:
            if self._ignores_events:
                return
            with self._lock:
                try:
                    act(event)
                except FallingCatError as error:
                    self.say(str(error))

        return run_action

    def say(self, text: str) -> None:
        """Show a line above the controls.

        Args:
            text: Line of text.
        """
        self._say.content = f'<div style="padding: 0 0.5em; overflow-wrap: anywhere">{html(text)}</div>'

    def _on_slider(self, _: Any) -> None:
        joints = self.posed_robot.state.joints.copy()
        for place, slider in self._sliders:
            joints[place] = slider.value
        self._runs.value = False
        self.posed_robot.bend(joints)
        self.refresh(sliders=False)

    def _toggle_floating(self, _: Any) -> None:
        self.posed_robot.floats = bool(self._floating_checkbox.value)

    def _on_target(self, _: Any) -> None:
        self._handle.visible = self._target.value != self._no_selection
        self.refresh()

    def _on_handle(self, _: Any) -> None:
        if self._target.value == self._no_selection:
            return
        self._runs.value = False
        goal = self._turn[:3, :3].T @ np.asarray(self._handle.position, dtype=float)
        away = self.posed_robot.drag(self._target.value, goal)
        self.say("at rest" if away < 1e-3 else f"{1000.0 * away:.0f} mm out of reach")
        self.refresh(handle=False)

    def _reset(self, _: Any) -> None:
        self._runs.value = False
        self.posed_robot.reset()
        self.say("at rest")
        self.refresh()

    def _export(self, event: Any) -> None:
        html = self.posed_robot.page().html().encode()
        event.client.send_file_download("fallingcat.html", html)

    def save(self, path: str | Path) -> Path:
        """Write what was done since the start as one HTML file.

        Args:
            path: File to write.

        Returns:
            Its path.
        """
        with self._lock:
            return self.posed_robot.page().write(path)

    def _tick(self) -> None:
        while self._is_running:
            begun = time.monotonic()
            if self._runs.value:
                with self._lock:
                    try:
                        status = self.posed_robot.fall(STEP)
                        self.say(f"t = {self.posed_robot.time:.1f} s" if status == "finished" else status)
                    except FallingCatError as error:
                        status = str(error)
                        self.say(status)
                    if status != "finished":
                        self._runs.value = False
                    self.refresh()
            time.sleep(max(0.005, STEP - (time.monotonic() - begun)))

    # drawing -------------------------------------------------------------------------------------------------------

    def refresh(self, sliders: bool = True, handle: bool = True) -> None:
        """Draw the robot where it is.

        Args:
            sliders: Move the sliders too.
            handle: Move the handle too.
        """
        with self._lock, self.server.atomic():
            self._ignores_events = True  # sliders that are moved here are no hand
            try:
                for name, H in self.posed_robot.poses().items():
                    self._set_pose(self._links[name], self._turn @ H)
                self._overlays()
                if sliders:
                    for place, slider in self._sliders:
                        slider.value = float(np.clip(self.posed_robot.state.joints[place], slider.min, slider.max))
                if handle and self._target.value != self._no_selection:
                    self._handle.position = tuple(self._turn[:3, :3] @ self.posed_robot.where(self._target.value))
            finally:
                self._ignores_events = False

    def _overlays(self) -> None:
        found, R = self.posed_robot.totals(), self._turn[:3, :3]
        shown = {name: bool(box.value) for name, box in self._checkboxes.items()}
        for name, thing in zip(shown, (self._center, self._axes, self._arrow), strict=True):
            thing.visible = shown[name]
        self._center.position = tuple(R @ found.center)
        H = np.eye(4)
        H[:3, :3], H[:3, 3] = R @ found.axes, R @ found.center
        self._set_pose(self._axes, H)
        length = float(np.linalg.norm(found.angular))
        reach = 0.0 if length == 0.0 else self._size() * min(1.0, length / (1e-9 + found.inertias.max()))
        tip = found.center + (found.angular / length * reach if length else np.zeros(3))
        self._arrow.points = np.array([[R @ found.center, R @ tip]], dtype=np.float32)

    @staticmethod
    def _set_pose(thing: Any, H: np.ndarray) -> None:
        x, y, z, w = quaternion_from_matrix(H[:3, :3])
        thing.wxyz, thing.position = (w, x, y, z), tuple(H[:3, 3])


def _start_server(viser: Any, port: int, label: str, token: str) -> Any:
    """The server, guarded; none where it cannot be."""
    server = None
    try:
        with redirect_stdout(StringIO()), require_token(token):  # it greets
            server = viser.ViserServer(host=HOST, port=port, label=label, verbose=False)
    except FallingCatError:
        if server is not None:
            server.stop()
        raise
    return server
