"""The same robot in Pinocchio and in fallingcat, side by side: load, dynamics, frames, centroidal quantities, IK.

pip install pin; python examples/coming_from/from_pinocchio.py
"""

from __future__ import annotations

import timeit
from pathlib import Path

import numpy as np
import pinocchio as pin

import fallingcat as fc

URDF = Path(__file__).parents[1] / "robots" / "cat.urdf"


def algorithms(seed: int = 0) -> dict[str, float]:
    """Largest differences between both libraries at a random state."""
    theirs, ours = pin.buildModelFromUrdf(str(URDF), pin.JointModelFreeFlyer()), fc.load(URDF)
    data, exchange = theirs.createData(), fc.exchange.pinocchio(ours, theirs)
    state = ours.random_state(np.random.default_rng(seed))
    q, v = exchange.to(*ours.flatten(state))  # Pinocchio sorts siblings by name
    a = np.random.default_rng(seed + 1).normal(size=theirs.nv)
    order = exchange.v_order  # v_theirs = v_ours[order]
    a_ours = np.empty_like(a)
    a_ours[order] = a

    pin.computeAllTerms(theirs, data, q, v)
    pin.dccrba(theirs, data, q, v)
    Ag, dAg = data.Ag.copy(), data.dAg.copy()  # further calls write over them
    frame = theirs.getFrameId("tail")
    J = pin.computeFrameJacobian(theirs, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
    pairs = {
        "rnea": (pin.rnea(theirs, data, q, v, a), fc.inverse_dynamics(ours, state, a_ours)[order]),
        "crba": (data.M, fc.mass_matrix(ours, state)[np.ix_(order, order)]),
        "aba": (pin.aba(theirs, data, q, v, a), fc.forward_dynamics(ours, state, a_ours)[order]),
        "computeCoriolisMatrix": (
            pin.computeCoriolisMatrix(theirs, data, q, v),
            fc.coriolis_matrix(ours, state, "christoffel")[np.ix_(order, order)],
        ),
        "computeFrameJacobian": (J, fc.jacobian(ours, state, "tail", "mixed")[:, order]),
        "ccrba": (Ag, fc.centroidal_momentum_matrix(ours, state)[:, order]),
        "dccrba": (dAg, fc.dynamics.centroidal_momentum_matrix_derivative(ours, state)[:, order]),
        "centerOfMass": (pin.centerOfMass(theirs, data, q), fc.center_of_mass(ours, state)),
    }
    return {name: float(np.abs(x - y).max()) for name, (x, y) in pairs.items()}


def inverse_kinematics() -> dict[str, str]:
    """A fixed cat puts a paw somewhere: a loop of one's own with Pinocchio, one call here."""
    theirs, ours = pin.buildModelFromUrdf(str(URDF)), fc.load(URDF, base="fixed")
    data, frame = theirs.createData(), theirs.getFrameId("rear_left_paw")
    bent = ours.state(joints={"spine_side": 0.4, "spine_arch": 0.3, "rear_left_leg": 0.5})
    goal = fc.link_pose(ours, bent, "rear_left_paw")[:3, 3]
    q = pin.neutral(theirs)
    rounds, error = 0, np.inf
    while np.linalg.norm(error) > 1e-6 and rounds < 1000:
        pin.framesForwardKinematics(theirs, data, q)
        error, rounds = goal - data.oMf[frame].translation, rounds + 1
        J = pin.computeFrameJacobian(theirs, data, q, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
        q = pin.integrate(theirs, q, J.T @ np.linalg.solve(J @ J.T + 1e-8 * np.eye(3), error))
    task = fc.control.PositionTask("rear_left_paw", goal)
    found = fc.control.inverse_kinematics(ours, [task])
    return {"IK, Pinocchio": f"{np.linalg.norm(error):.0e} m after {rounds} rounds",
            "IK, fallingcat": f"{found.error:.0e} m, {found.status}"}  # fmt: skip


def times(calls: int = 2000) -> dict[str, str]:
    """Microseconds of forward dynamics, one call from Python."""
    theirs, ours = pin.buildModelFromUrdf(str(URDF), pin.JointModelFreeFlyer()), fc.load(URDF)
    data, kernel = theirs.createData(), fc.compile(ours, fc.forward_dynamics)
    q, v = ours.flatten(ours.random_state(np.random.default_rng(0)))
    q_pin, v_pin = fc.exchange.pinocchio(ours, theirs).to(q, v)
    tau = np.zeros(ours.nv)
    pair = (lambda: pin.aba(theirs, data, q_pin, v_pin, tau)), (lambda: kernel(q, v, tau))
    return {f"aba, {name}": f"{1e6 * min(timeit.repeat(f, number=calls)) / calls:.2f} us"
            for name, f in zip(("Pinocchio", "fallingcat"), pair, strict=True)}  # fmt: skip


if __name__ == "__main__":
    for what, numbers in (algorithms() | inverse_kinematics() | times()).items():
        print(f"{what:26} {numbers}")
