"""Tasks: goals, feed-forward motion and weights of quantities to be controlled."""

from .base import BaseTask
from .forces import ForceTask, WrenchTask
from .joints import JointsTask
from .mass import CenterOfMassTask, CentroidalMomentumTask
from .places import PointTask, PoseTask, PositionTask, RotationTask
from .relative import RelativeTask
from .task import Demand, Motion, Task

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
