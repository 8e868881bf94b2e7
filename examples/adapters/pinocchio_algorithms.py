"""Pinocchio's algorithms on top of fallingcat.

Records stay Pinocchio's - ``Model``, ``Data``, ``SE3``, ``Motion`` - and so do the getters, which read ``Data``; what
fills ``Data`` is replaced.  ``install()`` does that to the imported ``pinocchio``; pytest does it with
``-p pinocchio_algorithms``, before tests are read.

Velocities of both libraries are body-fixed, so a vector or matrix only changes its order: ``x[order]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pinocchio as pin

import fallingcat as fc


class Twin:
    """A model of Pinocchio as one of ours, in a state."""

    def __init__(self, peer: Any, q: Any, v: Any = None) -> None:
        self.peer, self.model = peer, fc.from_pinocchio_model(peer)
        self.exchange = fc.exchange.pinocchio(self.model, peer)
        self.q, self.v = usable(peer, q), np.zeros(peer.nv) if v is None else np.ravel(v)
        self.state = self.model.unflatten(*self.exchange.from_(self.q, self.v))

    # order ----------------------------------------------------------------------------------------------------------

    def ours(self, x: Any) -> np.ndarray:
        """A velocity, an acceleration, a force in our order."""
        out = np.empty(self.model.nv)
        out[self.exchange.v_order] = np.ravel(x)
        return out

    def theirs(self, X: np.ndarray) -> np.ndarray:
        """A vector, or the columns of a matrix, in their order."""
        return X[..., self.exchange.v_order]

    def square(self, X: np.ndarray) -> np.ndarray:
        """Rows and columns in their order."""
        return X[np.ix_(self.exchange.v_order, self.exchange.v_order)]

    @cached_property
    def links(self) -> list[str | None]:
        """For each of their joints the link of ours that it carries; None for a universe that we have not."""
        carried = {joint.name: joint.child for joint in self.model.joints}
        top = self.model.links[0].name
        home = [carried.get(name, top) for name in self.peer.names]
        return [None if i == 0 and self.model.m else name for i, name in enumerate(home)]

    def wrenches(self, forces: Sequence[Any] | None) -> dict[str, np.ndarray] | None:
        """External forces, which they write in the frames of the joints; nothing moves the universe."""
        if forces is None:
            return None
        pairs = list(zip(self.links, forces, strict=True))[1:]
        return {link: np.array(force.vector) for link, force in pairs if link is not None}

    # what Data holds ------------------------------------------------------------------------------------------------

    def place(self, data: Any, a: Any = None) -> None:
        """Poses, velocities and accelerations of the joints."""
        poses = fc.forward_kinematics(self.model, self.state)
        acceleration = self.ours(np.zeros(self.peer.nv) if a is None else a)
        for i, link in enumerate(self.links):
            if link is None or i == 0:
                data.oMi[i], data.v[i], data.a[i] = pin.SE3.Identity(), pin.Motion.Zero(), pin.Motion.Zero()
                continue
            data.oMi[i] = pin.SE3(poses[link])
            data.v[i] = pin.Motion(fc.link_twist(self.model, self.state, link))
            data.a[i] = pin.Motion(fc.dynamics.link_acceleration(self.model, self.state, acceleration, link))

    def jacobians(self) -> np.ndarray:
        """``data.J`` (6 x nv): every joint's own columns, seen from the world."""
        return self._columns(lambda link: fc.jacobian(self.model, self.state, link, "inertial"))

    def jacobian_rates(self) -> np.ndarray:
        """``data.dJ`` (6 x nv)."""
        return self._columns(lambda link: fc.dynamics.jacobian_derivative(self.model, self.state, link, "inertial"))

    def _columns(self, jacobian: Any) -> np.ndarray:
        out = np.zeros((6, self.peer.nv))
        for i, link in enumerate(self.links):
            if i:
                columns = slice(self.peer.idx_vs[i], self.peer.idx_vs[i] + self.peer.nvs[i])
                out[:, columns] = self.theirs(jacobian(link))[:, columns]
        return out


