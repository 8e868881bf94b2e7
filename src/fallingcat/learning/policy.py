"""Policies: multilayer perceptrons from observations to actions, in files without code, in ONNX and in C."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import concatenate, exp, less, where
from ..arrays.arguments import as_array, shape_of
from ..compiler import compile
from ..control import SampledController
from ..errors import ExtraMissingError, FileError, ModelError, describe
from ..io.archives import unpacked
from ..io.diagnostics import Reader, check_path
from ..io.files import read_bytes, write_bytes
from ..model import Model, State
from ..records import short_text
from ..visualization import Page
from .libraries import Library
from .task import Task, single_snapshot

FORMAT = "fallingcat policy 1"
"""Name and version of the file format."""
MAX_BYTES = 1 << 30
"""Largest file of a policy and its learner"""
Layer = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Policy:
    """Multilayer perceptron with exponential linear units, and the task for which it was learned.

    Args:
        layers: Matrix (out x in) and offset (out) of each layer.
        about: Numbers of the task, as plain data: see :meth:`.Task.about`.

    Example:
        >>> policy = Policy(((np.eye(2), np.ones(2)),), {})
        >>> policy(np.array([[1.0, 2.0]]))
        array([[2., 3.]])
    """

    layers: tuple[Layer, ...]
    about: Mapping[str, Any]

    def __post_init__(self) -> None:
        made: list[Layer] = []
        layers: Any = self.layers
        about: Any = self.about
        if not isinstance(layers, (tuple, list)) or not isinstance(about, Mapping):
            given = f"{describe(layers)} and {describe(about)}"
            raise ModelError(f"a policy takes layers (matrix, offset) and a mapping, not {given}")
        for k, pair in enumerate(self.layers):
            W, b = _layer(pair, k)
            if W.ndim != 2 or b.shape != W.shape[:1] or (made and made[-1][0].shape[0] != W.shape[1]):
                raise ModelError(f"layer {k} of a policy has shapes {W.shape} and {b.shape}, which do not fit")
            if not (np.isfinite(W).all() and np.isfinite(b).all()):
                raise ModelError(f"layer {k} of a policy must hold finite numbers")
            made.append((W, b))
        if not made:
            raise ModelError("a policy must have at least one layer")
        object.__setattr__(self, "layers", tuple(made))

    @classmethod
    def of(cls, task: Task, layers: Sequence[tuple[Any, Any]]) -> Policy:
        """Policy of a task.

        Args:
            task: Task.
            layers: Matrix and offset of each layer.

        Returns:
            Policy.
        """
        return cls(tuple((np.asarray(W), np.asarray(b)) for W, b in layers), task.about())

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of an observation, of the hidden layers, of an action."""
        return self.layers[0][0].shape[1], *(len(b) for _, b in self.layers)

    def __repr__(self) -> str:
        return f"<Policy {'-'.join(map(str, self.sizes))} of {short_text(self.about.get('robot', 'no robot'))}>"

    def __call__(self, observations: Any) -> Any:
        """Actions (... x k) for observations (... x size), in NumPy."""
        shape = shape_of(observations) or ()
        if shape[-1:] != self.sizes[:1]:
            raise ModelError(f"observations must be {self.sizes[0]} numbers, got {describe(observations)}")
        return self.on(None)(as_array(observations, shape, "observations"))

    def on(self, library: Library | None) -> Callable[[Any], Any]:
        """Policy as a function of arrays of another library.

        Args:
            library: Library of an environment; None: NumPy.

        Returns:
            Function from observations to actions.
        """
        xp = np if library is None else library.xp
        layers = [(W.T, b) if library is None else (library.floats(W.T), library.floats(b)) for W, b in self.layers]

        def act(x: Any) -> Any:
            for k, (W, b) in enumerate(layers):
                x = x @ W + b
                if k < len(layers) - 1:
                    x = xp.where(x > 0.0, x, xp.exp(0.5 * (x - abs(x))) - 1.0)  # which does not overflow
            return x

        return act

    # files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], **more: np.ndarray) -> Path:
        """Write the policy to a file: arrays and JSON, nothing that runs.

        Args:
            path: File, ``.npz``.
            more: Further arrays that are kept in the same file.

        Returns:
            Its path.
        """
        check_path(path)
        arrays: dict[str, Any] = {
            f"{name}{k}": x for k, pair in enumerate(self.layers) for name, x in zip("Wb", pair, strict=True)
        }
        text = np.array(json.dumps({"format": FORMAT, "about": dict(self.about)}, allow_nan=False))
        stream = io.BytesIO()
        np.savez(stream, policy=text, **arrays | more)
        write_bytes(path, stream.getvalue())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy; nothing of the file is run.

        Args:
            path: File of :meth:`save`.

        Returns:
            Policy.
        """
        arrays = read_arrays(path)
        count = sum(name.startswith("W") for name in arrays)
        try:
            return cls(tuple((arrays[f"W{k}"], arrays[f"b{k}"]) for k in range(count)), _task_data(arrays, path))
        except KeyError as missing:
            raise FileError(f"the policy has no array {missing}", file=path) from None
        except ModelError as error:
            raise FileError(str(error), file=path) from None

    def to_onnx(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy in ONNX (extra ``learn``): input ``observations`` (N x size), output ``actions`` (N x k).

        Args:
            path: File, ``.onnx``.

        Returns:
            Its path.
        """
        check_path(path)
        try:
            from onnx import TensorProto, checker, helper, numpy_helper
        except ImportError:
            raise ExtraMissingError("learn", package="onnx", purpose="a policy in ONNX") from None
        nodes, weights, last = [], [], "observations"
        for k, (W, b) in enumerate(self.layers):
            weights += [numpy_helper.from_array(x.astype(np.float32), f"{n}{k}") for n, x in (("W", W), ("b", b))]
            out = "actions" if k == len(self.layers) - 1 else f"x{k}"
            nodes.append(helper.make_node("Gemm", [last, f"W{k}", f"b{k}"], [out], transB=1))
            last = out
            if out != "actions":
                nodes.append(helper.make_node("Elu", [out], [f"y{k}"]))
                last = f"y{k}"
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size])
            for name, size in (("observations", self.sizes[0]), ("actions", self.sizes[-1]))
        ]
        graph = helper.make_graph(nodes, "policy", ends[:1], ends[1:], weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        helper.set_model_props(made, {"fallingcat": json.dumps(dict(self.about))})
        checker.check_model(made)
        write_bytes(path, made.SerializeToString())
        return Path(path)

    def to_c(self, folder: str | os.PathLike[str], task: Task) -> list[Path]:
        """Write the policy as C99, from state, time, command and last action to the next action.

        The compiler of the library traces observation and perceptron: one function without memory or dependencies, and
        a test main with its results at some states.

        Args:
            folder: Folder of the files ``fc_policy.h``, ``fc_policy.c`` and ``fc_policy_test.c``.
            task: Task of the policy.

        Returns:
            Paths of the files.
        """
        check_path(folder)
        law = self.law(task)
        made = compile(
            task.model, law, target="c", inputs={"time": 1, "command": task.commands, "action": task.actions}
        )
        paths: list[Path] = made.write(Path(folder))
        return paths

    # runs -------------------------------------------------------------------------------------------------------

    def law(self, task: Task) -> Callable[..., Any]:
        """Policy as a function of one robot, for any kind of number: what :func:`fallingcat.compile` takes.

        Args:
            task: Task of the policy.

        Returns:
            ``policy(model, state, time, command, action) -> action``.
        """
        if not isinstance(task, Task) or task.actions != self.sizes[-1]:
            raise ModelError(f"a policy of {self.sizes[-1]} actions is not one of {describe(task)}")

        def policy(model: Model, state: State, time: Any, command: Any, action: Any) -> Any:
            x = concatenate(
                [np.reshape(row, -1) for row in task.observe(single_snapshot(state, time, command, action)).values()]
            )
            if len(x) != self.sizes[0]:
                raise ModelError(f"the policy observes {self.sizes[0]} numbers, and its task {len(x)}")
            for k, (W, b) in enumerate(self.layers):
                x = W @ x + b
                if k < len(self.layers) - 1:
                    x = where(less(0.0, x), x, exp(where(less(0.0, x), 0.0 * x, x)) - 1.0)
            return x

        return policy

    def page(self, task: Task) -> Page:
        """Page in which the policy walks: the browser takes the steps and runs the policy, sliders are the command.

        Args:
            task: Task of the policy, :class:`.Walk`.

        Returns:
            Page.
        """
        from .policy_page import policy_page

        return policy_page(self, task)

    def controller(self, task: Task, command: Sequence[float] | Callable[[float], Any] = ()) -> list[Any]:
        """Laws that :func:`fallingcat.simulate` takes: the servos of the task, and the policy as a sampled controller.

        Servos hold the posture; the policy adds ``kp`` times the motion of their targets, once in a period.

        Args:
            task: Task of the policy, with position servos as its first law.
            command: Command, or a function of time (s) that returns it.

        Returns:
            Laws.
        """
        return [*task.laws, SampledController(_Memory(self, task, command), 1.0 / task.period, name="policy")]


class _Memory:
    """Policy between samples: it remembers its last action."""

    def __init__(self, policy: Policy, task: Any, command: Any) -> None:
        self._task, self._command = task, command
        self._act = policy.law(task)
        self._servo = task.laws[0].sized(task.model)
        self._columns = [task.model.v_slices[task.model.leading_index(name)].start for name in task.joints]
        self._last_time = np.zeros(task.actions)

    def __call__(self, t: float, state: State) -> np.ndarray:
        """Forces (n) beyond those of the servos at rest."""
        model, task = self._task.model, self._task
        self._last_time = self._last_time if t > 0.0 else np.zeros(task.actions)
        command = as_array(
            self._command(t) if callable(self._command) else self._command, (task.commands,), "a command"
        )
        action = np.asarray(self._act(model, state, np.array([t]), command, self._last_time))
        self._last_time = np.clip(action, -task.limit, task.limit)
        inputs = task.control(self._last_time[None], single_snapshot(state, np.array([t]), command, self._last_time))
        forces = np.zeros(model.n)
        forces[self._columns] = np.array(self._servo.kp) * (inputs["targets"][0] - np.array(self._servo.targets))
        return forces


def _layer(pair: Any, k: int) -> Layer:
    """Matrix and offset of a layer."""
    try:
        W, b = (np.asarray(x, dtype=float) for x in pair)
    except (TypeError, ValueError):
        raise ModelError(f"layer {k} of a policy must be a matrix and an offset, not {describe(pair)}") from None
    return W, b


def read_arrays(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Arrays of a file of :meth:`Policy.save`."""
    check_path(path)
    content = read_bytes(Reader(path), MAX_BYTES)
    try:
        arrays = unpacked(content)
    except Exception as error:  # zip, zlib and NumPy's headers raise what they like
        raise FileError(f"the file is not a policy: {error or type(error).__name__}", file=path) from None
    if "policy" not in arrays:
        raise FileError("the file is not a policy: it has no array 'policy'", file=path)
    return arrays


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _task_data(arrays: Mapping[str, np.ndarray], path: Any) -> dict[str, Any]:
    try:
        said = json.loads(str(arrays["policy"]), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise FileError("the description of the policy is not JSON", file=path) from None
    if not isinstance(said, dict) or said.get("format") != FORMAT or not isinstance(said.get("about"), dict):
        raise FileError(f"the file must say format {FORMAT!r}", file=path)
    about: dict[str, Any] = said["about"]
    return about
