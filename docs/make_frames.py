"""Draw the frames of theory/conventions.md, from the library's own numbers: `python docs/make_frames.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from make_glossary import BLUE, INK, PALE, RED, arrow, line, words

import fallingcat as fc
from fallingcat.lie import SE3
from fallingcat.lie.rotations import homogeneous

FOLDER = Path(__file__).parent / "_static"
GREEN = "#228844"
BOX = np.array([[x, y, z] for x in (-0.35, 0.35) for y in (-0.22, 0.22) for z in (-0.12, 0.12)])
EDGES = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]


class View:
    """Meters to pixels: x to the lower left, y to the right, z up."""

    def __init__(self, origin: tuple[float, float], scale: float = 62.0) -> None:
        self.origin, self.scale = np.array(origin), scale

    def __call__(self, point: np.ndarray) -> np.ndarray:
        x, y, z = point
        return self.origin + self.scale * np.array([y - 0.55 * x, 0.42 * x - z])

    def axes(self, pose: np.ndarray, name: str, at: tuple[float, float] = (6.0, 14.0), size: float = 0.55) -> str:
        """Red, green and blue: x, y and z."""
        tips = [self(pose[:3, 3] + size * pose[:3, k]) for k in range(3)]
        start = self(pose[:3, 3])
        body = "".join(arrow(start, tip, colour) for tip, colour in zip(tips, (RED, GREEN, BLUE), strict=True))
        names = zip(tips, "xyz", strict=True)
        body += "".join(words(*(tip + 0.18 * (tip - start) + (-3, 4)), each) for tip, each in names)
        return body + words(*(start + at), name)

    def say(self, point: np.ndarray, text: str, right: float, down: float) -> str:
        """Words beside a point."""
        x, y = self(point)
        return words(x + right, y + down, text)

    def dot(self, point: np.ndarray, colour: str = INK) -> str:
        x, y = self(point)
        return line([np.array([x - 2.5, y]), np.array([x + 2.5, y])], colour, 5.0)

    def solid(self, pose: np.ndarray, corners: np.ndarray = BOX) -> str:
        """The edges of a box."""
        seen = [self(pose[:3, :3] @ corner + pose[:3, 3]) for corner in corners]
        return "".join(line([seen[a], seen[b]], PALE, 1.2) for a, b in EDGES)

    def vector(self, start: np.ndarray, along: np.ndarray, name: str, colour: str = INK) -> str:
        """A named arrow."""
        end = self(start + along)
        return arrow(self(start), end, colour) + words(end[0] + 5, end[1] - 4, name, colour)

    def dashed(self, a: np.ndarray, b: np.ndarray) -> str:
        return line([self(a), self(b)], INK, 1.0).replace("<polyline", '<polyline stroke-dasharray="4 3"')


def there() -> np.ndarray:
    """A pose, away from the world's."""
    return SE3().exp(np.array([-0.1, 2.0, 1.0, 0.25, 0.2, 0.6]))


def pose() -> None:
    view, H, local = View((75, 222), 100.0), there(), np.array([0.35, 0.22, 0.12])
    point = H[:3, :3] @ local + H[:3, 3]
    body = view.solid(H) + view.axes(np.eye(4), "world w", (8.0, 20.0)) + view.axes(H, "base b", (-62.0, 2.0))
    body += view.dashed(np.zeros(3), H[:3, 3]) + view.say(0.5 * H[:3, 3], "p_wb", -44, -6)
    body += view.dashed(np.zeros(3), point) + view.dot(point)
    told = ["the same point", f"x_b = {numbers(local)}", f"x_w = {numbers(point)}"]
    body += "".join(view.say(point, text, 34, 26 + 17 * k) for k, text in enumerate(told))
    save("pose", body, 520, 268)


