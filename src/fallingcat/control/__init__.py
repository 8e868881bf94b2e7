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
from .law import Law
from .limits import JointLimits, Limit, RateLimits, SpeedLimit
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

__all__ = [
    "Actuators",
    "BaseTask",
    "CenterOfMassTask",
    "CentroidalMomentumTask",
    "Demand",
    "DriveLimits",
    "DryFriction",
    "EnergyController",
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
    "PassiveDamping",
    "PassiveSprings",
    "PointTask",
    "PolarLaw",
    "PolarSpring",
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
    "Velocities",
    "actuated",
    "inverse_kinematics",
    "passive",
    "velocities",
    "virtual_leg",
]