def usable(model: Any, q: Any) -> np.ndarray:
    """Pinocchio takes quaternions and wheels of any length, zero too, and limits for configurations; we do not."""
    q = np.clip(np.nan_to_num(np.ravel(q)), -FARTHEST, FARTHEST)
    for joint in model.joints:
        size = ROUND.get(joint.shortname().removeprefix("JointModel").rstrip("XYZ"), 0)
        part = slice(joint.idx_q + joint.nq - size, joint.idx_q + joint.nq)
        length = np.linalg.norm(q[part]) if size else 1.0
        q[part] = np.eye(1, size, UNIT[size])[0] if not length else q[part] / length
    return q


FARTHEST = 1e9
ROUND = {"FreeFlyer": 4, "Spherical": 4, "Planar": 2, "RUB": 2, "RevoluteUnboundedUnaligned": 2}
"""How many of the last coordinates of a joint have length 1 together."""
UNIT = {0: 0, 2: 0, 4: 3}
"""Which of them is 1 where nothing is turned."""


# kinematics ---------------------------------------------------------------------------------------------------------


def forwardKinematics(model: Any, data: Any, q: Any, v: Any = None, a: Any = None) -> None:
    twin = Twin(model, q, v)
    twin.place(data, a)
    data.given = q, v, a


def framesForwardKinematics(model: Any, data: Any, q: Any) -> None:
    forwardKinematics(model, data, q)
    updateFramePlacements(model, data)


def updateFramePlacements(model: Any, data: Any) -> None:
    for i, frame in enumerate(model.frames):
        data.oMf[i] = data.oMi[frame.parentJoint] * frame.placement


def computeJointJacobians(model: Any, data: Any, q: Any = None) -> np.ndarray:
    twin = Twin(model, data.given[0] if q is None else q)
    if q is not None:
        forwardKinematics(model, data, q)
    data.J = twin.jacobians()
    return data.J.copy()


def computeJointJacobiansTimeVariation(model: Any, data: Any, q: Any, v: Any) -> np.ndarray:
    twin = Twin(model, q, v)
    forwardKinematics(model, data, q, v)
    data.J, data.dJ = twin.jacobians(), twin.jacobian_rates()
    return data.dJ.copy()


def computeJointJacobian(model: Any, data: Any, q: Any, joint: int) -> np.ndarray:
    twin = Twin(model, q)
    return twin.theirs(fc.jacobian(twin.model, twin.state, twin.links[joint]))


def computeFrameJacobian(
    model: Any, data: Any, q: Any, frame: int, reference: Any = pin.ReferenceFrame.LOCAL
) -> np.ndarray:
    computeJointJacobians(model, data, q)
    updateFramePlacements(model, data)
    return pin.getFrameJacobian(model, data, frame, reference)


def frameJacobianTimeVariation(model: Any, data: Any, q: Any, v: Any, frame: int, reference: Any) -> np.ndarray:
    computeJointJacobiansTimeVariation(model, data, q, v)
    updateFramePlacements(model, data)
    return pin.getFrameJacobianTimeVariation(model, data, frame, reference)


# center of mass, momentum -------------------------------------------------------------------------------------------


def centerOfMass(model: Any, data: Any, *given: Any) -> np.ndarray:
    """``centerOfMass(model, data, q[, v[, a]])``, or of what kinematics were given last."""
    vectors = [np.ravel(x) for x in given if np.ndim(x)]
    if vectors:
        forwardKinematics(model, data, *vectors)
    _centers(model, data)
    return np.array(data.com[0])


def _centers(model: Any, data: Any) -> None:
    """Of all subtrees, leaves first: ``sum m c / sum m`` in the world, then seen from the joint."""
    q, v, a = data.given
    twin = Twin(model, q, v)
    acceleration = twin.ours(np.zeros(model.nv) if a is None else a)
    sums = np.zeros((model.njoints, 3, 3))
    masses = [float(inertia.mass) for inertia in model.inertias]
    masses[0] = 0.0
    for i in range(1, model.njoints):
        frame = twin.model.frame(twin.links[i], pin.SE3(np.eye(3), model.inertias[i].lever).homogeneous)
        center = fc.link_pose(twin.model, twin.state, frame)[:3, 3]
        rate = fc.link_twist(twin.model, twin.state, frame, "mixed")[:3]
        bend = fc.dynamics.link_acceleration(twin.model, twin.state, acceleration, frame, "mixed")[:3]
        sums[i] = masses[i] * np.array([center, rate, bend])
    for i in range(model.njoints - 1, 0, -1):
        sums[model.parents[i]] += sums[i]
        masses[model.parents[i]] += masses[i]
    for i in range(model.njoints):
        R, p = data.oMi[i].rotation, data.oMi[i].translation
        c, rate, bend = sums[i] / max(masses[i], 1e-300)
        data.mass[i] = masses[i]
        data.com[i], data.vcom[i], data.acom[i] = R.T @ (c - p), R.T @ rate, R.T @ bend


