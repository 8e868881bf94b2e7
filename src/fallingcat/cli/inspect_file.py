"""``fallingcat inspect FILE``: content of a robot file, and checks of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..model.summary import base_text
from .app import SCHEMA, File, Json, app, errors_in_one_line, on_the_command_line
from .quantities import direction, format_short, limit, moment, numbers
from .reading import Reading, with_reading_options
from .text import count, escape_markup, on_screen, plain, summary, table

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from ..io import Examined
    from ..model import Body, Joint, Loop, Mimic, Model

MAX_ROWS: Final = 60
"""Rows of a table without ``--all``; a humanoid fits."""
MAX_SHAPED: Final = 200
"""number of links with shapes up to which all pairs are checked"""
MAX_WARNINGS: Final = 10
"""Number shown without ``--all``."""


@app.command()
@with_reading_options
def inspect(
    file: File,
    as_json: Json = False,
    everything: Annotated[bool, typer.Option("--all", help=f"Show more than {MAX_ROWS} links or joints.")] = False,
    *,
    reading: Reading,
    keep_fixed: Annotated[
        bool, typer.Option("--keep-fixed", help="Keep fixed joints instead of merging links.")
    ] = False,
) -> None:
    """Show the content of a robot file, and check it.

    Base, links, joints, masses, checks, warnings.
    """
    with errors_in_one_line():
        from ..io import examine

        found = examine(file, fixed="keep" if keep_fixed else "merge", **reading)
        if as_json:
            typer.echo(json.dumps(report(found.model, file, found.warnings, found.ignored), indent=2, allow_nan=False))
        else:
            on_screen(lambda console: _print_all(console, found, file, everything))


# what there is to say -----------------------------------------------------------------------------------------------


def report(
    model: Model, file: str, warnings: Sequence[str], ignored: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Model as plain data: the object that ``--json`` prints; infinities are None."""
    return {
        "schema": SCHEMA,
        "file": file,
        "name": model.name,
        "base": {"group": str(model.base), "link": model.links[0].name},
        "dimensions": {"m": model.m, "n": model.n, "nv": model.nv, "nq": model.nq},
        "mass": model.mass,
        "kinematic": model.kinematic,
        "gravity": model.gravity.tolist(),
        "links": [
            {
                "name": link.name,
                "mass": link.body.mass,
                "center": link.body.center.tolist(),
                "inertia": link.body.inertia.tolist(),
                "principal_inertia": link.body.principal_inertia.tolist(),
            }
            for link in model.links
        ],
        "joints": [_joint_report(joint) for joint in model.joints],
        "actuators": [{key: _finite(x) for key, x in vars(actuator).items()} for actuator in model.actuators],
        "tendons": [_finite(tendon) for tendon in model.tendons],
        "force_elements": [_finite(element) for element in model.force_elements],
        "driven": _driven_joints(model),
        "loops": [_loop_report(loop) for loop in model.loops],
        "frames": [{"name": f.name, "link": f.link, "placement": f.placement.tolist()} for f in model.frames],
        "checks": [{"rule": rule, "problems": problems} for rule, problems in checks(model)],
        "warnings": list(warnings),
        "ignored": dict(ignored or {}),
    }


def _driven_joints(model: Model) -> list[str]:
    """Joints that drives move, in order."""
    moved = (abs(model.actuation[:, model.m :]).sum(axis=0) > 0.0).tolist()
    return list(dict.fromkeys(name for name, is_moved in zip(model.rate_joints, moved, strict=True) if is_moved))


def _loop_report(loop: Loop) -> dict[str, Any]:
    kind = type(loop).__name__.lower()
    return {"name": loop.name, "type": kind, "places": loop.places, "joints": loop.joints, "equations": loop.count}


