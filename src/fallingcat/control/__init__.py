"""Control: force laws, tasks and limits, inverse kinematics, whole-body control."""

from .._deprecated import former_names
from .inverse_kinematics.differential import DifferentialIKResult, velocities
from .inverse_kinematics.result import InverseKinematicsResult
from .inverse_kinematics.solver import InverseKinematics, inverse_kinematics
from .laws.actuators import Actuators, actuator_controller
from .laws.base import Law
from .laws.compliant_stops import JointStops
from .laws.drive_limits import DriveLimits
from .laws.external_wrench import ExternalWrench, Push
from .laws.force_elements import ForceElements
from .laws.internal_external import ExternalLaw, InternalLaw, Response, external_forces, response
from .laws.joint_space import Gains, Impedance, InverseDynamics, gains
from .laws.output_feedback import ErrorState, OutputFeedback, PoseSensor
from .laws.passive_joints import DryFriction, PassiveDamping, PassiveSprings, passive
from .laws.point_forces import PointActuator, PointSpring, wrench_between
from .laws.reference_motions import PeriodicReference
from .laws.sampled import SampledController
from .laws.self_contact import SelfContact
from .laws.servo import PositionServo
from .laws.springs import JointDamper, JointSpring
from .laws.support_consistent import PrioritizedControl
from .laws.support_dynamics import FloatingInverseDynamics, Support, floating_inverse_dynamics, support_dynamics
from .laws.task_space import OperationalSpace, TaskDynamics, task_dynamics
from .laws.tendons import TendonDamping, TendonFriction, TendonLimits, TendonSprings, tendon_lengths
from .laws.torque_law import TorqueLaw
from .laws.virtual_model import VirtualModel
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
from .whole_body.controller import WholeBody, torques
from .whole_body.loop import LevelStatus, WholeBodyLoop, WholeBodyResult
from .whole_body.problem import TorqueLimits
from .whole_body.stance import Stance

__all__ = [
    "AccelerationResult",
    "Actuators",
    "BaseTask",
    "CenterOfMassTask",
    "CentroidalMomentumTask",
    "CollisionLimit",
    "Demand",
    "DifferentialIKResult",
    "DriveLimits",
    "DryFriction",
    "ErrorState",
    "ExternalLaw",
    "ExternalWrench",
    "FloatingInverseDynamics",
    "ForceElements",
    "ForceTask",
    "Gains",
    "Impedance",
    "InternalLaw",
    "InverseDynamics",
    "InverseKinematics",
    "InverseKinematicsResult",
    "JointDamper",
    "JointLimits",
    "JointSpring",
    "JointStops",
    "JointsTask",
    "Law",
    "LevelStatus",
    "Limit",
    "OperationalSpace",
    "OutputFeedback",
    "PassiveDamping",
    "PassiveSprings",
    "PeriodicReference",
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
    "RelativeTask",
    "Response",
    "RotationTask",
    "SampledController",
    "SelfContact",
    "SpeedLimit",
    "Stance",
    "Support",
    "Task",
    "TaskDynamics",
    "TendonDamping",
    "TendonFriction",
    "TendonLimits",
    "TendonSprings",
    "TorqueLaw",
    "TorqueLimits",
    "VirtualModel",
    "WholeBody",
    "WholeBodyLoop",
    "WholeBodyResult",
    "WrenchTask",
    "accelerations",
    "actuator_controller",
    "external_forces",
    "floating_inverse_dynamics",
    "gains",
    "inverse_kinematics",
    "passive",
    "response",
    "support_dynamics",
    "task_dynamics",
    "tendon_lengths",
    "torques",
    "velocities",
    "wrench_between",
]

__getattr__ = former_names(__name__)
