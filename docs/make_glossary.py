"""Draw the pictures of theory/glossary.md, from the library's own numbers: `python docs/make_glossary.py`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np

import fallingcat as fc
from fallingcat.lie import SE3

FOLDER = Path(__file__).parent / "_static"
INK, PALE, BLUE, RED = "#333333", "#bbbbbb", "#2266bb", "#cc4422"
CORNERS = 2.0 * np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])  # of (q1, q2), rad
STEP = 0.3  # sides of the parallelogram that is drawn (rad): it misses its corner by torsion x area


def arm() -> fc.Model:
    """The planar arm in free flight."""
    return fc.robots.planar_arm(base=SE3())


def drifted(model: fc.Model, pose: np.ndarray, path: Iterable[np.ndarray]) -> np.ndarray:
    """Where the base is after the joints have followed `path` with zero momentum, by small steps of the connection."""
    shapes = list(path)
    for a, b in pairwise(shapes):
        A = fc.connection(model, model.state(joints=0.5 * (a + b)))
        pose = pose @ model.base.exp(-A @ (b - a))
    return pose


def straight(a: np.ndarray, b: np.ndarray, steps: int = 200) -> list[np.ndarray]:
    return [a + s * (b - a) for s in np.linspace(0.0, 1.0, steps + 1)]


def loop(model: fc.Model) -> tuple[list[np.ndarray], float]:
    """Shapes around the square `CORNERS`, and the turn (deg) of the base after it."""
    corners = [np.append(c, 0.0) for c in (*CORNERS, CORNERS[0])]
    shapes = [q for a, b in pairwise(corners) for q in straight(a, b)]
    return shapes, turn(drifted(model, np.eye(4), shapes))


def turn(pose: np.ndarray) -> float:
    """About y (deg)."""
    return float(np.degrees(np.arctan2(pose[0, 2], pose[0, 0])))


def miss(factorization: str) -> np.ndarray:
    """`M^-1 (C(v) w - C(w) v) - [v, w]` (3) of a spinning brick, for unit spins about x and y."""
    brick = fc.robots.free_body()
    v, w = np.eye(6)[3], np.eye(6)[4]
    by_v, by_w = (fc.coriolis_matrix(brick, brick.state(twist=x), factorization) for x in (v, w))
    gap = np.linalg.solve(fc.mass_matrix(brick, brick.state()), by_v @ w - by_w @ v) - SE3().ad(v) @ w
    return np.asarray(gap[3:])


def power_leak(factorization: str) -> float:
    """`|w' (dM/dt - 2 C) w|` (W) of the arm in motion, for a velocity `w` that is not its own."""
    rng = np.random.default_rng(0)
    model = arm()
    state = model.random_state(rng)
    w = rng.normal(size=model.nv)
    Mdot, C = fc.mass_matrix_derivative(model, state), fc.coriolis_matrix(model, state, factorization)
    return float(abs(w @ (Mdot - 2.0 * C) @ w))


# drawing


def line(points: Iterable[np.ndarray], colour: str, width: float = 2.0) -> str:
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"/>'


def arrow(start: np.ndarray, end: np.ndarray, colour: str) -> str:
    along = end - start
    if np.hypot(*along) < 1.0:
        return ""
    along = along / np.hypot(*along)
    side = np.array([-along[1], along[0]])
    head = [end - 7 * along + 3 * side, end, end - 7 * along - 3 * side]
    return line([start, end], colour) + line(head, colour)


def words(x: float, y: float, text: str, colour: str = INK) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-family="sans-serif" font-size="12" fill="{colour}">{text}</text>'


def skeleton(model: fc.Model, state: fc.State) -> list[np.ndarray]:
    """Joints and tip (x, z in m)."""
    places = [fc.link_pose(model, state, name) for name in (*model.link_names, "end_effector")]
    return [H[[0, 2], 3] for H in places]


class Panel:
    """Meters to pixels."""

    def __init__(self, origin: tuple[float, float], scale: float) -> None:
        self.origin, self.scale = np.array(origin), scale

    def __call__(self, point: np.ndarray) -> np.ndarray:
        return self.origin + self.scale * np.array([point[0], -point[1]])

    def robot(self, model: fc.Model, state: fc.State, colour: str) -> str:
        bones = [self(p) for p in skeleton(model, state)]
        return line(bones[:2], colour, 7.0) + line(bones[1:], colour, 4.0)

    def velocities(self, model: fc.Model, state: fc.State, colour: str) -> str:
        """Arrows at the middles of the links."""
        parts = []
        for link in model.links:
            H, twist = fc.link_pose(model, state, link.name), fc.link_twist(model, state, link.name)
            speed = H[:3, :3] @ (twist[:3] + np.cross(twist[3:], link.body.center))
            place = (H[:3, :3] @ link.body.center + H[:3, 3])[[0, 2]]
            parts.append(arrow(self(place), self(place + 0.6 * speed[[0, 2]]), colour))
        return "".join(parts)


def save(name: str, body: str, width: int = 420, height: int = 190) -> None:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    (FOLDER / f"glossary_{name}.svg").write_text(f"{head}{body}</svg>\n", encoding="utf-8")


def locked() -> None:
    model = arm()
    moving = model.state(joints=[0.5, 0.6, 0.5], rates=[0.0, 1.5, 1.5])
    frozen = model.state(joints=moving.joints, twist=fc.locked_velocity(model, moving))
    left, right = Panel((60, 150), 42.0), Panel((260, 150), 42.0)
    body = left.robot(model, moving, PALE) + left.velocities(model, moving, RED) + words(30, 175, "moving joints")
    body += right.robot(model, frozen, PALE) + right.velocities(model, frozen, BLUE)
    save("locked", body + words(230, 175, "frozen, same momentum"))


def connection() -> None:
    model, bent = arm(), np.array([1.4, 0.0, 0.0])
    pose = drifted(model, np.eye(4), straight(np.zeros(3), bent))
    panel = Panel((150, 165), 38.0)
    body = panel.robot(model, model.state(), PALE) + panel.robot(model, model.state(pose=pose, joints=bent), INK)
    save("connection", body + words(235, 150, f"joint 1: {np.degrees(bent[0]):.0f}°, base: {turn(pose):.0f}°"))


def curvature() -> None:
    model = arm()
    shapes, angle = loop(model)
    around = Panel((50, 150), 60.0)
    body = line([around(q[:2]) for q in shapes], RED) + words(20, 175, "joints 1 and 2, once around")
    end = drifted(model, np.eye(4), shapes)
    panel = Panel((270, 165), 38.0)
    body += panel.robot(model, model.state(joints=shapes[0]), PALE)
    body += panel.robot(model, model.state(pose=end, joints=shapes[0]), INK)
    save("curvature", body + words(310, 175, f"base: {angle:.1f}°"))


def torsion() -> None:
    def seen(x: np.ndarray, origin: tuple[float, float]) -> np.ndarray:
        """Oblique: the third axis goes up, the first to the lower left."""
        return np.array(origin) + 75.0 * np.array([x[1] - 0.45 * x[0], 0.35 * x[0] - x[2]])

    body = ""
    for factorization, origin in (("christoffel", (60.0, 90.0)), ("passive", (260.0, 90.0))):
        gap = miss(factorization)
        v, w = np.eye(3)[0], np.eye(3)[1]
        first, second = v + w + 0.5 * STEP * gap, v + w - 0.5 * STEP * gap
        corner = [seen(x, origin) for x in (np.zeros(3), v, first, w, second)]
        body += arrow(corner[0], corner[1], RED) + arrow(corner[1], corner[2], BLUE)
        body += arrow(corner[0], corner[3], BLUE) + arrow(corner[3], corner[4], RED)
        body += words(origin[0] - 20, 175, f"{factorization}: {abs(gap[2]):.2f} x area")
    save("torsion", body)


def passive() -> None:
    names = ("christoffel", "passive", "coadjoint", "newton_euler", "hamel")
    leaks = [power_leak(name) for name in names]
    body = ""
    for i, (name, leak) in enumerate(zip(names, leaks, strict=True)):
        y = 28.0 + 30.0 * i
        body += words(10, y + 4, name) + line(
            [np.array([110.0, y]), np.array([112.0 + 200.0 * leak / max(leaks), y])], BLUE, 12.0
        )
        body += words(330, y + 4, f"{leak:.1f} W" if leak > 1e-9 else "0")
    save("passive", body, height=170)


if __name__ == "__main__":
    for picture in (locked, connection, curvature, torsion, passive):
        picture()
