"""``<keyframe>``, and the pose in which a file draws its robot (MuJoCo's ``qpos0``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...lie import SE3
from ...lie.rotations import homogeneous, matrix_from_quaternion
from ...model.keyframes import START, Keyframe
from ..numbers import vector
from ..safe_xml import Element
from .bodies import BodyPart
from .files import FilesReader
from .ignored import Tally
from .parts import Naming, fresh

_SE3 = SE3()
MIN_QUATERNION = 1e-15  # MuJoCo brings all that are longer to length 1, and takes shorter ones for no rotation


def start_of(bodies: Sequence[BodyPart], base: int) -> Keyframe | None:
    """Pose of the base and of free bodies, and joints at their ``ref``, as the file draws them; None: identities."""
    naming = Naming(bodies)
    pose = bodies[base].H if base else None
    joints = {naming.joint(part.element): np.array([part.ref]) for body in bodies for part in body.joints if part.ref}
    for i, body in enumerate(bodies):
        if body.free is not None and i != base:
            joints[naming.joint(body.free)] = np.asarray(_SE3.coordinates(body.H))
    at_identity = pose is None or np.array_equal(pose, np.eye(4))
    return Keyframe(START, pose, joints) if joints or not at_identity else None


class Coordinates:
    """Places of the joints of a file in MuJoCo's ``qpos`` and ``qvel``."""

    def __init__(self, bodies: Sequence[BodyPart], base: int) -> None:
        self._naming, self._parts = Naming(bodies), []
        for i, body in enumerate(bodies):
            if body.free is not None:
                self._parts.append((body.free, 7, i == base))
            self._parts += [(part.element, part.kind.nq, False) for part in body.joints]
        self.nq = sum(size for _, size, _ in self._parts)
        self.nv = sum({7: 6, 4: 3}.get(size, 1) for _, size, _ in self._parts)

    def keyframe(self, name: str, qpos: np.ndarray | None, qvel: np.ndarray | None) -> Keyframe:
        """State of a key; what is None is neutral."""
        pose, twist = None, None
        joints, rates = dict[str, np.ndarray](), dict[str, np.ndarray]()
        q, v = (None if x is None else np.array(x, dtype=float) for x in (qpos, qvel))
        for element, size, is_base in self._parts:
            joint, freedom = self._naming.joint(element), {7: 6, 4: 3}.get(size, 1)
            if q is not None:
                own, q = q[:size], q[size:]
                if size > 1:  # wxyz
                    own = np.concatenate([own[:-4], _quaternion(own[-4:])])
                joints[joint] = own
            if v is not None:
                rate, v = v[:freedom], v[freedom:]
                if size == 7 and q is not None:  # linear velocity in world axes
                    rate = np.concatenate([matrix_from_quaternion(joints[joint][3:]).T @ rate[:3], rate[3:]])
                rates[joint] = rate
            if is_base and joint in joints:
                own = joints.pop(joint)
                pose = homogeneous(matrix_from_quaternion(own[3:]), own[:3])
            if is_base and joint in rates:
                twist = rates.pop(joint)
        return Keyframe(name, pose, joints, twist, rates)


def _quaternion(wxyz: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(wxyz)
    return np.roll(wxyz, -1) / length if length > MIN_QUATERNION else np.array([0.0, 0.0, 0.0, 1.0])


def read_keyframes(root: Element, places: Coordinates, reader: FilesReader, tally: Tally) -> list[Keyframe]:
    """States of all ``<key>`` elements, in their order; those that do not fit the robot are passed over."""
    found: list[Keyframe] = []
    elements = [key for section in root.all("keyframe") for key in section.all("key")]
    taken = {key.get("name") for key in elements}
    for i, key in enumerate(elements):
        given = [
            vector(reader, key, name, size) if (name in key.attributes and size == len(key.get(name).split())) else None
            for name, size in (("qpos", places.nq), ("qvel", places.nv))
        ]
        wrong = any(x is None and name in key.attributes for x, name in zip(given, ("qpos", "qvel"), strict=True))
        name = key.get("name") or fresh(f"key{i}", taken)
        if wrong:
            sizes = f"{places.nq} numbers in 'qpos', {places.nv} in 'qvel'"
            tally.note(f"a <key> that does not fit the robot, with {sizes}, is not read", key)
        else:
            found.append(places.keyframe(name, *given))
    return found
