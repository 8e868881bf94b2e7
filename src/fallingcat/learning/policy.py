"""Policies: multilayer perceptrons from observations to actions."""
from __future__ import annotations
from typing import Any
import numpy as np

class Policy:
    def __init__(self, layers, about): self.layers, self.about = layers, about
    @classmethod
    def of(cls, task: Any, layers: Any) -> Any:
        return cls(layers, {})
