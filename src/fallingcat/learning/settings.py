"""Numbers of the learner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..dynamics.checks import positive
from ..errors import ModelError, describe
from ..records import concise

COUNTS = ("steps", "epochs", "batches")
MAX_COUNT = 1_000_000
"""Largest layer, and largest number of steps, passes and parts"""


@concise
@dataclass(frozen=True)
class Settings:
    """Numbers of the learner.

    Example:
        >>> Settings(hidden=(64, 64)).epochs
        4
    """

    hidden: tuple[int, ...] = (256, 128)
    """sizes of the hidden layers of policy and value"""
    steps: int = 24
    """actions of each robot in a round"""
    epochs: int = 4
    """passes over the data of a round"""
    batches: int = 4
    """parts of the data in a pass"""
    discount: float = 0.97
    """weight of the next reward: rewards of about ``1 / (1 - discount)`` actions count"""
    trace: float = 0.95
    """lambda of the advantages [Schulman]"""
    clip: float = 0.2
    """largest relative change of the probability of an action"""
    entropy: float = 0.0
    """weight of the entropy of the policy"""
    rate: float = 1e-3
    """first learning rate"""
    divergence: float = 0.01
    """divergence of the policy in a step towards which the learning rate is steered"""
    gradient: float = 1.0
    """largest norm of a gradient"""
    deviation: float = 0.6
    """first standard deviation of actions"""
    graph: bool = True
    """on a GPU, rounds are recorded once as a CUDA graph and replayed: the host launches one thing for each"""

    def __post_init__(self) -> None:
        """Check the fields."""
        if not isinstance(self.hidden, (tuple, list)):
            raise ModelError(f"hidden of Settings must be sizes of layers, got {describe(self.hidden)}")
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for name, x in (("hidden", self.hidden), *((name, (getattr(self, name),)) for name in COUNTS)):
            if not all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) and 0 < k <= MAX_COUNT for k in x):
                raise ModelError(f"{name} of Settings must be whole from 1 to {MAX_COUNT:,}, got {describe(x)}")
        for name in ("clip", "rate", "divergence", "gradient", "deviation"):
            positive(getattr(self, name), f"{name} of Settings")
        for name in ("discount", "trace", "entropy"):
            if positive(getattr(self, name), f"{name} of Settings", zero=True) > 1.0:
                raise ModelError(f"{name} of Settings must be from 0 to 1, got {getattr(self, name)}")
        if not isinstance(self.graph, bool):
            raise ModelError(f"graph of Settings must be True or False, got {describe(self.graph)}")
