"""Force laws, to be put side by side; tasks and what brings them about."""

import importlib
import warnings
from typing import Any

from .accelerations import Accelerations, accelerations
from .actuators import Actuators, actuated
from .allocation import ExternalLaw, InternalLaw, Response, on_external, response
from .between import PointActuator, PointSpring, wrench_between
from .collisions import CollisionLimit
from .external import ExternalWrench, Push
from .floating import (
    FloatingInverse,
    Prioritised,
    Support,
    VirtualModel,
    floating_inverse_dynamics,
    support_dynamics,
)
from .joint_space import Gains, Impedance, InverseDynamics, gains
from .law import Law
from .limits import JointLimits, Limit, RateLimits, SpeedLimit
from .motions import Cycles
from .output_feedback import ErrorState, OutputFeedback, PoseSensor
from .passive import DriveLimits, DryFriction, JointStops, PassiveDamping, PassiveSprings, passive
from .priorities import Velocities, velocities
from .reached import Reached
from .reaching import InverseKinematics, inverse_kinematics
from .sampled import Sampled
from .self_contact import SelfContact
from .servo import PositionServo
from .springs import JointDamper, JointSpring
from .stance import Stance
from .task_space import OperationalSpace, TaskDynamics, task_dynamics
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
from .torque_law import TorqueLaw
from .whole_body import Torques, WholeBody, WholeBodyLoop, torques
from .whole_body_problem import TorqueLimits

__all__ = [
    "Accelerations",
    "Actuators",
    "BaseTask",
    "CenterOfMassTask",
    "CentroidalMomentumTask",
    "CollisionLimit",
    "Cycles",
    "Demand",
    "DriveLimits",
    "DryFriction",
    "ErrorState",
    "ExternalLaw",
    "ExternalWrench",
    "FloatingInverse",
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
    "Prioritised",
    "Push",
    "RateLimits",
    "Reached",
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
    "Torques",
    "Velocities",
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
