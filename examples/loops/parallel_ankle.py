"""A parallel ankle: two motors in the shank move pitch and roll of the foot through rods.

`python examples/loops/parallel_ankle.py` prints motor angles and torques over the ankle's.
"""

from __future__ import annotations

import numpy as np

import fallingcat as fc
from fallingcat.lie import Trivial

HEEL, HALF_WIDTH, ROD = 0.05, 0.05, 0.25  # m: crank and lever, half the distance of the rods, length of a rod
SIDES = {"left": HALF_WIDTH, "right": -HALF_WIDTH}


def ankle() -> fc.Model:
    """Eight joint rates, six of which the rods take: pitch and roll are left."""
    foot = fc.Link("foot", fc.Body(1.0, (0.03, 0.0, -0.05), np.diag([2.0, 5.0, 5.5]) * 1e-3))
    links, loops = [fc.Link("shank"), foot], []
    cardan = fc.joints.Universal((0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    joints = [fc.Joint("ankle", cardan, "shank", "foot")]
    for side, y in SIDES.items():
        links.append(fc.Link(f"{side} crank", fc.Body(0.05, (-0.5 * HEEL, 0.0, 0.0), np.diag([0.1, 1.0, 1.0]) * 1e-5)))
        links.append(fc.Link(f"{side} rod", fc.Body(0.08, (0.0, 0.0, -0.5 * ROD), np.diag([42, 42, 0.2]) * 1e-5)))
        hinge = fc.joints.Revolute((0.0, 1.0, 0.0))
        joints.append(fc.Joint(f"{side} motor", hinge, "shank", f"{side} crank", at(0.0, y, ROD)))
        joints.append(fc.Joint(f"{side} ball", cardan, f"{side} crank", f"{side} rod", at(-HEEL, 0.0, 0.0)))
        loops.append(fc.model.Pin(f"{side} lever", f"{side} rod", "foot", (0.0, 0.0, -ROD), (-HEEL, y, 0.0)))
    return fc.Model("parallel ankle", Trivial(), tuple(links), tuple(joints), loops=tuple(loops))


def at(x: float, y: float, z: float) -> np.ndarray:
    placement = np.eye(4)
    placement[:3, 3] = x, y, z
    return placement


def bent(model: fc.Model, pitch: float, roll: float) -> fc.State:
    """The closed state with these angles of the ankle (rad)."""
    return fc.constraints.assemble(model, model.state(joints={"ankle": [pitch, roll]}), held=["ankle"])


def transmission(model: fc.Model, state: fc.State) -> np.ndarray:
    """``B`` (2 x 2): rates of the motors per rates of the ankle; ankle torques are ``B'`` times motor torques."""
    J = fc.constraints.equations(model, state).jacobian
    rates = {joint.name: place for joint, place in zip(model.joints, model.v_slices, strict=True)}
    free = rates["ankle"]
    rest = np.setdiff1d(np.arange(model.n), np.arange(free.start, free.stop))
    others = -np.linalg.lstsq(J[:, rest], J[:, free], rcond=None)[0]
    motors = [int(np.flatnonzero(rest == rates[f"{side} motor"].start)[0]) for side in SIDES]
    return np.asarray(others[motors])


def main() -> None:
    model = ankle()
    print("ankle pitch, roll (deg)   motors left, right (deg)   motor torques for 10 N m of pitch (N m)")
    for pitch, roll in [(0, 0), (20, 0), (0, 15), (20, 15), (-30, 10)]:
        state = bent(model, *np.radians([pitch, roll]))
        q = [state.joints[model.q_slices[model.joint_index(f"{side} motor")]][0] for side in SIDES]
        torques = np.linalg.solve(transmission(model, state).T, [10.0, 0.0])
        print(f"{pitch:10} {roll:10}      {np.degrees(q).round(2)!s:>20}   {torques.round(3)!s:>20}")


if __name__ == "__main__":
    main()