def _finite(x: Any) -> Any:
    """Numbers, and None for those that are not finite; ranges end by end, records field by field with their class."""
    if isinstance(x, tuple):
        return [_finite(end) for end in x]
    if hasattr(x, "tolist"):
        return x.tolist()
    if is_dataclass(x):
        return {"type": type(x).__name__} | {key: _finite(value) for key, value in vars(x).items()}
    return None if isinstance(x, float) and not math.isfinite(x) else x


def _joint_report(joint: Joint) -> dict[str, Any]:
    kind = joint.kind
    return {
        "name": joint.name,
        "type": kind.name,
        "parent": joint.parent,
        "child": joint.child,
        "degrees_of_freedom": joint.nv,
        "axis": _axis(joint, "axis"),
        "axis2": _axis(joint, "axis2"),
        "pitch": getattr(kind, "pitch", None),
        "placement": joint.placement.tolist(),
        "offset": joint.offset.tolist(),
        "limits": {key: x if math.isfinite(x) else None for key, x in vars(joint.limits).items()},
        "armature": joint.armature.tolist(),
        "passive": vars(joint.passive),
        "mimic": vars(joint.mimic) if joint.mimic else None,
    }


def _axis(joint: Joint, which: str) -> list[float] | None:
    axis = getattr(joint.kind, which, None)
    return None if axis is None else [float(x) for x in axis]


def checks(model: Model) -> list[tuple[str, list[str]]]:
    """Rules of a model with the links that break them; rules that a reader enforces hold."""
    moving = [link for link, welded in zip(model.links, _immobile(model), strict=True) if not welded]
    heavy = [link for link in moving if link.body.mass > 0.0]
    massless = [f"link {link.name!r} has none" for link in moving if link.body.mass == 0.0]
    bodies = [f"link {link.name!r}: {problem}" for link in heavy for problem in link.body.problems()]
    return [
        ("one tree: one root, no cycle, no name twice", []),
        ("every number is finite and of a sane size", []),
        (f"a mass for what moves ({count(len(heavy), 'link')})", massless),
        ("inertias that a body can have (positive, triangle inequality)", bodies),
    ]


def _immobile(model: Model) -> list[bool]:
    return [model.m == 0, *(joint.kind.nv == 0 for joint in model.joints)]


# tables -------------------------------------------------------------------------------------------------------------


def _print_all(console: Console, found: Examined, file: str, everything: bool) -> None:
    model = found.model
    most = None if everything else MAX_ROWS
    _print_summary(console, model, file)
    _print_rows(console, _link_table(), [_link_row(link.name, link.body) for link in model.links], most, "links")
    if model.joints:
        said = [name for name, text in _OPTIONAL_COLUMNS.items() if any(text(joint) != "-" for joint in model.joints)]
        rows = [[*_joint_row(joint), *(_OPTIONAL_COLUMNS[name](joint) for name in said)] for joint in model.joints]
        _print_rows(console, _joint_table(said), rows, most, "joints")
    if followers := [[joint.name, _mimic_text(joint.mimic)] for joint in model.joints if joint.mimic]:
        out = table("joint")
        out.add_column("follows", overflow="fold")
        _print_rows(console, out, followers, most, "followers")
    _print_frames(console, model, most)
    _print_checks(console, model)
    _print_use(console, model, found.ignored)
    _print_warnings(console, [_without_file(text, file) for text in found.warnings], everything)


def _print_summary(console: Console, model: Model, file: str) -> None:
    followers = sum(joint.mimic is not None for joint in model.joints)
    joints = count(len(model.joint_names), "joint") + (f", {count(followers, 'other')} follow" if followers else "")
    rows = {
        "robot": model.name,
        "file": file,
        "base": f"{base_text(model)}, link {model.links[0].name}",
        "freedom": f"{model.nv} = {model.m} of the base + {model.n} of {joints}",
        "links": f"{len(model.links):,}" + (f", and {count(len(model.frames), 'frame')}" if model.frames else ""),
        "mass": f"{model.mass:.6g} kg" + (", a kinematic model without dynamics" if model.kinematic else ""),
        "gravity": f"{numbers(model.gravity, '.6g')} m/s^2",
    }
    if model.loops:
        names = ", ".join(loop.name for loop in model.loops[:MAX_ROWS])
        rows["loops"] = (
            f"{len(model.loops):,}: {names}; fallingcat.constraints and runs close them, all else sees the open tree"
        )
    if kept := _passive_text(model):
        rows["in runs"] = kept
    summary(console, rows)


