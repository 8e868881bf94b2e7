"""Force laws, to be put side by side; tasks and what brings them about."""

import importlib
import warnings
from typing import Any

from .inverse_kinematics.differential import DifferentialIKResult, velocities
from .inverse_kinematics.result import InverseKinematicsResult
from .inverse_kinematics.solver import InverseKinematics, inverse_kinematics
from .laws.actuators import Actuators, actuated
from .laws.base import Law
from .laws.external_wrench import ExternalWrench, Push
from .laws.internal_external import ExternalLaw, InternalLaw, Response, on_external, response
from .laws.joint_space import Gains, Impedance, InverseDynamics, gains
from .laws.output_feedback import ErrorState, OutputFeedback, PoseSensor
from .laws.passive_joints import DriveLimits, DryFriction, JointStops, PassiveDamping, PassiveSprings, passive
from .laws.point_forces import PointActuator, PointSpring, wrench_between
from .laws.reference_motions import PeriodicReference
from .laws.sampled import Sampled
from .laws.self_contact import SelfContact
from .laws.servo import PositionServo
from .laws.springs import JointDamper, JointSpring
from .laws.support_consistent import (
    FloatingInverseDynamics,
    PrioritizedControl,
    Support,
    VirtualModel,
    floating_inverse_dynamics,
    support_dynamics,
)
from .laws.task_space import OperationalSpace, TaskDynamics, task_dynamics
from .laws.torque_law import TorqueLaw
from .limits.collision_limit import CollisionLimit
from .limits.joint_limits import JointLimits, Limit, RateLimits, SpeedLimit
from .tasks import (
    BaseTask,
    CenterOfMassTask,
    CentroidalMomentumTask,
    Demand,
    ForceTask,
    JointsTask,
    PointTask,
    PoseTask,
    PositionTask,
    RelativeTask,
    RotationTask,
    Task,
    WrenchTask,
)
from .whole_body.accelerations import AccelerationResult, accelerations
from .whole_body.controller import WholeBody, WholeBodyLoop, WholeBodyResult, torques
from .whole_body.problem import TorqueLimits
from .whole_body.stance import Stance

__all__ = [
    "AccelerationResult",
    "Actuators",
    "BaseTask",
    "CenterOfMassTask",
    "CentroidalMomentumTask",
    "CollisionLimit",
    "PeriodicReference",
    "Demand",
    "DriveLimits",
    "DryFriction",
    "ErrorState",
    "ExternalLaw",
    "ExternalWrench",
    "FloatingInverseDynamics",
    "ForceTask",
    "Gains",
    "Impedance",
    "InternalLaw",
    "InverseDynamics",
    "InverseKinematics",
    "JointDamper",
    "JointLimits",
    "JointSpring",
    "JointStops",
    "JointsTask",
    "Law",
    "Limit",
    "OperationalSpace",
    "OutputFeedback",
    "PassiveDamping",
    "PassiveSprings",
    "PointActuator",
    "PointSpring",
    "PointTask",
    "PoseSensor",
    "PoseTask",
    "PositionServo",
    "PositionTask",
    "PrioritizedControl",
    "Push",
    "RateLimits",
    "InverseKinematicsResult",
    "RelativeTask",
    "Response",
    "RotationTask",
    "Sampled",
    "SelfContact",
    "SpeedLimit",
    "Stance",
    "Support",
    "Task",
    "TaskDynamics",
    "TorqueLaw",
    "TorqueLimits",
    "WholeBodyResult",
    "DifferentialIKResult",
    "VirtualModel",
    "WholeBody",
    "WholeBodyLoop",
    "WrenchTask",
    "accelerations",
    "actuated",
    "floating_inverse_dynamics",
    "gains",
    "inverse_kinematics",
    "on_external",
    "passive",
    "response",
    "support_dynamics",
    "task_dynamics",
    "torques",
    "velocities",
    "wrench_between",
]

_MOVED = dict.fromkeys(
    (
        "EnergyController", "ExternalPolarSpring", "Leg", "LockedPolarSpring", "PolarLaw", "PolarSpring",
        "RadialDamper", "RadialSpring", "virtual_leg",
    ),
    "fallingcat.studies.hoppers",
)  # fmt: skip
"""Old name: the package that has it now."""


def __getattr__(name: str) -> Any:
    """Names that moved keep working for one release, with a warning that says where they are."""
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is {_MOVED[name]}.{name} now", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(_MOVED[name]), name)
