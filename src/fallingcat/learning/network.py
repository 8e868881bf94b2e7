"""Networks of the learner in Torch, and functions recorded as CUDA graphs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

try:
    import torch
except ImportError:  # the learner says so when it is made
    torch: Any = None  # type: ignore[no-redef]


class Network:
    """Two multilayer perceptrons, for actions and values, whose parameters are one vector.

    Args:
        sizes: Numbers of an observation, of the hidden layers, of an action.
        device: Device of Torch.
    """

    def __init__(self, sizes: tuple[int, ...], device: Any) -> None:
        *inner, actions = sizes
        self.actions, self.device = actions, device
        self.policy, self.value = _shapes([*inner, actions]), _shapes([*inner, 1])
        self.size = sum(a * b + b for a, b in (*self.policy, *self.value)) + actions

    def first(self, generator: Any, deviation: float) -> Any:
        """Parameters to begin with: orthogonal matrices, a small one for the first actions, and no first values."""
        parts = []
        for shapes, last in ((self.policy, 0.01), (self.value, 0.0)):
            for k, (a, b) in enumerate(shapes):
                matrix = torch.randn(max(a, b), min(a, b), generator=generator, dtype=torch.float64)
                q, r = torch.linalg.qr(matrix)
                q = q * torch.sign(torch.diagonal(r))
                gain = last if k == len(shapes) - 1 else 2.0**0.5
                parts += [gain * (q if q.shape == (b, a) else q.T).reshape(-1), torch.zeros(b, dtype=torch.float64)]
        parts.append(torch.full((self.actions,), float(np.log(deviation)), dtype=torch.float64))
        return torch.cat(parts).to(self.device, torch.float32)

    def layers(self, theta: Any) -> tuple[list[Any], list[Any], Any]:
        """Matrices and offsets of policy and value, and the logarithms of the deviations: views of the parameters."""
        found: list[list[Any]] = []
        at = 0
        for shapes in (self.policy, self.value):
            found.append([])
            for a, b in shapes:
                found[-1].append((theta[at : at + a * b].view(b, a), theta[at + a * b : at + a * b + b]))
                at += a * b + b
        return found[0], found[1], theta[at:]


def _shapes(sizes: list[int]) -> list[tuple[int, int]]:
    return list(pairwise(sizes))


def perceptron(layers: list[Any], x: Any) -> Any:
    """Output of a multilayer perceptron with exponential linear units."""
    for k, (W, b) in enumerate(layers):
        x = torch.nn.functional.linear(x, W, b)
        x = x if k == len(layers) - 1 else torch.nn.functional.elu(x)
    return x


class Recorded:
    """Function of tensors on a GPU as a CUDA graph: its launches are recorded once, and replayed by every call.

    Args:
        function: Function that returns a list of tensors.
        given: Arguments, whose shapes calls must have.
    """

    def __init__(self, function: Any, given: Any) -> None:
        self._given = [x.clone() for x in given]
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(2):  # libraries choose their ways in the first calls
                function(*self._given)
        torch.cuda.current_stream().wait_stream(beside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._found = function(*self._given)

    def __call__(self, given: Any) -> Any:
        """Results; the next call overwrites them."""
        for own, x in zip(self._given, given, strict=True):
            own.copy_(x)
        self._graph.replay()
        return self._found
