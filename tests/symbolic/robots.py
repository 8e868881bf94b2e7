"""Small robots for closed forms."""

import numpy as np

import fallingcat as fc
from fallingcat.lie import SE2, SE3, Trivial


def at(x, y=0.0, z=0.0):
    H = np.eye(4)
    H[:3, 3] = x, y, z
    return H


def planar(n, base=None):
    """A base and ``n`` links in the plane, centers off the axes."""
    links = [
        fc.Link(f"b{i}", fc.Body(1.0 + i, [0.1 + 0.1 * i, 0.05, 0.0], np.diag([0.1, 0.1, 0.2 + i])))
        for i in range(n + 1)
    ]
    joints = [fc.Joint(f"j{i}", fc.joints.Revolute(), f"b{i}", f"b{i + 1}", at(0.3)) for i in range(n)]
    base = SE2() if base is None else base
    return fc.Model("planar", base, tuple(links), tuple(joints), gravity=np.array([0.0, -9.81, 0.0]))


def space(n, base=None):
    """A free base and ``n`` links about other axes each."""
    axes = [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)]
    links = [
        fc.Link(f"b{i}", fc.Body(1.0 + i, [0.1 + 0.1 * i, 0.05, 0.02], np.diag([0.1, 0.15, 0.2]))) for i in range(n + 1)
    ]
    joints = [fc.Joint(f"j{i}", fc.joints.Revolute(axes[i]), f"b{i}", f"b{i + 1}", at(0.3)) for i in range(n)]
    return fc.Model("space", SE3() if base is None else base, tuple(links), tuple(joints))


def arm():
    """Two hinges and a slider on a post, springs and rotors."""
    arm = planar(2, Trivial())
    last = fc.Joint("slide", fc.joints.Prismatic((1.0, 0.0, 0.0)), "b2", "tip", at(0.1, 0.2), armature=0.3)
    knee = fc.Joint("j0", fc.joints.Revolute(), "b0", "b1", at(0.3), passive=fc.model.Passive(stiffness=5.0, rest=0.1))
    tip = fc.Link("tip", fc.Body(0.5, [0.1, 0.0, 0.0], np.diag([0.1, 0.1, 0.1])))
    return fc.Model("arm", Trivial(), (*arm.links, tip), (knee, arm.joints[1], last), gravity=arm.gravity)