def _passive_text(model: Model) -> str:
    """Text of springs, friction and other properties of joints that act in simulations."""
    tests: dict[str, Callable[[Joint], float]] = {
        "end stops": lambda joint: math.isfinite(joint.limits.lower) or math.isfinite(joint.limits.upper),
        "damping": lambda joint: joint.passive.damping,
        "friction": lambda joint: joint.passive.friction,
        "springs": lambda joint: joint.passive.stiffness,
    }
    found = {name: sum(map(bool, map(test, model.joints))) for name, test in tests.items()}
    words = [f"{name} of {count(number, 'joint')}" for name, number in found.items() if number]
    return ", ".join([*words, count(len(model.actuators), "actuator")] if model.actuators else words)


def _link_table() -> Table:
    out = table("link")
    out.add_column("mass kg", justify="right", no_wrap=True)
    for header in ("center m", "principal inertia kg m^2"):
        out.add_column(header, justify="left", no_wrap=True)
    return out


def _link_row(name: str, body: Body) -> list[str]:
    if body.mass == 0.0 and not body.inertia.any():
        return [name, "0", "", ""]
    center = " ".join(f"{format_short(x):>6}" for x in body.center)
    return [name, f"{body.mass:.4g}", center, " ".join(f"{moment(x):>7}" for x in body.principal_inertia)]


def _joint_table(said: Sequence[str]) -> Table:
    out = table("joint")
    out.add_column("type", no_wrap=False)
    out.add_column("axis", no_wrap=True)
    out.add_column("range rad, m", justify="left", no_wrap=True)
    for header in said:
        out.add_column(header, justify="right", no_wrap=True)
    return out


def _joint_row(joint: Joint) -> list[str]:
    limits = joint.limits
    axis, axis2 = (direction(_axis(joint, which)) for which in ("axis", "axis2"))
    stops = ""
    if math.isfinite(limits.lower) or math.isfinite(limits.upper):
        stops = f"{limit(limits.lower):>6} to {limit(limits.upper)}"
    return [joint.name, joint.kind.name, f"{axis}\n{axis2}" if axis2 else axis, stops]


def _inertias(armature: np.ndarray) -> str:
    """One number where all are equal."""
    return "\n".join(dict.fromkeys(map(moment, armature))) if armature.any() else "-"


def _mimic_text(mimic: Mimic) -> str:
    """``-0.5 knee + 0.1``."""
    ratio = {1.0: "", -1.0: "-"}.get(mimic.ratio, f"{mimic.ratio:.4g} ")
    return f"{ratio}{mimic.leader}" + (f" {mimic.offset:+.4g}" if mimic.offset else "")


_OPTIONAL_COLUMNS: Final[dict[str, Callable[[Joint], str]]] = {
    "speed": lambda joint: limit(joint.limits.velocity),
    "effort": lambda joint: limit(joint.limits.effort),
    "armature": lambda joint: _inertias(joint.armature),
}
"""Columns that are shown where a joint has an entry."""


def _print_rows(console: Console, table: Table, rows: Sequence[Sequence[str]], most: int | None, what: str) -> None:
    for row in rows[:most]:
        table.add_row(*map(escape_markup, row))
    console.print()
    console.print(table)
    _print_omitted(console, len(rows), most, what)


