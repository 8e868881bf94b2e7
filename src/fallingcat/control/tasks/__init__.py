"""Tasks: goals, feed-forward motion and weights of quantities to be controlled."""

from .base_pose import BaseTask
from .center_of_mass import CenterOfMassTask, CentroidalMomentumTask
from .contact_forces import ForceTask, WrenchTask
from .demand import Demand, Motion
from .frames import PointTask, PoseTask, PositionTask, RotationTask
from .joints import JointsTask
from .relative import RelativeTask
from .task import Task

__all__ = [
    "BaseTask",
    "CenterOfMassTask",
    "CentroidalMomentumTask",
    "Demand",
    "ForceTask",
    "JointsTask",
    "Motion",
    "PointTask",
    "PoseTask",
    "PositionTask",
    "RelativeTask",
    "RotationTask",
    "Task",
    "WrenchTask",
]
