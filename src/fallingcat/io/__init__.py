"""Robot files to models and back: :func:`load`, :func:`read` and :func:`save`.

A file is not trusted: what breaks a rule is a :class:`~fallingcat.errors.FileError` that names file, line, element,
rule and the way out; what is merely odd is a :class:`FileWarning`.  The limits are in :mod:`fallingcat.io.limits`.
"""

# Every reader is imported when its suffix is met: `import fallingcat` needs neither an XML parser nor pydantic.

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final, Literal, NamedTuple

from ..arrays.types import Vector_3
from ..errors import FallingCatError, FileError, ModelError, describe
from ..lie import Group
from ..model import Model
from ..model.body import frozen_array
from ..registry import Registry
from .base_names import PLAIN_BASES
from .diagnostics import FileWarning, Options, Reader, check_path

_WORDS: Final = {
    "fixed": ("merge", "keep"),
    "physics": ("strict", "warn"),
    "faults": ("strict", "warn"),
    "massless": ("keep", "weld"),
    "xacro": ("refuse", "expand", "skip"),
    "loops": ("open", "close"),
}

__all__ = ["FileWarning", "from_mujoco_model", "from_pinocchio_model", "load", "read", "save"]


def load(
    path: str | os.PathLike[str],
    *,
    base: str | Group | None = None,
    fixed: Literal["merge", "keep"] = "merge",
    physics: Literal["strict", "warn"] = "strict",
    faults: Literal["strict", "warn"] = "strict",
    gravity: Vector_3 | None = None,
    inside: str | os.PathLike[str] | None = None,
    root: str | None = None,
    massless: Literal["keep", "weld"] = "keep",
    xacro: Literal["refuse", "expand", "skip"] = "refuse",
    loops: Literal["open", "close"] | None = None,
) -> Model:
    """Load a robot from a file: ``.urdf``, ``.xml`` or ``.mjcf`` (MJCF, or URDF with a ``<robot>`` root) or ``.toml``.

    A name like ``"go2"`` that is no file is looked up in ``robot_descriptions``, in installed packages such as
    ``upkie_description`` and in ``example-robot-data`` (extra ``robots``); nothing is fetched.

    A URDF or TOML file whose joints move no mass is a kinematic model, without dynamics (:attr:`Model.kinematic`).
    Joints that mimic others (URDF, TOML) follow them and have no coordinate of their own (:class:`Mimic`).

    Args:
        path: File, or name of an installed robot.
        base: Group that the base link moves in: ``"free"``, ``"planar"``, ``"spherical"``, ``"schoenflies"``,
            ``"translational"``, ``"fixed"`` or a group; None: what the file says (a URDF says nothing: free).
        fixed: ``"keep"`` keeps links on fixed joints as links; otherwise their bodies join the parent's and they become
            frames.
        physics: ``"warn"`` reads inertias that no body can have, with a warning.
        faults: ``"warn"`` reads a URDF with faults, with a warning for each that says how it is taken: a missing mass
            or inertia (zero), an element that is there twice (the first), a parent link that is missing (massless), a
            mimic of a joint that does not exist (none), macros (left out); and as ``physics="warn"``.
        gravity: In place of the file's, 3 (m/s^2).
        inside: Folder that none of the files of an MJCF robot may leave; None: that of the file itself, and with a
            warning up to three above it.
        root: Body of the world that is the robot, where several move on their own (MJCF); ``"world"`` takes all of
            them, as None does with a warning.
        massless: ``"weld"`` fixes joints that move no mass.
        xacro: ``"expand"`` expands macros first, with the package xacro: it evaluates what stands in the file, so only
            for files that you trust; ``"skip"`` passes over macros that are left in a URDF.
        loops: ``"close"`` keeps mimic joints, and equalities of bodies and joints (MJCF), as loops of the model, which
            :mod:`fallingcat.constraints` moves; ``"open"`` gives the open tree, in which such joints are independent,
            with a warning.  None: equalities are open, with a warning, and loops of a TOML file are kept.

    Returns:
        Robot.

    Raises:
        FileError: The file breaks a rule; what is merely odd is a :class:`FileWarning`.

    Example:
        >>> import tempfile, pathlib
        >>> inertia = "<inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/>"
        >>> link = f"<link name='brick'><inertial><mass value='1'/>{inertia}</inertial></link>"
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "brick.urdf")
        ...     _ = file.write_text(f"<robot name='brick'>{link}</robot>")
        ...     load(file)
        <Model 'brick': base SE(3), 1 links, 0 joint dof, 1 kg>
    """
    words = {"fixed": fixed, "physics": physics, "faults": faults, "massless": massless, "xacro": xacro, "loops": loops}
    model, messages = read(path, base=base, gravity=gravity, inside=inside, root=root, **words)
    if messages:
        warnings.warn(FileWarning("\n".join(messages)), stacklevel=2)
    return model


def read(path: str | os.PathLike[str], **options: Any) -> tuple[Model, list[str]]:
    """Load a robot as :func:`load` does, with the warnings as data instead of as warnings."""
    return examine(path, **options)[:2]


