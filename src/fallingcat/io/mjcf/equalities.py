"""``<equality>``: bodies connected or welded, joints coupled; the loops of a robot, for those who ask for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...caching import cached_property
from ...lie import SE3
from ...lie.rotations import homogeneous, matrix_from_quaternion
from ...model import Couple, CoupledSums, FixedTendon, Loop, Model, Pin, Weld
from ..numbers import vector
from ..safe_xml import Element
from .at_rest import AtRest, refs
from .bodies import BodyPart
from .files import FilesReader
from .ignored import Tally
from .parts import WORLD
from .poses import pose
from .settings import Settings, boolean

_SE3 = SE3()
_LINEAR = (0.0, 1.0, 0.0, 0.0, 0.0)
_AS_DRAWN = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Equalities:
    """The equalities of a file and what they refer to."""

    root: Element
    model: Model
    bodies: Sequence[BodyPart]
    settings: Settings
    reader: FilesReader

    def loops(self, tally: Tally) -> list[Loop]:
        """Those that can be closed; a remark on the others."""
        found: list[Loop] = []
        for section in self.root.all("equality"):
            for element in section:
                if not boolean(self.reader, element, "active", True):
                    continue
                loop = self._loop(element, element.get("name") or f"{element.tag}{len(found)}")
                if loop is None:
                    tally.note(f"the equality <{element.tag}> is not read: it is no loop of this robot", element)
                else:
                    found.append(loop)
        return found

    def _loop(self, element: Element, name: str) -> Loop | None:
        if element.tag == "joint":
            return self._couple(element, name)
        if element.tag == "tendon":
            return self._coupled_sums(element, name)
        ends = self._ends(element) if element.tag in ("connect", "weld") else None
        if ends is None:
            return None
        (first, H), (second, G) = ends
        if element.tag == "connect":
            anchor = vector(self.reader, element, "anchor", 3, default=(0.0, 0.0, 0.0))
            here = (H @ np.append(anchor, 1.0))[:3]
            if "site2" in element.attributes:
                return Pin(name, first, second, H[:3, 3], G[:3, 3])
            there = self._relative_pose(first, second) @ np.append(here, 1.0)
            return Pin(name, first, second, here, there[:3])
        return Weld(name, first, second, self._relative(element, first, second, H, G))

    def _relative(self, element: Element, first: str, second: str | None, H: np.ndarray, G: np.ndarray) -> np.ndarray:
        """The pose of the second body, seen from the first: as given, or as drawn; of sites: where they coincide."""
        if "site2" in element.attributes:
            return H @ _SE3.inverse(G)
        given = vector(self.reader, element, "relpose", 7, default=_AS_DRAWN)
        if not given[3:].any():
            return _SE3.inverse(self._relative_pose(first, second))
        return homogeneous(matrix_from_quaternion(np.roll(given[3:], -1)), given[:3])

    def _ends(self, element: Element) -> tuple[tuple[str, np.ndarray], tuple[str | None, np.ndarray]] | None:
        """Both bodies as places of the model, with the poses of sites on them; None if the robot has them not."""
        ends: list[tuple[str | None, np.ndarray]] = []
        for k in "12":
            H = np.eye(4)
            name = element.get(f"body{k}") or WORLD
            if f"site{k}" in element.attributes:
                site = self._sites[element.get(f"site{k}")]
                if site.parent is None or site.parent.tag not in ("body", "worldbody"):
                    return None
                name = site.parent.get("name") if site.parent.tag == "body" else WORLD
                H = pose(site, self.settings, self.reader)
            if name in self._places:
                ends.append((name, H))
            elif name == WORLD:
                ends.append((None, H))
            else:
                return None
        (first, H), (second, G) = ends
        if first is None:  # the first one is a place of the robot
            return None if second is None else ((second, G), (first, H))
        return (first, H), (second, G)

    def _couple(self, element: Element, name: str) -> Loop | None:
        joint, other = element.get("joint1"), element.get("joint2") or None
        single = {j.name for j in self.model.joints if j.kind.nq == 1}
        if joint not in single or not (other is None or other in single):
            return None
        given = vector(self.reader, element, "polycoef", (1, 5), default=_LINEAR)
        if other is None:
            return Couple(name, joint, None, (given[0] + self._refs[joint],))
        shifted = np.polynomial.Polynomial(given)(np.polynomial.Polynomial([-self._refs[other], 1.0]))
        coefficients = shifted.coef + np.eye(1, len(shifted.coef))[0] * self._refs[joint]
        return Couple(name, joint, other, tuple(coefficients.tolist()))

    def _coupled_sums(self, element: Element, name: str) -> Loop | None:
        """One fixed tendon that follows another: their lengths differ from those as drawn by a polynomial."""
        fixed = {tendon.name: tendon for tendon in self.model.tendons if isinstance(tendon, FixedTendon)}
        first, second = fixed.get(element.get("tendon1")), fixed.get(element.get("tendon2"))
        if first is None or (second is None and "tendon2" in element.attributes):
            return None
        given = vector(self.reader, element, "polycoef", (1, 5), default=_LINEAR)
        drawn = AtRest(self.model, self._refs)
        start = float(np.asarray(first.arm(drawn).length))
        if second is None:
            return CoupledSums(name, first.over, first.coefficients, coefficients=(given[0] + start,))
        behind = float(np.asarray(second.arm(drawn).length))
        shifted = np.polynomial.Polynomial(given)(np.polynomial.Polynomial([-behind, 1.0]))
        coefficients = shifted.coef + np.eye(1, len(shifted.coef))[0] * start
        sums = (first.over, first.coefficients, second.over, second.coefficients)
        return CoupledSums(name, *sums, tuple(coefficients.tolist()))

    @cached_property
    def _places(self) -> set[str]:
        return {*self.model.link_names, *(frame.name for frame in self.model.frames)}

    @cached_property
    def _sites(self) -> Mapping[str, Element]:
        found: dict[str, Element] = {}
        stack = list(self.root.all("worldbody"))
        while stack:
            element = stack.pop()
            if element.tag == "site":
                found[element.get("name")] = element
            stack.extend(element.children)
        return found

    @cached_property
    def _refs(self) -> dict[str, float]:
        """The coordinates at which the robot stands as drawn."""
        return refs(self.bodies)

    def _relative_pose(self, first: str, second: str | None) -> np.ndarray:
        """Coordinates of the first place to those of the second (None: the world), as drawn."""
        H = self._poses_of_file[first]
        return H if second is None else _SE3.inverse(self._poses_of_file[second]) @ H

    @cached_property
    def _poses_of_file(self) -> dict[str, np.ndarray]:
        """World poses of links and frames as the file draws them."""
        model = self.model
        base = next((body.H for body in self.bodies if body.free is not None), np.eye(4)) if model.m else np.eye(4)
        joints = model.state(joints={j.name: self._refs[j.name] for j in model.joints if j.kind.nq == 1}).joints
        poses = {model.links[0].name: base}
        for joint, place in zip(model.joints, model.q_slices, strict=True):
            poses[joint.child] = poses[joint.parent] @ joint.transform(joints[place])
        return poses | {frame.name: poses[frame.link] @ frame.placement for frame in model.frames}
