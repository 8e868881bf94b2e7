"""``fallingcat learn walk`` and ``fallingcat play``: a policy from a robot file, and its motion."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import FallingCatError, Interrupted
from .app import Json, app, errors_in_one_line
from .drop_cat import NoOpen, write_page
from .reading import model_of
from .text import escape_markup, on_screen, open_page, plain, summary

if TYPE_CHECKING:
    from rich.console import Console

    from ..model import Model

STEPS_PER_PERIOD = (100, 400)
"""Steps between two actions of a policy that is played: the larger number if the error of the smaller one is large."""
SAMPLES = ("quadruped", "humanoid")
"""Sample robots that walk, by name."""
RobotOption = Annotated[
    str | None,
    typer.Option("--robot", metavar="FILE", help=f"A robot file, or {' or '.join(SAMPLES)}.", show_default=False),
]
learning = typer.Typer(help="Learn a policy.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(learning, name="learn")


@learning.command("walk")
def learn_walk(
    robot: RobotOption = "quadruped",
    seconds: Annotated[float, typer.Option(help="Time of training (s).")] = 120.0,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="Device.")] = "cpu",
    robots: Annotated[
        int | None,
        typer.Option(min=1, help="Number of robots; default: 256, on a GPU 8,192.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the simulation.")] = 1,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Output policy.")] = "walk.npz",
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the output policy.")] = False,
    page: Annotated[str, typer.Option("--page", metavar="FILE", help="Page of the learning curve.")] = "walk.html",
    no_open: NoOpen = False,
    as_json: Json = False,
) -> None:
    """Learn to walk with commanded velocities.

    Ctrl-C writes the policy so far; --resume goes on.
    """
    with errors_in_one_line():
        from ..learning import Walk, learn

        _check_out(out)
        source = robot or "quadruped"
        task = Walk(_robot(source), source=source)
        options: dict[str, Any] = {"robots": robots, "target": device, "seed": seed, "threads": threads}
        stopped = ""
        try:
            found = learn(task, seconds, file=out, resume=resume, **options)
        except Interrupted as stop:
            found, stopped = stop.result, str(stop)
        if not found.curve:
            raise FallingCatError("interrupted before the first round was done: nothing was learned")
        rows = found.curve[-1] | {"rounds": len(found.curve), "policy": os.path.abspath(out)}
        rows["first round"] = found.curve[0]["seconds"]
        rows["page"] = write_page(found.page(), page)
        if as_json:
            typer.echo(json.dumps(rows, indent=2, allow_nan=False))
        else:
            if stopped:
                typer.echo(plain(stopped), err=True)
            on_screen(lambda console: _print(console, rows))
        if not (no_open or as_json):
            open_page(str(rows["page"]))


@app.command()
def play(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="A file of `learn`.", show_default=False)],
    robot: RobotOption = None,
    command: Annotated[
        tuple[float, float, float],
        typer.Option("--command", metavar="VX VY WZ", help="Velocities (m/s, m/s, rad/s)."),
    ] = (0.5, 0.0, 0.0),
    seconds: Annotated[float, typer.Option(help="Time (s).")] = 10.0,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Output page.")] = "play.html",
    onnx: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the policy in ONNX too.", show_default=False)
    ] = None,
    c: Annotated[
        str | None, typer.Option("--c", metavar="FOLDER", help="Write the policy as C too.", show_default=False)
    ] = None,
    live: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a page that simulates the policy itself too.", show_default=False),
    ] = None,
    no_open: NoOpen = False,
    as_json: Json = False,
) -> None:
    """Simulate a policy, and show the motion."""
    with errors_in_one_line():
        from ..learning import Policy, Walk

        if not all(map(math.isfinite, command)):
            raise FallingCatError(f"--command must be three finite numbers, got {' '.join(map(str, command))}")
        found = Policy.load(policy)
        task = Walk.of(_robot(robot or str(found.about.get("source") or found.about.get("robot"))), found.about)
        run = _accurate_run(task, found, command, seconds)
        tilt, moved = run.poses[:, 2, 2].min(), run.poses[-1, :3, 3] - run.poses[0, :3, 3]
        rows: dict[str, Any] = {
            "robot": task.model.name,
            "status": run.status,
            "seconds": float(run.times[-1]),
            "step (s)": float(f"{run.times[1] - run.times[0]:.3g}"),
            "moved (m)": [round(float(x), 3) for x in moved],
            "mean velocity (m/s)": [round(float(x), 3) for x in run.twists[len(run.times) // 2 :, :2].mean(axis=0)],
            "fell": _fall(task, run),
            "largest tilt (deg)": round(math.degrees(math.acos(max(-1.0, min(1.0, float(tilt))))), 1),
            "page": write_page(run.animate(), out),
        }
        if live is not None:
            rows["live"] = write_page(found.page(task), live)
        if onnx is not None:
            rows["onnx"] = str(found.to_onnx(onnx).resolve())
        if c is not None:
            rows["c"] = str(found.to_c(c, task)[1].resolve())
        if as_json:
            typer.echo(json.dumps(rows, indent=2, allow_nan=False))
        else:
            on_screen(lambda console: summary(console, {name: str(x) for name, x in rows.items()}))
        if not (no_open or as_json):
            open_page(str(rows["page"]))


def _accurate_run(task: Any, policy: Any, command: Any, seconds: float) -> Any:
    """Run whose estimated error is small, if one of the steps is: those of training are too coarse for a motion."""
    from .. import simulate
    from ..simulation import DiagnosticKind

    for steps in STEPS_PER_PERIOD:
        run = simulate(
            task.model, task.stance, seconds, policy.controller(task, command), task.contact, dt=task.period / steps,
            integrator="implicit",
        )  # fmt: skip
        if DiagnosticKind.STEP_ERROR not in {warning.kind for warning in run.warnings}:
            break
    return run


def _fall(task: Any, run: Any) -> str:
    """Time of a fall, by the same criterion as in training."""
    from ..learning.walk import MAX_TILT_COSINE, MIN_HEIGHT_SHARE

    down = (run.poses[:, 2, 2] < MAX_TILT_COSINE) | (run.poses[:, 2, 3] < MIN_HEIGHT_SHARE * task.height)
    return f"after {run.times[down.argmax()]:.1f} s; a longer training may help" if down.any() else "no"


def _check_out(out: str) -> None:
    """Refuse a file that could not be written after minutes of training."""
    folder = os.path.dirname(os.path.abspath(out))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise FallingCatError(f"--out: the folder of {out} must be there and writable")


def _robot(name: str) -> Model:
    from .. import robots

    if name in SAMPLES:
        made: Model = getattr(robots, name)()
        return made
    return model_of(name, {})


def _print(console: Console, rows: dict[str, Any]) -> None:
    about = {
        "policy": str(rows["policy"]),
        "training": f"{rows['seconds']:.1f} s, {rows['rounds']} rounds, {rows['actions']:.3g} actions"
        f" ({rows['first round']:.1f} s until the end of the first round)",
        "reward": f"{rows['reward']:.3g}",
        "falls": f"{rows['falls per s']:.3g} per robot and s, {rows['broken']:.0f} robots broken in the last round",
    }
    about |= {name: f"{x:.3g}" for name, x in rows.items() if "error (" in name}
    summary(console, about)
    console.print(escape_markup(f"\n{rows['page']}"), soft_wrap=True)