def _print_frames(console: Console, model: Model, most: int | None) -> None:
    """Print the frames, one line for each link that has some."""
    if not model.frames:
        return
    on: dict[str, list[str]] = {}
    for frame in model.frames[:most]:
        on.setdefault(frame.link, []).append(frame.name)
    out = table("link")
    out.add_column("frames on it", overflow="fold")
    for link, names in on.items():
        out.add_row(escape_markup(link), escape_markup(", ".join(names)))
    console.print()
    console.print(out)
    _print_omitted(console, len(model.frames), most, "frames")


def _print_use(console: Console, model: Model, ignored: Mapping[str, int]) -> None:
    """Print the elements of the file that act on the motion, those only stored, and those ignored."""
    from rich.padding import Padding

    from ..model import Limits

    acts = "joints alone" if model.kinematic else "joints, masses, inertias, gravity"
    rotors = ", rotors" if model.armature.any() and not model.kinematic else ""
    rows = [("acts", f"{acts}{rotors}")]
    runs = {
        "limits": any(joint.limits != Limits() for joint in model.joints),
        "damping, friction, springs": any(joint.passive.acts for joint in model.joints),
        "tendons": bool(model.tendons),
        **dict.fromkeys((element.port for element in model.force_elements), True),
        "actuators where a law commands them": bool(model.actuators),
    }
    if any(runs.values()) and not model.kinematic:
        rows.append(("in runs", ", ".join(name for name, there in runs.items() if there)))
    seen = sum(bool(link.visuals) for link in model.links)
    touch = sum(bool(link.collisions) for link in model.links)
    if seen or touch:
        rows.append(("shapes", f"{seen} links drawn on pages, {touch} for fc.contact.collision_points and feet"))
    if 1 < touch <= MAX_SHAPED:
        rows.append(("", _self_contact_text(model)))
    rows += [("ignored", f"{times:,} x {what}") for what, times in ignored.items()]
    console.print("\nuse", style="bold")
    for use, text in rows:
        console.print(Padding(escape_markup(f"{use:9}{text}"), (0, 0, 0, 2)))


def _self_contact_text(model: Model) -> str:
    """Text about the pairs of :class:`fallingcat.control.SelfContact`."""
    from ..contact import pushing_pairs

    found = pushing_pairs(model)
    why = {
        "overlap at rest": len(found.overlapping),
        "out of reach": found.unreachable,
        "links with meshes or ellipsoids": len(found.unknown),
        "excluded by the file": found.excluded,
    }
    left = ", ".join(f"{number} {what}" for what, number in why.items() if number)
    return f"{count(len(found.pairs), 'pair')} push each other with fc.control.SelfContact()" + (
        f" (not: {left})" if left else ""
    )


def _print_warnings(console: Console, texts: Sequence[str], everything: bool) -> None:
    """Print the warnings of the reader, with the lines of the file."""
    if not texts:
        return
    most = None if everything else MAX_WARNINGS
    console.print(f"\n{count(len(texts), 'warning')}", style="bold")
    from rich.padding import Padding

    for text in texts[:most]:
        console.print(Padding(escape_markup(on_the_command_line(text)), (0, 0, 0, 2)))
    _print_omitted(console, len(texts), most, "warnings")


def _print_omitted(console: Console, number: int, most: int | None, what: str) -> None:
    if most is not None and number > most:
        console.print(f"  ... and {number - most:,} more {what}; --all shows them")


def _print_checks(console: Console, model: Model) -> None:
    from rich.padding import Padding

    console.print("\nchecks", style="bold")
    for rule, problems in checks(model):
        console.print(escape_markup(f"  {'ok  ' if not problems else 'note'}  {rule}"))
        for problem in problems[:3]:
            console.print(Padding(escape_markup(problem), (0, 0, 0, 8)))
        if len(problems) > 3:
            console.print(f"        ... and {len(problems) - 3:,} more")


def _without_file(warning: str, file: str) -> str:
    """Warning as ``line 12: ...``, without the file name."""
    text = warning.removeprefix(f"{plain(file)}:").strip()
    return f"line {text}" if text[:1].isdigit() else text
