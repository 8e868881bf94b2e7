"""The same robot on the same spring, damper and friction cone in MuJoCo.

MuJoCo's soft contact becomes an exact spring and damper in the limit of a small constant impedance ``d``
(``solimp = (d, d, ...)``): then the regularisation ``R = (1 - d) / d * invweight`` outweighs the inertia seen by the
contact, and ``solref = (-K invweight, -D invweight)`` gives ``F_n = max(-K y - D dy/dt, 0)`` up to a relative error of
order ``d``.  Friction rows have no spring: ``F_t = -D_t dx/dt`` within ``|F_t| <= mu F_n``, with
``D_t = impratio * D_friction``.  MuJoCo solves a convex problem, in which sliding adds ``mu D_friction |dx/dt|`` to the
normal force; a large ``impratio`` with a small ``D_friction`` removes this term.

So a floor with ``K_t = 0`` is the same law in both engines, in every regime.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import fallingcat as fc
from fallingcat.contact import CompliantFloor

from .bare import urdf_of

IMPEDANCE = 1e-4
IMPRATIO = 100.0
"""Its inverse is the share of tangential damping that lifts a sliding point."""
FINE_STEP = 2e-5  # s


class MujocoTwin:
    """A robot of a fallingcat model on a horizontal compliant floor, in MuJoCo.

    Args:
        model: Robot with a free base; its armatures are taken along, its passive joint forces are not.
        floor: Ground without tangential stiffness.
        kp: Stiffness of all joints (N m/rad), towards ``rest``.
        kd: Damping of all joints (N m s/rad).
        rest: Coordinates at which joint springs are relaxed; None: all zero.
        dt: Time step (s).
    """

    def __init__(
        self,
        model: fc.Model,
        floor: CompliantFloor,
        kp: float = 0.0,
        kd: float = 0.0,
        rest: Any = None,
        dt: float = FINE_STEP,
        integrator: str = "euler",
    ) -> None:
        (K, K_t), (D, D_t) = floor.stiffness, floor.damping
        assert K_t == 0.0, "friction of MuJoCo has no spring"
        self.ours, mu = model, float(floor.friction or 0.0)
        # contacts act halfway between the surfaces: at the point itself where the robot rests
        radius = 0.5 * model.mass * np.linalg.norm(model.gravity) / (len(floor.points) * K)
        spec = mujoco.MjSpec.from_string(urdf_of(model))
        spec.compiler.fusestatic, spec.compiler.discardvisual = False, False
        spec.worldbody.first_body().add_freejoint()
        plane = spec.worldbody.add_geom(
            name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 1], contype=0, conaffinity=0
        )
        plane.pos = [0.0, 0.0, floor.height - radius]
        for i, name in enumerate(floor.points):
            frame = model.frame(name)
            body = next(b for b in spec.bodies if b.name == frame.link)
            body.add_geom(
                name=f"point{i}",
                type=mujoco.mjtGeom.mjGEOM_SPHERE,
                size=[radius, 0, 0],
                pos=frame.placement[:3, 3],
                mass=0.0,
                contype=0,
                conaffinity=0,
            )
            spec.add_pair(
                geomname1="floor", geomname2=f"point{i}", condim=3, friction=[mu, mu, 0, 0, 0], name=f"pair{i}"
            )
        twin = spec.compile()
        twin.opt.timestep, twin.opt.cone, twin.opt.impratio = dt, mujoco.mjtCone.mjCONE_ELLIPTIC, IMPRATIO
        twin.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        twin.opt.tolerance, twin.opt.iterations, twin.opt.ls_iterations = 0.0, 20, 50
        twin.opt.gravity[:] = model.gravity
        for i in range(len(floor.points)):
            weight = twin.body_invweight0[twin.geom_bodyid[twin.geom(f"point{i}").id], 0]
            twin.pair_solimp[i] = (IMPEDANCE, IMPEDANCE, 1.0, 0.5, 2.0)
            twin.pair_solref[i] = (-K * weight, -D * weight)
            twin.pair_solreffriction[i] = (-1e-12 * weight, -D_t * weight / IMPRATIO)
        for joint in model.joints:
            place = twin.joint(joint.name).id
            twin.dof_armature[twin.jnt_dofadr[place]] = float(joint.armature[0])
            twin.jnt_stiffness.reshape(twin.njnt, -1)[place, 0] = kp
            twin.dof_damping.reshape(twin.nv, -1)[twin.jnt_dofadr[place], 0] = kd
        twin.jnt_limited[:] = 0
        if rest is not None:
            twin.qpos_spring[7:] = rest
        self.model, self.data = twin, mujoco.MjData(twin)

    def run(self, state: fc.State, duration: float, joint_forces: Any = None) -> fc.State:
        """The state after ``duration`` (s), from ``state``, under joint forces that are a function of time (n)."""
        data = self.data
        mujoco.mj_resetData(self.model, data)
        data.qpos[:], data.qvel[:] = self.ours.to_mujoco(state)
        for _ in range(round(duration / self.model.opt.timestep)):
            if joint_forces is not None:
                data.qfrc_applied[6:] = joint_forces(data.time)
            mujoco.mj_step(self.model, data)
        return self.ours.from_mujoco(data.qpos.copy(), data.qvel.copy())