class Examined(NamedTuple):
    """Model of a file, with warnings and all that was ignored."""

    model: Model
    warnings: list[str]
    """Statements that were read, but perhaps not meant."""
    ignored: dict[str, int]
    """Valid statements that nothing here makes use of, with the reason: number of each."""


def examine(path: str | os.PathLike[str], **options: Any) -> Examined:
    """Load a robot as :func:`read` does, with all that was ignored."""
    check_path(path)
    path = _located_file(path)
    reader = Reader(path, _options(path, **options))
    try:
        return Examined(_read(reader), reader.warnings, dict(reader.ignored))
    except ModelError as error:  # a rule that only the whole model can break
        raise FileError(str(error), file=path) from error


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a ``.urdf``, ``.xml`` (MJCF) or ``.toml`` file, as a whole or not at all.

    A :class:`FileWarning` names what a format does not hold and the motion does not need.

    Args:
        model: Robot.
        path: File to write.

    Raises:
        FileError: The format cannot hold the robot, or is unknown.

    Example:
        >>> import tempfile, pathlib
        >>> from fallingcat.model import robots
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "cat.toml")
        ...     save(robots.cat(), file)
        ...     load(file)
        <Model 'cat': base SE(3), 11 links, 10 joint dof, 4 kg>
    """
    check_path(path)
    if not isinstance(model, Model):
        raise ModelError(f"the first argument is a Model, not {describe(model)}")
    suffix = PurePath(path).suffix.lower()
    if suffix == ".urdf" and model.loops:
        names = ", ".join(loop.name for loop in model.loops)
        hint = "a .toml file has them; or save model.open_loops(), the tree alone"
        raise FileError(f"URDF has no loops, as {names} of this robot", file=path, hint=hint)
    if suffix == ".urdf":
        from .urdf.writer import save as write
    elif suffix == ".xml":
        from .mjcf.writer import save as write
    elif suffix == ".toml":
        from .toml.reader import save as write
    elif suffix in WRITERS:
        WRITERS[suffix](model, path)
        return
    else:
        endings = ", ".join((".urdf", ".xml", ".toml", *WRITERS))
        raise FileError(f"models are written to {endings} files, not to {suffix!r}", file=path)
    write(model, path)


def from_pinocchio_model(peer: Any) -> Model:
    """Robot of a ``pinocchio.Model`` in memory: joints, inertias, limits, frames and gravity.

    The base is what the one joint of the universe moves in, where it stands at the origin and has more than one
    coordinate (``root_joint``); any other robot is fixed to the link ``universe``.  Links are named after Pinocchio's
    body frames at their joints.  Joints have our order, depth first; ``fc.exchange.pinocchio(model, peer)`` takes
    states there and back.  Mimic joints follow here too.  Composite joints become chains with massless links between
    (joints ``NAME/0``, ``NAME/1``, ...), ``SphericalZYX`` three hinges (``NAME/z``, ``NAME/y``, ``NAME/x``); ellipsoid
    joints are refused by name.  Crossed limits are none, with a warning.

    Args:
        peer: ``pinocchio.Model``.

    Returns:
        Robot.

    Example:
        >>> import pinocchio as pin
        >>> peer = pin.buildSampleModelManipulator()
        >>> from_pinocchio_model(peer).nv == peer.nv
        True
    """
    from .pinocchio import from_pinocchio_model as read_model

    return read_model(peer)


def from_mujoco_model(peer: Any, *, root: str | None = None) -> Model:
    """Robot of a ``mujoco.MjModel``, or of a ``mujoco.MjSpec``, in memory: what MuJoCo's compiler made of it.

    Bodies, masses (those of meshes too), joints with armature, springs, dampers and limits, gravity.  States go there
    and back by ``model.to_mujoco`` and ``model.from_mujoco``.  Actuators are as in :func:`load`.  Equalities, tendons
    and contacts are not taken along.

    Args:
        peer: ``mujoco.MjModel`` or ``mujoco.MjSpec``.
        root: Robot among several robots and objects, as in :func:`load`.

    Returns:
        Robot.

    Example:
        >>> import mujoco
        >>> ball = "<body name='ball'><freejoint/><geom size='0.1'/></body>"
        >>> peer = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{ball}</worldbody></mujoco>")
        >>> from_mujoco_model(peer).nv
        6
    """
    from .mjcf.mujoco_model import read_mujoco_model

    reader = Reader("MjModel", Options(root=root))
    try:
        model = read_mujoco_model(peer, reader)
    except FileError as error:  # a rule about the robot: there is no file
        raise ModelError(": ".join(filter(None, (error.element, error.rule, error.hint)))) from error
    for message in reader.warnings:
        warnings.warn(FileWarning(message), stacklevel=2)
    return model


def _read(reader: Reader) -> Model:
    from .files import read_bytes
    from .safe_xml import parse

    suffix = PurePath(reader.file).suffix.lower()
    if not suffix and os.path.isdir(reader.file):
        reader.fail(None, "this is a folder, and no robot file", "name the .urdf, .xml or .toml file in it")
    if suffix in READERS:
        return _read_by_other(reader, suffix)
    expand = reader.options.xacro == "expand" and suffix != ".toml"
    if suffix not in (".urdf", ".xml", ".mjcf", ".toml") and not (expand and suffix == ".xacro"):
        trusted = 'if you trust it, xacro="expand" expands it'
        endings = ", ".join((".urdf", ".xml", *READERS))
        hint = trusted if suffix == ".xacro" else f"the name ends in {endings} or .toml"
        what = f"a {suffix!r} file" if suffix else "a file whose name has no ending"
        reader.fail(None, f"no robot is read from {what}", hint)
    data = read_bytes(reader)
    if expand:
        from .urdf.xacro import expanded

        data = expanded(reader)
    if suffix == ".toml":
        from .toml.reader import read_toml

        return read_toml(data, reader)
    root = parse(data, reader)
    if root.tag == "mujoco" and suffix in (".xml", ".mjcf"):
        from .mjcf import read_mjcf

        return read_mjcf(root, reader)
    if root.tag != "robot":
        wanted = "<robot>" if suffix == ".urdf" else "<mujoco> or <robot>"
        advice = "MJCF belongs into a .xml or .mjcf file" if root.tag == "mujoco" else None
        reader.fail(root, f"the root element is {wanted}", advice)
    from .urdf.reader import read_urdf

    return read_urdf(root, reader)


def _read_by_other(reader: Reader, suffix: str) -> Model:
    """Model that the reader of another package makes of a file."""
    try:
        model = READERS[suffix](Path(os.fsdecode(reader.file)))
    except (OSError, ValueError) as error:
        reader.fail(None, str(error))
    if not isinstance(model, Model):
        raise ModelError(f"the reader of {suffix!r} files gives a Model, not {describe(model)}")
    base, gravity = reader.options.base, reader.options.gravity
    model = model if base is None else replace(model, base=base)
    return model if gravity is None else replace(model, gravity=gravity)


def _check_format(suffix: str, function: Any) -> None:
    if (
        not suffix.startswith(".")
        or suffix != suffix.lower()
        or suffix in (".urdf", ".xml", ".mjcf", ".toml", ".xacro")
    ):
        raise ModelError(f"the ending of a file format is like '.sdf', and not one of the library's, not {suffix!r}")
    if not callable(function):
        raise ModelError(f"files are read and written by functions, not by {describe(function)}")


READERS = Registry[Callable[[Path], Model]]("reader", "fallingcat.readers", {}, _check_format)
"""By ending: ``read(path) -> Model``, which raises ``OSError`` or ``ValueError`` with the rule that is broken."""
WRITERS = Registry[Callable[[Model, "str | os.PathLike[str]"], None]]("writer", "fallingcat.writers", {}, _check_format)
"""By ending: ``write(model, path)``."""


def _located_file(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The file of a path, or of the name of a robot that is installed."""
    if PurePath(path).suffix:
        return path
    from .robot_descriptions import is_name, path_of

    return path_of(os.fspath(path)) if is_name(path) else path