def representation() -> None:
    """The linear part of one twist, as each of the three words writes it."""
    brick = fc.robots.free_body()
    state = brick.state(pose=there(), twist=[0.0, 0.6, 0.3, 0.0, 0.0, 0.35])
    H, body = state.pose, ""
    frames = {"body": H, "mixed": homogeneous(np.eye(3), H[:3, 3]), "inertial": np.eye(4)}
    for k, (word, frame) in enumerate(frames.items()):
        left = 250.0 * k
        view = View((left + 45, 165), 70.0)
        twist = fc.link_twist(brick, state, brick.link_names[0], representation=word)
        body += view.solid(H) + view.axes(frame, "", size=0.6) + view.dot(np.zeros(3), PALE)
        body += view.vector(frame[:3, 3], frame[:3, :3] @ twist[:3], "v")
        body += words(left + 10, 215, word) + words(left + 75, 215, f"v = {numbers(twist[:3])}")
    save("representation", body, 750, 230)


def joint() -> None:
    """Where a joint puts a link, and where the link's mass is."""
    box, arm = (fc.Body(1.0, np.array([0.0, y, 0.0]), 0.1 * np.eye(3)) for y in (0.0, 0.75))
    placement = homogeneous(np.eye(3), np.array([0.0, 0.9, 0.45]))
    hinge = fc.Joint("hinge", fc.joints.Revolute((1.0, 0.0, 0.0)), "parent", "child", placement)
    model = fc.Model("two", SE3(), (fc.Link("parent", box), fc.Link("child", arm)), (hinge,))
    child = fc.link_pose(model, model.state(joints=[0.45]), "child")
    view, at = View((130, 185), 115.0), placement[:3, 3]
    rod = np.array([[x, y, z] for x in (-0.05, 0.05) for y in (0.0, 1.3) for z in (-0.05, 0.05)])
    body = view.solid(np.eye(4)) + view.solid(child, rod)
    body += view.axes(np.eye(4), "parent link", (-100.0, -44.0))
    body += view.dashed(np.zeros(3), at) + view.say(0.5 * at, "placement", -40, -16)
    ends = [at + s * np.array([1.0, 0.0, 0.0]) for s in (1.1, -0.7)]
    body += line(map(view, ends), PALE, 1.5) + view.say(ends[0], "axis of the joint", -10, 24)
    body += view.axes(child, "child link, turned by q", (24.0, 34.0))
    center = child[:3, :3] @ arm.center + child[:3, 3]
    body += view.dot(center) + view.say(center, "center of mass", -50, -24)
    save("joint", body, 470, 270)


def whole() -> None:
    """The three frames in which quantities of a whole robot are written."""
    arm = fc.robots.planar_arm(base=SE3())
    state = arm.state(pose=SE3().exp(np.array([0.0, 1.9, 0.35, 0.35, 0.0, 0.0])) @ turned(), joints=[0.5, 0.7, 0.6])
    view = View((60, 265), 75.0)
    places = [fc.link_pose(arm, state, name)[:3, 3] for name in (*arm.link_names, "end_effector")]
    body = line([view(p) for p in places], PALE, 6.0)
    center = homogeneous(np.eye(3), fc.center_of_mass(arm, state))
    body += view.axes(np.eye(4), "world", (6.0, 20.0)) + view.axes(state.pose, "base", (-36.0, 18.0))
    body += view.axes(center, "centroidal: at the center of mass, along the world", (14.0, 22.0), 0.8)
    save("whole", body, 480, 300)


def numbers(x: np.ndarray) -> str:
    return f"({', '.join(f'{each:.2f}' for each in x.round(2) + 0.0)})"


def turned() -> np.ndarray:
    """A quarter turn about z: the plane of the arm faces the reader."""
    return np.asarray(SE3().exp(np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.pi / 2])))


def save(name: str, body: str, width: int, height: int) -> None:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    (FOLDER / f"frames_{name}.svg").write_text(f"{head}{body}</svg>\n", encoding="utf-8")


if __name__ == "__main__":
    for picture in (pose, representation, joint, whole):
        picture()
