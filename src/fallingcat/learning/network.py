"""Networks of the learner in Torch, and functions recorded as CUDA graphs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import ModelError

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

    def initial_parameters(self, generator: Any, deviation: float) -> Any:
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


class Adam:
    """Steps of Adam [Kingma], whose state stays on the device.

    Args:
        theta: Parameters.
    """

    def __init__(self, theta: Any) -> None:
        self.arrays = [torch.zeros_like(theta), torch.zeros_like(theta), torch.zeros((), device=theta.device)]

    def step(self, theta: Any, gradient: Any, rate: Any) -> Any:
        """Parameters after a step."""
        mean, square, count = self.arrays
        mean, square, count = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient * gradient, count + 1.0
        self.arrays = [mean, square, count]
        size, spread = rate / (1.0 - 0.9**count), (square / (1.0 - 0.999**count)).sqrt()
        return theta - size * mean / (spread + 1e-8)


class RecordedLoop:
    """Loop body on a GPU as a CUDA graph: its launches are recorded once, and replayed by every call.

    What the body changes from call to call are the arrays that ``get`` lists; other arrays it may change in place.

    Args:
        body: Function without arguments, which was called before: libraries choose their ways in the first calls.
        get: Function that lists the tensors from which the next call goes on.
        put: Function that takes such a list.
        generators: Random generators of the body.
    """

    def __init__(self, body: Any, get: Any, put: Any, generators: Any) -> None:
        import cupy

        self._get_arrays, self._set_arrays, self._arrays = get, put, [x.clone() for x in get()]
        put(self._arrays)
        self._graph, beside = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        for generator in generators:
            self._graph.register_generator_state(generator)
        memory = cupy.cuda.PythonFunctionAllocator(
            lambda size, device: torch.cuda.caching_allocator_alloc(size, device, beside.cuda_stream),
            lambda pointer, device: torch.cuda.caching_allocator_delete(pointer),
        )  # of the graph, which nobody else is given while it lives
        try:
            self._result = self._record(body, beside, memory.malloc)
        except RuntimeError as error:
            reason = f"a round cannot be recorded, for a function of the task waits for the GPU ({error})"
            raise ModelError(f"{reason}: take Settings(graph=False)") from error
        put(self._arrays)

    def _record(self, body: Any, stream: Any, malloc: Any) -> Any:
        import cupy

        with (
            torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"),
            cupy.cuda.ExternalStream(stream.cuda_stream),
            cupy.cuda.using_allocator(malloc),
        ):
            found = body()
            for own, x in zip(self._arrays, self._get_arrays(), strict=True):
                own.copy_(x)
        return found

    def __call__(self) -> Any:
        """Results of the body; the next call overwrites them."""
        for own, x in zip(self._arrays, self._get_arrays(), strict=True):
            if x.data_ptr() != own.data_ptr():
                own.copy_(x)
        self._graph.replay()
        self._set_arrays(self._arrays)
        return self._result
