"""Learning: environments on the device, tasks, a learner, policies."""

from typing import TYPE_CHECKING, Any

from .controlled_gait import SteadyGait, steady_gait
from .environment import Environment, StepResult
from .evaluation import Evaluation, evaluate
from .policy import Policy
from .ppo import Learner
from .push_basin import PushBasin, PushedRobots, Pushes, PushGrid
from .rsl_rl_view import RslRlView
from .settings import Settings
from .task import Randomization, Snapshot, Task
from .training import Training, learn
from .walk import Walk

if TYPE_CHECKING:
    from .gymnasium_view import GymnasiumView

__all__ = [
    "Environment",
    "Evaluation",
    "GymnasiumView",
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
    "steady_gait",
]


def __getattr__(name: str) -> Any:
    if name == "GymnasiumView":  # which needs Gymnasium
        from .gymnasium_view import GymnasiumView

        return GymnasiumView
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
