"""An arm and a quadruped on three feet, with the symbols of [ETH] chapter 3."""

import numpy as np
from printed_robots import case

import fallingcat as fc
from fallingcat import control
from fallingcat.lie import Trivial

rng = np.random.default_rng(11)

FIXED = case(2, 4, Trivial())
ARM, AT, N = FIXED.model, FIXED.state, FIXED.model.n
M, G = fc.mass_matrix(ARM, AT), fc.gravity_forces(ARM, AT)
B = fc.bias_forces(ARM, AT) - G
HAND = FIXED.link
J = fc.jacobian(ARM, AT, HAND, "mixed")
ACCELERATION = FIXED.acceleration

DOG = fc.robots.quadruped()
FEET = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
BENT = DOG.random_state(rng)._replace(joints=np.tile([0.1, 0.6, -1.2], 4) + 0.2 * rng.normal(size=12))
J_C = control.support_dynamics(DOG, BENT, FEET[:3]).J
HELD = BENT.velocity - np.linalg.pinv(J_C) @ J_C @ BENT.velocity
STAND = BENT._replace(twist=HELD[:6], rates=HELD[6:])
SUPPORT = control.support_dynamics(DOG, STAND, FEET[:3])
BIAS = SUPPORT.bias
M_D, G_D = fc.mass_matrix(DOG, STAND), fc.gravity_forces(DOG, STAND)
B_D = fc.bias_forces(DOG, STAND) - G_D
S = DOG.actuation
LAMBDA = np.linalg.inv(J_C @ np.linalg.solve(M_D, J_C.T))
N_C = np.eye(18) - np.linalg.solve(M_D, J_C.T @ LAMBDA @ J_C)
