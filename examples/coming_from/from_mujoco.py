"""The same robot in MuJoCo and in fallingcat, side by side: load, dynamics, servos on the ground, free flight.

pip install mujoco; python examples/coming_from/from_mujoco.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np

import fallingcat as fc

LEG = """
  <body name="{name}_thigh" pos="{x} 0 0"><joint name="{name}_hip" range="-90 90"/>
    <geom fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.6"/>
    <body name="{name}_shank" pos="0 0 -0.2"><joint name="{name}_knee" range="-150 0"/>
      <geom fromto="0 0 0 0 0 -0.2" size="0.015" mass="0.3"/>
      <geom name="{name}_left" type="sphere" pos="0 0.1 -0.2" size="0.02" mass="0.02"/>
      <geom name="{name}_right" type="sphere" pos="0 -0.1 -0.2" size="0.02" mass="0.02"/></body></body>"""
MJCF = f"""
<mujoco model="bench">
  <option timestep="0.001"/>
  <default><joint axis="0 1 0" damping="0.5"/><geom type="capsule" friction="0.8"/></default>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="trunk" pos="0 0 0.45"><freejoint/>
      <geom type="box" size="0.2 0.1 0.05" mass="5"/>
      {LEG.format(name="front", x=0.15)}{LEG.format(name="rear", x=-0.15)}
    </body>
  </worldbody>
  <actuator>
    <position joint="front_hip" kp="120" kv="4"/><position joint="front_knee" kp="120" kv="4"/>
    <position joint="rear_hip" kp="120" kv="4"/><position joint="rear_knee" kp="120" kv="4"/>
  </actuator>
</mujoco>"""
CTRL = np.array([0.5, -1.0, 0.5, -1.0])  # rad


def peers(folder: str) -> tuple[mujoco.MjModel, fc.Model]:
    """The robot in both libraries, from one file."""
    path = Path(folder) / "bench.xml"
    path.write_text(MJCF)
    return mujoco.MjModel.from_xml_path(str(path)), fc.load(path)


def dynamics(theirs: mujoco.MjModel, ours: fc.Model) -> dict[str, float]:
    """Largest differences at a random state: mass matrix, bias forces, accelerations."""
    state = ours.random_state(np.random.default_rng(0))
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = ours.to_mujoco(state)
    mujoco.mj_forward(theirs, data)
    M = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, M)  # before MuJoCo 4: (theirs, M, data.qM)

    T = fc.exchange.mujoco(ours).velocity_map(ours.flatten(state)[0])  # qvel = T v
    mass = fc.mass_matrix(ours, state)
    change = fc.VelocityChange.of(ours, state, lambda s: fc.lie.rotations.block_diagonal(
        [s.pose[:3, :3], np.eye(ours.nv - 3)]), "mujoco")  # fmt: skip
    there = fc.equations(ours, state).change(change)
    return {
        "mass matrix": float(np.abs(T.T @ M @ T - mass).max()),
        "qfrc_bias": float(np.abs(there.C @ there.v + there.g - data.qfrc_bias).max()),
    }


def landing(theirs: mujoco.MjModel, ours: fc.Model, duration: float = 1.0) -> tuple[float, float]:
    """Height of the trunk (m) after it fell on its feet, held by servos: in MuJoCo, here."""
    data = mujoco.MjData(theirs)
    data.qpos[7:], data.ctrl[:] = CTRL, CTRL
    for _ in range(round(duration / theirs.opt.timestep)):
        mujoco.mj_step(theirs, data)

    feet = fc.contact.feet(ours, ours.state(joints=CTRL))  # the spheres of the file
    ground = fc.contact.CompliantFloor(feet, friction=0.8)
    start = feet.model.state(position=[0.0, 0.0, 0.45], joints=CTRL)
    sim = fc.Simulator(feet.model, ground, fc.control.Actuators(), dt=1e-3, state=start)
    for _ in range(round(duration / 1e-3)):
        sim.step(controls=CTRL)
    return float(data.qpos[2]), float(sim.state.pose[2, 3])


def flight(theirs: mujoco.MjModel, ours: fc.Model, duration: float = 2.0) -> tuple[float, float]:
    """Relative change of the angular momentum of a free flight: in MuJoCo (Euler), here."""
    start = ours.state(
        position=[0.0, 0.0, 30.0], joints=CTRL, twist=[0, 0, 0, 2.0, 1.0, 0.5], rates=[3.0, -4.0, -2.0, 5.0]
    )
    theirs.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_ACTUATION
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = ours.to_mujoco(start)
    spins = []
    for _ in range(round(duration / theirs.opt.timestep)):
        mujoco.mj_forward(theirs, data)
        mujoco.mj_subtreeVel(theirs, data)
        spins.append(data.subtree_angmom[1].copy())
        mujoco.mj_step(theirs, data)
    run = fc.simulate(ours, start, duration, dt=1e-3)
    return tuple(float(np.abs(x - x[0]).max() / np.linalg.norm(x[0])) for x in (
        np.array(spins), run.momenta("centroidal")[:, 3:]))  # fmt: skip


def main(duration: float = 1.0) -> dict[str, object]:
    with TemporaryDirectory() as folder:
        theirs, ours = peers(folder)
        return {
            **dynamics(theirs, ours),
            "height of the trunk": landing(theirs, ours, duration),
            "drift of angular momentum": flight(theirs, ours, 2.0 * duration),
        }


if __name__ == "__main__":
    for what, numbers in main().items():
        print(f"{what:26} {numbers}")
