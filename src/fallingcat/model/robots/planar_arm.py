"""Three unit links on a post: the arm of the lecture notes."""

from __future__ import annotations

from ...lie import Group, Trivial
from ..joint import Joint
from ..joints import Revolute
from ..link import Frame
from ..model import Model
from .shapes import at, box_link

LENGTH = 1.0  # of every link (m), [ETH] Example 2.9.1


def planar_arm(base: Group | None = None) -> Model:
    """The planar arm of [ETH] Examples 2.8.5 to 2.9.1: three hinges and three links of 1 m on a post of 1 m.

    It moves in the x-z plane and stands upright at the neutral state; the joints turn about y and lean it towards x:
    the frame ``end_effector`` is at ``x = sin q1 + sin q12 + sin q123``, ``z = 1 + cos q1 + cos q12 + cos q123``
    ([ETH] (2.141) with ``l0 = ... = l3 = 1``).  The base is fixed unless another group is given.

    The notes give no masses: here every link is a rod of 1 kg and 1 m x 0.05 m x 0.05 m, the post one of 5 kg.

    Args:
        base: Group of the base; None: fixed.

    Returns:
        Robot.

    Example:
        >>> arm = planar_arm()
        >>> arm
        <Model 'planar_arm': fixed base, 4 links, 3 joint dof, 8 kg>
        >>> arm.joint_names
        ('joint1', 'joint2', 'joint3')
    """
    size, middle = (0.05, 0.05, LENGTH), (0.0, 0.0, 0.5 * LENGTH)
    names = ["post", "link1", "link2", "link3"]
    links = tuple(box_link(name, 5.0 if name == "post" else 1.0, size, middle) for name in names)
    joints = tuple(
        Joint(f"joint{i + 1}", Revolute((0.0, 1.0, 0.0)), names[i], names[i + 1], at(z=LENGTH)) for i in range(3)
    )
    tip = Frame("end_effector", "link3", at(z=LENGTH))
    return Model("planar_arm", Trivial() if base is None else base, links, joints, frames=(tip,))