def jacobianCenterOfMass(model: Any, data: Any, *given: Any) -> np.ndarray:
    vectors = [x for x in given if np.ndim(x)]
    if vectors:
        forwardKinematics(model, data, *vectors)
    twin = Twin(model, data.given[0])
    data.J = twin.jacobians()
    _centers(model, data)
    data.Jcom = twin.theirs(fc.center_of_mass_jacobian(twin.model, twin.state))
    return data.Jcom.copy()


def computeTotalMass(model: Any, data: Any = None) -> float:
    mass = fc.from_pinocchio_model(model).mass
    if data is not None:
        data.mass[0] = mass
    return mass


def computeCentroidalMap(model: Any, data: Any, q: Any) -> np.ndarray:
    twin = Twin(model, q)
    data.Ag = twin.theirs(fc.centroidal_momentum_matrix(twin.model, twin.state))
    return data.Ag.copy()


def computeCentroidalMomentum(model: Any, data: Any, q: Any, v: Any) -> Any:
    twin = Twin(model, q, v)
    data.hg = pin.Force(fc.momentum(twin.model, twin.state, "centroidal"))
    return data.hg


def computeCentroidalMomentumTimeVariation(model: Any, data: Any, q: Any, v: Any, a: Any) -> Any:
    twin = Twin(model, q, v)
    A = fc.centroidal_momentum_matrix(twin.model, twin.state)
    rate = fc.dynamics.centroidal_momentum_matrix_derivative(twin.model, twin.state)
    computeCentroidalMomentum(model, data, q, v)
    data.dhg = pin.Force(A @ twin.ours(a) + rate @ twin.state.velocity)
    return data.dhg


def computeCentroidalDynamicsDerivatives(model: Any, data: Any, q: Any, v: Any, a: Any) -> tuple[np.ndarray, ...]:
    twin = Twin(model, q, v)
    computeCentroidalMomentumTimeVariation(model, data, q, v, a)
    found = fc.dynamics.centroidal_dynamics_derivatives(twin.model, twin.state, twin.ours(a))
    return tuple(twin.theirs(x) for x in found)


def getCentroidalDynamicsDerivatives(model: Any, data: Any) -> tuple[np.ndarray, ...]:
    return computeCentroidalDynamicsDerivatives(model, data, *data.given)


def getCenterOfMassVelocityDerivatives(model: Any, data: Any) -> np.ndarray:
    q, v, _ = data.given
    twin = Twin(model, q, v)
    found = fc.dynamics.center_of_mass_derivatives(twin.model, twin.state, np.zeros(model.nv))
    return twin.theirs(found.velocity_by_configuration)


# dynamics -----------------------------------------------------------------------------------------------------------


def rnea(model: Any, data: Any, q: Any, v: Any, a: Any, forces: Any = None) -> np.ndarray:
    twin = Twin(model, q, v)
    wrenches = twin.wrenches(forces)
    data.tau = twin.theirs(fc.inverse_dynamics(twin.model, twin.state, twin.ours(a), wrenches))
    return data.tau.copy()


def nonLinearEffects(model: Any, data: Any, q: Any, v: Any) -> np.ndarray:
    twin = Twin(model, q, v)
    data.nle = twin.theirs(fc.bias_forces(twin.model, twin.state))
    return data.nle.copy()


def computeGeneralizedGravity(model: Any, data: Any, q: Any) -> np.ndarray:
    twin = Twin(model, q)
    data.g = twin.theirs(fc.gravity_forces(twin.model, twin.state))
    return data.g.copy()


