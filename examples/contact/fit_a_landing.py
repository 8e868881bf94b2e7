"""Fit the friction of the ground and the damping of a knee to a recorded landing.

A hopper falls on its foot, slides and comes to rest.  The record is its motion; the gradient of the squared difference
to it, by friction and damping, goes through 150 steps with contact (adjoint mode).

Run: python examples/contact/fit_a_landing.py
"""

import numpy as np
from scipy.optimize import minimize

import fallingcat as fc

DT, STEPS = 2e-3, 150
TRUE = {"friction": 0.35, "joint dampers.damping": 0.06}
GUESS = {"friction": 0.7, "joint dampers.damping": 0.02}


def distance(model, state, forces, data):
    """Squared difference to the recorded position and knee angle."""
    here = np.concatenate([state.pose[:2, 3], state.joints])
    return 1e3 * ((here - data) @ (here - data))


def main() -> dict[str, float]:
    """Fit both numbers, and print them beside those of the record."""
    hopper = fc.robots.revolute_hopper()
    floor = fc.contact.CompliantFloor(("foot",), (2e4, 2e4), (60.0, 60.0), friction=0.5)
    laws = [fc.control.JointSpring(3.0), fc.control.JointDamper(0.05)]
    derivatives = fc.simulation.step_derivatives(hopper, laws, floor, dt=DT, inputs=tuple(TRUE))
    pose = np.eye(4)
    pose[:2, 3] = 0.0, 0.15
    start = hopper.state(pose=pose, joints=[-0.4], twist=[0.4, -0.5, 0.0])

    def run(numbers, record=None):
        inputs = dict(zip(TRUE, numbers, strict=True))
        cost = distance if record is not None else (lambda model, state, forces, data: 0.0 * state.joints[0])
        return fc.simulation.gradient(derivatives, start, cost, steps=STEPS, inputs=inputs, data=record)

    states = run(TRUE.values()).states
    record = np.hstack([states.pose[:, :2, 3], states.joints])

    def objective(numbers):
        found = run(numbers, record)
        return found.cost, np.concatenate(list(found.inputs.values()))

    fit = minimize(
        objective,
        list(GUESS.values()),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.05, 2.0), (0.0, 1.0)],
        options={"ftol": 1e-14, "gtol": 1e-10},
    )
    for name, number, true in zip(TRUE, fit.x, TRUE.values(), strict=True):
        print(f"{name:24} {number:.6f}   (record: {true})")
    print(f"{fit.nfev} runs with gradients, squared difference {fit.fun:.1e}")
    return dict(zip(TRUE, fit.x.tolist(), strict=True))


if __name__ == "__main__":
    main()
