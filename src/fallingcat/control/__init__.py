"""Force laws, to be put side by side; tasks and what brings them about."""

from .actuators import Actuators, actuated
from .hopping import (
    EnergyController,
    Leg,
    LockedPolarSpring,
    PolarLaw,
    PolarSpring,
    RadialDamper,
    RadialSpring,
    virtual_leg,
)
from .joint_space import Gains, Impedance, InverseDynamics, gains
from .law import Law
from .limits import JointLimits, Limit, RateLimits, SpeedLimit
from .output_feedback import ErrorState, OutputFeedback, PoseSensor
from .passive import DriveLimits, DryFriction, JointStops, PassiveDamping, PassiveSprings, passive
from .priorities import Velocities, velocities
from .reaching import InverseKinematics, Reached, inverse_kinematics
from .sampled import Sampled
from .springs import JointDamper, JointSpring
from .tasks import (
    BaseTask,
    CenterOfMassTask,
    CentroidalMomentumTask,
    Demand,
    JointsTask,
    PointTask,
    PoseTask,
    PositionTask,
    RelativeTask,
    RotationTask,
    Task,
)
from .torque_law import TorqueLaw

__all__ = [
    "Actuators",
    "BaseTask",
    "CenterOfMassTask",
    "CentroidalMomentumTask",
    "Demand",
    "DriveLimits",
    "DryFriction",
    "EnergyController",
    "ErrorState",
    "Gains",
    "Impedance",
    "InverseDynamics",
    "InverseKinematics",
    "JointDamper",
    "JointLimits",
    "JointSpring",
    "JointStops",
    "JointsTask",
    "Law",
    "Leg",
    "Limit",
    "LockedPolarSpring",
    "OutputFeedback",
    "PassiveDamping",
    "PassiveSprings",
    "PointTask",
    "PolarLaw",
    "PolarSpring",
    "PoseSensor",
    "PoseTask",
    "PositionTask",
    "RadialDamper",
    "RadialSpring",
    "RateLimits",
    "Reached",
    "RelativeTask",
    "RotationTask",
    "Sampled",
    "SpeedLimit",
    "Task",
    "TorqueLaw",
    "Velocities",
    "actuated",
    "gains",
    "inverse_kinematics",
    "passive",
    "velocities",
    "virtual_leg",
]
