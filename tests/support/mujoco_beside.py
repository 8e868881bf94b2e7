"""Forces and motions of a small MJCF file beside MuJoCo's own."""

import warnings

import mujoco
import numpy as np

import fallingcat as fc
from fallingcat.control.laws.actuators import active
from fallingcat.control.laws.tendons import moment_arms

SMOOTH = ("passive springs", "passive damping", "tendon springs", "tendon damping", "gravity compensation", "fluid")
"""Laws of the model that MuJoCo counts as passive forces, not as constraints."""


def loaded(tmp_path, text, **options):
    """The model of a text, that of MuJoCo, and the warnings."""
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fc.load(path, **options)
    said = [line for each in caught for line in str(each.message).splitlines()]
    return model, mujoco.MjModel.from_xml_path(str(path)), said


def random_data(peer, rng, spread=0.7):
    """Data at a random state, with random controls and activations."""
    data = mujoco.MjData(peer)
    mujoco.mj_integratePos(peer, data.qpos, spread * rng.normal(size=peer.nv), 1.0)
    data.qvel[:], data.ctrl[:], data.act[:] = (rng.normal(size=n) for n in (peer.nv, peer.nu, peer.na))
    data.act[:] = 0.2 * np.tanh(data.act)  # within its range: beyond it MuJoCo cuts the step, not the rate
    mujoco.mj_forward(peer, data)
    return data


def velocity_map(model, data):
    """Matrix that turns MuJoCo's velocity into ours."""
    return np.stack([model.from_mujoco(data.qpos, column).velocity for column in np.eye(len(data.qvel))], axis=1)


def passive_forces(model, state):
    """Sum of the laws of the model that are :data:`SMOOTH`."""
    laws = [law for law in fc.control.passive(model) if law.name in SMOOTH]
    return sum((np.asarray(law.forces(model, 0.0, state, frozenset())) for law in laws), np.zeros(model.nv))


def differences(model, peer, rng, count=6):
    """Largest differences of passive forces, actuator forces, rates of activation, and lengths and rates of tendons."""
    found = np.zeros(4)
    for _ in range(count):
        data = random_data(peer, rng)
        state, T = model.from_mujoco(data.qpos, data.qvel), velocity_map(model, data)
        worst = [np.abs(T.T @ passive_forces(model, state) - data.qfrc_passive).max(initial=0.0)]
        if model.actuators:
            adr = [peer.actuator_actadr[i] for i in active(model)]
            law = fc.control.Actuators(tuple(data.ctrl)).with_memory(data.act[adr])
            forces = np.asarray(law.forces(model, 0.0, state, frozenset()))
            worst.append(np.abs(T.T @ forces - data.qfrc_actuator).max(initial=0.0))
            rates = np.asarray(law.memory_rate(model, 0.0, state), dtype=float)
            worst.append(np.abs(rates - data.act_dot[adr]).max(initial=0.0))
        else:
            worst += [0.0, 0.0]
        arms = moment_arms(model, state, lambda tendon: True)
        lengths = [abs(length - data.ten_length[i]) for i, length, _, _ in arms]
        speeds = [abs(rate - data.ten_velocity[i]) for i, _, rate, _ in arms]
        found = np.maximum(found, [*worst, max([0.0, *lengths, *speeds])])
    return found


def converged(peer, data, duration, step=2e-4):
    """``qpos`` after a time in MuJoCo's Runge-Kutta steps; activations, of first order there, are extrapolated."""
    peer.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    ends = []
    for dt in (step, 0.5 * step) if peer.na else (step,):
        peer.opt.timestep, own = dt, mujoco.MjData(peer)
        own.qpos[:], own.qvel[:], own.ctrl[:] = data.qpos, data.qvel, data.ctrl
        for _ in range(round(duration / dt)):
            mujoco.mj_step(peer, own)
        ends.append(own.qpos.copy())
    return 2.0 * ends[1] - ends[0] if peer.na else ends[0]