def computeStaticTorque(model: Any, data: Any, q: Any, forces: Any) -> np.ndarray:
    still = np.zeros(model.nv)
    return rnea(model, data, q, still, still, forces)


def crba(model: Any, data: Any, q: Any, _convention: Any = None) -> np.ndarray:
    twin = Twin(model, q)
    data.M = twin.square(fc.mass_matrix(twin.model, twin.state))
    return data.M.copy()


def computeMinverse(model: Any, data: Any, q: Any) -> np.ndarray:
    if list(model.mimicking_joints):  # ours would have it, but who counts on the refusal gets it
        raise RuntimeError("Pinocchio has no inverse of a mass matrix with joints that mimic others")
    data.Minv = np.linalg.inv(crba(model, data, q))
    return data.Minv.copy()


def computeCoriolisMatrix(model: Any, data: Any, q: Any, v: Any) -> np.ndarray:
    twin = Twin(model, q, v)
    data.C = twin.square(fc.coriolis_matrix(twin.model, twin.state))
    return data.C.copy()


def aba(model: Any, data: Any, q: Any, v: Any, tau: Any, forces: Any = None, *_convention: Any) -> np.ndarray:
    twin = Twin(model, q, v)
    forces = forces if isinstance(forces, (list, pin.StdVec_Force)) else None
    found = fc.forward_dynamics(twin.model, twin.state, twin.ours(tau), twin.wrenches(forces))
    data.ddq = twin.theirs(found)
    return data.ddq.copy()


def computeAllTerms(model: Any, data: Any, q: Any, v: Any) -> None:
    crba(model, data, q)
    nonLinearEffects(model, data, q, v)
    computeJointJacobiansTimeVariation(model, data, q, v)
    jacobianCenterOfMass(model, data, q)
    computeCentroidalMomentum(model, data, q, v)
    forwardKinematics(model, data, q, v)


def computeKineticEnergy(model: Any, data: Any, q: Any, v: Any) -> float:
    twin = Twin(model, q, v)
    data.kinetic_energy = float(fc.kinetic_energy(twin.model, twin.state))
    return data.kinetic_energy


def computePotentialEnergy(model: Any, data: Any, q: Any) -> float:
    twin = Twin(model, q)
    data.potential_energy = float(fc.potential_energy(twin.model, twin.state))
    return data.potential_energy


# derivatives --------------------------------------------------------------------------------------------------------


def computeRNEADerivatives(model: Any, data: Any, q: Any, v: Any, a: Any, forces: Any = None) -> tuple[np.ndarray, ...]:
    twin = Twin(model, q, v)
    found = fc.inverse_dynamics_derivatives(twin.model, twin.state, twin.ours(a), twin.wrenches(forces))
    rnea(model, data, q, v, a, forces)
    data.given = q, v, a
    data.dtau_dq, data.dtau_dv = twin.square(found.configuration), twin.square(found.velocity)
    data.M = crba(model, data, q)
    return data.dtau_dq.copy(), data.dtau_dv.copy(), data.M.copy()


def computeGeneralizedGravityDerivatives(model: Any, data: Any, q: Any) -> np.ndarray:
    still = np.zeros(model.nv)
    return computeRNEADerivatives(model, data, q, still, still)[0]


def computeStaticTorqueDerivatives(model: Any, data: Any, q: Any, forces: Any) -> np.ndarray:
    still = np.zeros(model.nv)
    return computeRNEADerivatives(model, data, q, still, still, forces)[0]


def computeABADerivatives(
    model: Any, data: Any, q: Any, v: Any, tau: Any, forces: Any = None
) -> tuple[np.ndarray, ...]:
    twin = Twin(model, q, v)
    found = fc.forward_dynamics_derivatives(twin.model, twin.state, twin.ours(tau), twin.wrenches(forces))
    aba(model, data, q, v, tau, forces)
    data.ddq_dq, data.ddq_dv = twin.square(found.configuration), twin.square(found.velocity)
    data.Minv = twin.square(found.forces)
    return data.ddq_dq.copy(), data.ddq_dv.copy(), data.Minv.copy()


# contacts -----------------------------------------------------------------------------------------------------------