def _options(
    path: str | os.PathLike[str],
    *,
    base: Any = None,
    gravity: Any = None,
    inside: object = None,
    root: object = None,
    **words: Any,
) -> Options:
    """The caller's wishes, checked: a wrong one is the caller's mistake, not the file's."""
    if isinstance(base, str):
        if base not in PLAIN_BASES:
            raise FallingCatError(f"base is a group or one of {', '.join(map(repr, PLAIN_BASES))}, not {base!r}")
        base = PLAIN_BASES[base]
    elif base is not None and not isinstance(base, Group):
        raise FallingCatError(f"base is a group or the name of one, not {base!r}")
    for name, known in _WORDS.items():
        word = words.get(name, known[0])
        if name == "loops" and word is None:  # as the format has it
            continue
        if not isinstance(word, str) or word not in known:
            choices = " or ".join(f'"{choice}"' for choice in known)
            raise FallingCatError(f"{name} is {choices}, not {describe(word)}")
    vector = None if gravity is None else frozen_array(gravity, (3,), "gravity")
    if root is not None and not (isinstance(root, str) and PurePath(path).suffix.lower() in (".xml", ".mjcf")):
        raise FallingCatError(f"root is the name of a body of an MJCF file, not {describe(root)}")
    return Options(base=base, gravity=vector, inside=_folder(inside, path), root=root, **words)


def _folder(inside: object, path: str | os.PathLike[str]) -> Path | None:
    """The folder that a file and its parts may not leave."""
    if inside is None:
        return None
    if not isinstance(inside, (str, os.PathLike)) or not os.path.isdir(inside):
        raise FallingCatError(f"inside is a folder, not {describe(inside)}")
    folder = Path(os.fsdecode(inside)).resolve()
    if not Path(os.fsdecode(path)).resolve().is_relative_to(folder):
        raise FallingCatError(f"inside is a folder that the robot's file lies in, not {describe(inside)}")
    return folder
