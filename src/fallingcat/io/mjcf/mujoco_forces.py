"""Tendons and actuators of an ``MjModel`` in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...model import (
    Actuator,
    FixedTendon,
    Model,
    Muscle,
    OnSite,
    OnTendon,
    Pulley,
    SliderCrank,
    SpatialTendon,
    Tendon,
    Via,
    Wrap,
)
from .actuators import DISABLED, Drive
from .at_rest import AtRest, base_pose, refs
from .bodies import BodyPart
from .ignored import Tally
from .parts import Naming, fresh
from .sites import Place, in_world
from .tendons import with_inside

_ON_JOINTS: Final = (0, 1)  # mjTRN_JOINT, mjTRN_JOINTINPARENT
_CRANK, _TENDON, _SITE = 2, 3, 4
_JOINT, _PULLEY, _POINT, _SPHERE, _CYLINDER = range(1, 6)
_DYNAMICS: Final = ("none", "integrator", "filter", "filterexact", "muscle")
_GAINS: Final = ("fixed", "affine", "muscle")
_BIASES: Final = ("none", "affine", "muscle")
_NEWER: Final = ("armature", "damping", "dampingpoly", "delay")  # not all releases have them
_UNREAD: Final = "actuators that are no drives by gain and bias of what has one degree of freedom are not read"


class MujocoForces:
    """Arrays of MuJoCo, and where their parts are in the model."""

    def __init__(self, peer: Any, bodies: Sequence[BodyPart], kept: Sequence[bool], tally: Tally) -> None:
        self.peer, self.bodies, self.kept, self.tally = peer, bodies, kept, tally
        self.names = Naming(bodies).bodies

    def place(self, body: int, H: np.ndarray) -> Place | None:
        """A pose on a body as one on a link, or in the world."""
        if self.kept[body]:
            return Place(self.names[body], H)
        return None if self.bodies[body].moves else Place(None, in_world(self.bodies, body) @ H)

    def tendons(self, model: Model, site: Any, geom: Any) -> list[Tendon]:
        """Tendons, given poses of sites and geoms on their bodies by number."""
        found = []
        for i in range(self.peer.ntendon):
            tendon = self._tendon(i, model, site, geom)
            if tendon is None:
                self.tally.note("a tendon whose parts are no part of the robot is not read", None)
            else:
                found.append(tendon)
        return found

    def _tendon(self, i: int, model: Model, site: Any, geom: Any) -> Tendon | None:
        peer, name = self.peer, str(self.peer.tendon(i).name) or f"tendon{i}"
        first = int(peer.tendon_adr[i])
        rows = range(first, first + int(peer.tendon_num[i]))
        stiffness = float(np.ravel(peer.tendon_stiffness[i])[0])
        forces: dict[str, Any] = {
            "stiffness": stiffness,
            "damping": float(np.ravel(peer.tendon_damping[i])[0]),
            "friction": float(peer.tendon_frictionloss[i]),
        }
        if stiffness:
            forces["rest"] = tuple(peer.tendon_lengthspring[i].tolist())
        if peer.tendon_limited[i]:
            forces["limits"] = tuple(peer.tendon_range[i].tolist())
        if peer.wrap_type[first] == _JOINT:
            row: dict[str, float] = {}
            for k in rows:
                joint = str(peer.joint(peer.wrap_objid[k]).name)
                row[joint] = row.get(joint, 0.0) + float(peer.wrap_prm[k])
            known = {joint.name for joint in model.joints if joint.kind.nv == 1}
            return FixedTendon(name, tuple(row), tuple(row.values()), **forces) if {*row} <= known else None
        path: list[Via | Wrap | Pulley] = []
        drawn = AtRest(model, refs(self.bodies), base_pose(self.bodies, self.kept, model))
        for k in rows:
            kind, which = int(peer.wrap_type[k]), int(peer.wrap_objid[k])
            if kind == _PULLEY:
                path.append(Pulley(float(peer.wrap_prm[k])))
                continue
            place = site(which) if kind == _POINT else geom(which)
            if place is None:
                return None
            if kind == _POINT:
                path.append(place.via())
                continue
            side = None if peer.wrap_prm[k] < 0 else site(int(peer.wrap_prm[k]))
            shape, radius = "sphere" if kind == _SPHERE else "cylinder", float(peer.geom_size[which, 0])
            wrap = Wrap(place.name, shape, radius, side and side.via(), place.H)
            path.append(wrap if side is None else with_inside(wrap, drawn))
        return SpatialTendon(name, tuple(path), **forces)

    def actuators(self, model: Model, frames: Sequence[str | None]) -> list[Actuator]:
        """Actuators, given the names of the frames of sites by number (None: no part of the robot)."""
        found, taken = [], {str(self.peer.actuator(i).name) for i in range(self.peer.nu)}
        for i in range(self.peer.nu):
            if 1 << max(0, int(self.peer.actuator_group[i])) & int(self.peer.opt.disableactuator):
                self.tally.note(DISABLED, None)
                continue
            made = self._actuator(i, model, frames, taken)
            if made is None:
                self.tally.note(_UNREAD, None)
            else:
                found.append(made)
        return found

    def _actuator(self, i: int, model: Model, frames: Sequence[str | None], taken: set[str]) -> Actuator | None:
        peer = self.peer
        codes = (peer.actuator_dyntype[i], peer.actuator_gaintype[i], peer.actuator_biastype[i])
        newer = any(np.any(getattr(peer, f"actuator_{name}", np.zeros(peer.nu))[i]) for name in _NEWER)
        words = (_DYNAMICS, _GAINS, _BIASES)
        if newer or any(code >= len(known) for code, known in zip(codes, words, strict=True)):
            return None
        keys = ("dyntype", "gaintype", "biastype")
        types = {key: known[code] for key, code, known in zip(keys, codes, words, strict=True)}
        on = self._transmission(i, model, frames)
        gains, biases = peer.actuator_gainprm[i].tolist(), peer.actuator_biasprm[i].tolist()
        plain = types["gaintype"] == "muscle" or np.isfinite([*gains[:3], *biases[:3]]).all()
        if on is None or not plain or (types["gaintype"] == "muscle") != (types["biastype"] == "muscle"):
            return None
        others = {"actrange": " ".join(map(repr, peer.actuator_actrange[i].tolist()))}
        others["actlimited"] = "true" if peer.actuator_actlimited[i] else "false"
        numbers: dict[str, Any] = {"gear": 1.0 if "place" in on else float(peer.actuator_gear[i, 0])}
        numbers["transmission"] = on.get("transmission")
        for ours, theirs in (("control_range", "ctrl"), ("force_range", "force")):
            if getattr(peer, f"actuator_{theirs}limited")[i]:
                numbers[ours] = tuple(getattr(peer, f"actuator_{theirs}range")[i].tolist())
        drive = Drive(
            gains[0],
            (biases[0], biases[1], biases[2]),
            (gains[1], gains[2]),
            tuple(peer.actuator_dynprm[i, :3].tolist()),
            types=types,
            others=others,
        )
        name = str(peer.actuator(i).name) or fresh(f"{on['what']}_actuator", taken)
        if types["gaintype"] == "muscle":
            numbers["muscle"] = self._muscle(i, gains)
        return drive.actuator(name, on.get("joint", ""), **numbers)

    def _muscle(self, i: int, gains: Sequence[float]) -> Muscle:
        low, high, force, scale, *rest = gains[:9]
        if force < 0.0:
            force = scale / max(float(self.peer.actuator_acc0[i]), 1e-15)
        ends = self.peer.actuator_lengthrange[i].tolist()
        return Muscle(force, (ends[0], ends[1]), (low, high), *rest)

    def _transmission(self, i: int, model: Model, frames: Sequence[str | None]) -> dict[str, Any] | None:
        """Joint or transmission of an actuator, as fields of one of ours."""
        peer, kind = self.peer, int(self.peer.actuator_trntype[i])
        first, second = (int(x) for x in peer.actuator_trnid[i])
        if kind in _ON_JOINTS:
            joint = str(peer.joint(first).name)
            sizes = {each.name: each.kind.nv for each in model.joints}
            return {"joint": joint, "what": joint} if sizes.get(joint) == 1 else None
        if kind == _TENDON:
            name = str(peer.tendon(first).name) or f"tendon{first}"
            known = {tendon.name for tendon in model.tendons}
            return {"transmission": OnTendon(name), "what": name} if name in known else None
        place = frames[first] if kind in (_SITE, _CRANK) else None
        if place is None:
            return None
        if kind == _SITE:
            wrench = tuple(peer.actuator_gear[i].tolist())
            return {"transmission": OnSite(place, wrench), "what": place, "place": place} if second < 0 else None
        slider = frames[second]
        rod = float(peer.actuator_cranklength[i])
        return None if slider is None else {"transmission": SliderCrank(place, slider, rod), "what": place}
