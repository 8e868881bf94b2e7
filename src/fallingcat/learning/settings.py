"""Numbers of the learner."""

from __future__ import annotations

from dataclasses import dataclass

from ..records import concise


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
