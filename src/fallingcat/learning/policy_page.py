"""Page in which a policy walks: the browser takes the steps of the simulation and runs the policy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import concatenate
from ..compiler import compile
from ..dynamics import forward_kinematics
from ..errors import ModelError
from ..model import Model, State
from ..simulation import step as simulation_step
from ..simulation.integrators.implicit.integrator import Implicit
from ..visualization import Fact, Page
from ..visualization.scenes import stage
from .task import single_snapshot

if TYPE_CHECKING:
    from .policy import Policy

STEPS_PER_PERIOD = 20
"""Steps of the page between two actions: a page must keep up with time."""
COMMANDS = ("forward (m/s)", "to the left (m/s)", "turning (rad/s)")


def policy_page(policy: Policy, task: Any) -> Page:
    """Page of a policy of walking.

    Args:
        policy: Policy.
        task: Its task, with position servos.

    Returns:
        Page, in which sliders are the command.
    """
    if task.commands != len(COMMANDS) or not hasattr(task, "stance"):
        raise ModelError(f"a page lets a policy of walking run, not one of {type(task).__name__}")
    model = task.model
    scene = stage(model, [task.stance], [0.0], ground=task.contact).scene
    parts = [name for name, shapes in scene.shapes.items() if shapes]

    def observe(model: Model, state: State, time: Any, command: Any, action: Any) -> Any:
        seen = task.observe(single_snapshot(state, time, command, action))
        return concatenate([np.reshape(x, -1) for x in seen.values()])

    def control(model: Model, state: State, time: Any, command: Any, action: Any) -> Any:
        inputs = task.control(np.reshape(action, (1, -1)), single_snapshot(state, time, command, action))
        return np.reshape(inputs["targets"], -1)

    def poses(model: Model, state: State) -> Any:
        found = forward_kinematics(model, state)
        return concatenate([np.reshape(found[name][:3], 12) for name in parts])

    step = simulation_step(
        model, task.laws, task.contact, integrator=Implicit(sweeps=1), dt=task.period / STEPS_PER_PERIOD, driven=False,
        inputs=("targets",), state=task.stance, target="javascript",
    )  # fmt: skip
    inputs = {"time": 1, "command": task.commands, "action": task.actions}
    made = {
        "step": step.function,
        "observe": compile(model, observe, inputs=inputs, target="javascript"),
        "control": compile(model, control, inputs=inputs, target="javascript"),
        "poses": compile(model, poses, target="javascript"),
    }
    q, v = model.flatten(task.stance)
    start = {"q": q.tolist(), "v": v.tolist(), "memory": step.begin(task.stance).tolist()}
    about = {name: {"arguments": x.arguments, "outputs": x.outputs, "work": x.work} for name, x in made.items()}
    commands = [
        {"name": name, "low": -most, "high": most, "value": 0.5 * most * (k == 0)}
        for k, (name, most) in enumerate(zip(COMMANDS, task.speeds, strict=True))
    ]
    layers = [{"W": W.ravel().tolist(), "b": b.tolist()} for W, b in policy.layers]
    live = {
        "start": start,
        "layers": layers,
        "limit": task.limit,
        "period": task.period,
        "steps": STEPS_PER_PERIOD,
    } | about
    facts = [Fact("policy", "-".join(map(str, policy.sizes))), Fact("steps", f"{1e3 * step.dt:g} ms")]
    scene = replace(scene, follow="level", live=live | {"commands": commands})
    return Page(
        f"{model.name} walks", "simulated in this page", facts, (scene,), tuple(x.source for x in made.values())
    )
