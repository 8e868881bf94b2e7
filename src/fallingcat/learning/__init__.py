"""Learning: environments on the device, tasks, a learner, policies."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .controlled_gait import SteadyGait, steady_gait
from .environment import Environment, StepResult
from .evaluation import Evaluation, evaluate
from .policy import Policy
from .ppo import Learner
from .push_basin import PushBasin, PushedRobots, Pushes, PushGrid
from .rendering import render
from .rsl_rl_view import RslRlView
from .settings import Settings
from .task import Randomization, Snapshot, Task
from .training import Training, learn
from .walk import Walk

if TYPE_CHECKING:
    from .brax_view import BraxState, BraxView
    from .gymnasium_view import GymnasiumView
    from .isaac_lab_view import IsaacLabView

_VIEWS = {
    "BraxState": "brax_view",
    "BraxView": "brax_view",
    "GymnasiumView": "gymnasium_view",
    "IsaacLabView": "isaac_lab_view",
}
"""Modules of views that need JAX or Gymnasium"""

__all__ = [
    "BraxState",
    "BraxView",
    "Environment",
    "Evaluation",
    "GymnasiumView",
    "IsaacLabView",
    "Learner",
    "Policy",
    "PushBasin",
    "PushGrid",
    "PushedRobots",
    "Pushes",
    "Randomization",
    "RslRlView",
    "Settings",
    "Snapshot",
    "SteadyGait",
    "StepResult",
    "Task",
    "Training",
    "Walk",
    "evaluate",
    "learn",
    "render",
    "steady_gait",
]


def __getattr__(name: str) -> Any:
    if name in _VIEWS:
        return getattr(import_module(f".{_VIEWS[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
