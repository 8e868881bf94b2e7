"""crocoddyl's side of ``benchmarks/optimal.py``: solo12, 20 nodes, four contacts; prints JSON.

Run by an interpreter that has crocoddyl 3.2.1, pin 4.0.0 (with 4.1.0 it crashes) and example-robot-data.
"""

import json
import time

import crocoddyl
import example_robot_data
import numpy as np
import pinocchio as pin
from optimal_case import CONTROL_WEIGHT, DAMPING, DT, FEET, NODES, REPEATS, SHIFT, STATE_WEIGHTS


def problem(robot):
    state = crocoddyl.StateMultibody(robot.model)
    actuation = crocoddyl.ActuationModelFloatingBase(state)
    start = np.concatenate([robot.q0, np.zeros(robot.model.nv)])
    goal = start.copy()
    goal[:3] += SHIFT

    def action(last):
        contacts = crocoddyl.ContactModelMultiple(state, actuation.nu)
        for foot in FEET:
            about = (state, robot.model.getFrameId(foot), np.zeros(3), pin.LOCAL, actuation.nu)
            contacts.addContact(foot, crocoddyl.ContactModel3D(*about, np.array([0.0, DAMPING])))
        costs = crocoddyl.CostModelSum(state, actuation.nu)
        weights = crocoddyl.ActivationModelWeightedQuad(np.array(STATE_WEIGHTS))
        residual = crocoddyl.ResidualModelState(state, goal, actuation.nu)
        costs.addCost("state", crocoddyl.CostModelResidual(state, weights, residual), 1.0)
        if not last:
            control = crocoddyl.ResidualModelControl(state, actuation.nu)
            costs.addCost("control", crocoddyl.CostModelResidual(state, control), CONTROL_WEIGHT)
        motion = crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)
        return crocoddyl.IntegratedActionModelEuler(motion, 0.0 if last else DT)

    made = crocoddyl.ShootingProblem(start, [action(False) for _ in range(NODES)], action(True))
    made.nthreads = 1
    return made


def timed(function, count):
    function()
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        for _ in range(count):
            function()
        times.append((time.process_time() - began) / count)
    return 1e3 * float(np.median(times))


def main():
    robot = example_robot_data.load("solo12")
    made = problem(robot)
    still = [np.zeros(made.runningModels[0].nu)] * NODES
    path = made.rollout(still)
    solver = crocoddyl.SolverFDDP(made)
    solver.th_stop = 1e-16
    solver.solve(path, still, 100, False)
    out = {"cost": solver.cost, "forces": np.array(solver.us).tolist(), "joints": list(robot.model.names)[2:]}
    out |= {"urdf": robot.urdf, "start": robot.q0.tolist()}
    out["calc_ms"] = timed(lambda: made.calc(solver.xs, solver.us), 20)
    out["derivatives_ms"] = timed(lambda: made.calcDiff(solver.xs, solver.us), 20)
    out["backward_ms"] = timed(solver.backwardPass, 20)
    other = crocoddyl.SolverFDDP(made)
    out["iteration_ms"] = timed(lambda: other.solve(path, still, 1, False), 20)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
