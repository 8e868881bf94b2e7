"""Learning: environments on the device, tasks, a learner, policies."""

from typing import TYPE_CHECKING, Any

from .environment import Environment, StepResult
from .evaluation import Evaluation, evaluate
from .policy import Policy
from .task import Randomization, Snapshot, Task
from .training import Training, learn
from .walk import Walk

if TYPE_CHECKING:
    from .gymnasium_view import GymnasiumView
    from .ppo import Learner, Settings
    from .rsl_rl_view import RslRlView

__all__ = [
    "Environment",
    "Evaluation",
    "GymnasiumView",
    "Learner",
    "Policy",
    "Randomization",
    "RslRlView",
    "Settings",
    "Snapshot",
    "StepResult",
    "Task",
    "Training",
    "Walk",
    "evaluate",
    "learn",
]

_LATE = {"GymnasiumView": "gymnasium_view", "Learner": "ppo", "RslRlView": "rsl_rl_view", "Settings": "ppo"}
"""Names that need Torch or Gymnasium, with their modules."""


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LATE:
        return getattr(importlib.import_module(f".{_LATE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
