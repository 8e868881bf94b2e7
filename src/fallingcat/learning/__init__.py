"""Learning: environments on the device, tasks, a learner, policies."""

from .environment import Environment, StepResult
from .task import Randomization, Snapshot, Task
from .walk import Walk

__all__ = ["Environment", "Randomization", "Snapshot", "StepResult", "Task", "Walk"]
