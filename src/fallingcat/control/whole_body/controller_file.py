"""Controllers from TOML files: contacts, and tasks by priority."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from ..._deprecated import formerly
from ...errors import FallingCatError, ModelError, describe
from ...io.diagnostics import Place, Reader
from ...io.files import read_bytes
from ...io.toml.text import decoded, parsed
from ...model.names import index
from ...registry import Registry
from ..laws.support_consistent import PrioritizedControl
from ..tasks import (
    BaseTask,
    CenterOfMassTask,
    CentroidalMomentumTask,
    JointsTask,
    PointTask,
    PoseTask,
    PositionTask,
    RelativeTask,
    RotationTask,
    Task,
)


def _check(name: str, kind: Any) -> None:
    if not isinstance(kind, type) or not issubclass(kind, Task):
        raise ModelError(f"a kind of task must be a class derived from Task, got {describe(kind)}")


KINDS = Registry[type[Task]](
    "kind of task",
    "fallingcat.tasks",
    {
        "pose": PoseTask,
        "position": PositionTask,
        "rotation": RotationTask,
        "point": PointTask,
        "center_of_mass": CenterOfMassTask,
        "centroidal_momentum": CentroidalMomentumTask,
        "joints": JointsTask,
        "base": BaseTask,
        "relative": RelativeTask,
    },
    _check,
)
"""Types of tasks in a file."""


def read_controller(path: str | os.PathLike[str]) -> PrioritizedControl:
    r"""Controller of a TOML file.

    The file has ``contacts``, ``damping``, and ``[[task]]`` tables with a ``type``, a ``priority`` (an integer, 1 is
    the highest) and the fields of the task.

    Args:
        path: TOML file.

    Returns:
        Prioritized inverse dynamics with the tasks of the file.

    Raises:
        FileError: The file breaks a rule; the message names the table.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        ...     _ = file.write('contacts = ["left_foot"]\n[[task]]\ntype = "center_of_mass"\ngoal = [0, 0, 0.8]')
        ...     file.flush()
        ...     read_controller(file.name).tasks[0][0].name
        'CenterOfMassTask'
    """
    reader = Reader(path)
    tables = parsed(decoded(read_bytes(reader), reader), reader)
    known = ("contacts", "damping", "task")
    for key in tables:
        _call_with_place(reader, Place(), lambda key=key: index("key", key, known))
    tasks = tables.get("task", [])
    if not isinstance(tasks, list) or not all(isinstance(table, dict) for table in tasks) or not tasks:
        reader.fail(None, "a controller must have at least one [[task]] table")
    levels: dict[int, list[Task]] = {}
    for i, table in enumerate(tasks):
        place = Place(None, f"[[task]] number {i + 1}")
        priority, task = _call_with_place(reader, place, lambda table=table: _task(dict(table)))
        levels.setdefault(priority, []).append(task)
    ordered = [levels[priority] for priority in sorted(levels)]
    damping = tables.get("damping", 0.0)
    damping = float(damping) if isinstance(damping, int) and not isinstance(damping, bool) else damping
    law: PrioritizedControl = _call_with_place(
        reader, Place(), lambda: PrioritizedControl(ordered, tables.get("contacts", ()), damping)
    )
    return law


def _task(table: dict[str, Any]) -> tuple[int, Task]:
    """Priority and task of a table."""
    if "type" not in table:
        raise ValueError("'type' is missing")
    kind = KINDS[list(KINDS)[index("type of task", table.pop("type"), list(KINDS))]]
    priority = table.pop("priority", 1)
    if not isinstance(priority, int) or isinstance(priority, bool) or priority < 1:
        raise ValueError("priority must be an integer of at least 1")
    for key in table:
        index("key", key, [*(field.name for field in fields(kind)), *formerly(kind)])
    return priority, kind(**table)


def _call_with_place(reader: Reader, place: Place, make: Any) -> Any:
    """Result of ``make``; its error names the place in the file."""
    try:
        return make()
    except (FallingCatError, TypeError, ValueError) as error:
        reader.fail(place, str(error))