def forwardDynamics(model: Any, data: Any, *given: Any) -> np.ndarray:
    """``M a + n = tau + J' f``, ``J a + gamma = 0``; with ``q, v`` in front, or after ``computeAllTerms``."""
    *state, tau, J, gamma = [x for x in given if np.ndim(x)]
    if state:
        computeAllTerms(model, data, *state)
    inverse = _kkt_inverse(data.M, J)
    data.kkt_inverse = inverse
    found = inverse @ np.concatenate([np.ravel(tau) - data.nle, -np.ravel(gamma)])
    data.ddq, data.lambda_c = found[: model.nv], -found[model.nv :]
    return data.ddq.copy()


def impulseDynamics(model: Any, data: Any, *given: Any) -> np.ndarray:
    """``M (v+ - v) = J' p``, ``J v+ = -r J v``; with ``q`` in front, or after ``crba``."""
    *q, v, J = [x for x in given if np.ndim(x)]
    numbers = [x for x in given if not np.ndim(x)]
    if q:
        crba(model, data, *q)
    restitution = float(numbers[0]) if numbers else 0.0
    found = _kkt_inverse(data.M, J) @ np.concatenate([data.M @ np.ravel(v), -restitution * J @ np.ravel(v)])
    data.dq_after = found[: model.nv]
    return data.dq_after.copy()


def computeKKTContactDynamicMatrixInverse(model: Any, data: Any, q: Any, J: Any, _damping: float = 0.0) -> np.ndarray:
    return _kkt_inverse(crba(model, data, q), J)


def getKKTContactDynamicMatrixInverse(model: Any, data: Any, J: Any) -> np.ndarray:
    return _kkt_inverse(data.M, J)


def _kkt_inverse(M: np.ndarray, J: np.ndarray) -> np.ndarray:
    rows = len(J)
    return np.linalg.inv(np.block([[M, J.T], [J, np.zeros((rows, rows))]]))


# configurations -----------------------------------------------------------------------------------------------------


def integrate(model: Any, q: Any, x: Any) -> np.ndarray:
    twin = Twin(model, q)
    moved = twin.exchange.to(twin.model.integrate(twin.exchange.from_(twin.q)[0], twin.ours(x)))[0]
    for joint in model.joints:
        if joint.shortname() in ("JointModelFreeFlyer", "JointModelSpherical"):  # of two quaternions the nearer one
            rotation = slice(joint.idx_q + joint.nq - 4, joint.idx_q + joint.nq)
            moved[rotation] *= np.copysign(1.0, moved[rotation] @ twin.q[rotation])
    return moved


def difference(model: Any, q: Any, p: Any) -> np.ndarray:
    here, there = Twin(model, q), Twin(model, p)
    return here.theirs(here.model.difference(here.exchange.from_(here.q)[0], there.exchange.from_(there.q)[0]))


def interpolate(model: Any, q: Any, p: Any, s: float) -> np.ndarray:
    return integrate(model, q, s * difference(model, q, p))


def distance(model: Any, q: Any, p: Any) -> float:
    return float(np.linalg.norm(difference(model, q, p)))


def isSameConfiguration(model: Any, q: Any, p: Any, tolerance: float = 1e-12) -> bool:
    return bool(np.abs(difference(model, q, p)).max(initial=0.0) <= tolerance)


def randomConfiguration(model: Any, lower: Any = None, upper: Any = None) -> np.ndarray:
    """Ours within the limits of the model, or within others."""
    limited = pin.Model(model)
    if lower is not None:
        limited.lowerPositionLimit, limited.upperPositionLimit = np.ravel(lower), np.ravel(upper)
    ours = fc.from_pinocchio_model(limited)
    rng = np.random.default_rng()
    return fc.exchange.pinocchio(ours, limited).to(ours.random(rng))[0]


ALGORITHMS = [name for name, x in list(globals().items()) if getattr(x, "__module__", "") == __name__]
ALGORITHMS = [name for name in ALGORITHMS if hasattr(pin, name)]


def install() -> None:
    """Replace Pinocchio's algorithms by those above."""
    for name in ALGORITHMS:
        setattr(pin, name, globals()[name])


def pytest_configure() -> None:
    """What pytest calls in a plugin."""
    install()
