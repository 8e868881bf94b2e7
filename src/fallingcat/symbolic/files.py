"""Symbols that a TOML file chooses for its robot, in its table ``[symbols]``."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Any

from ..errors import FileError, ModelError
from ..io import load as load_model
from ..io.diagnostics import Reader
from ..io.files import read_bytes
from ..model import Model
from .coordinates import check_names
from .parameters import Symbols, symbols


def load(path: str | os.PathLike[str], **options: Any) -> Symbols:
    """Load a robot with the symbols that its file chooses; see :func:`fallingcat.load` and :func:`symbols`.

    .. code-block:: toml

        [symbols]
        parameters = ["masses", "gravity"]   # "all", if left out
        names = { l = ["l_1x", "f_1x"] }     # one symbol for two lengths

    Files of other formats, and those without the table, get a symbol for every number.

    Args:
        path: File of the robot.
        **options: Options of :func:`fallingcat.load`.

    Returns:
        Robot with symbolic parameters, and the numbers of the symbols.

    Example:
        >>> import tempfile
        >>> import fallingcat as fc
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fc.save(fc.robots.prismatic_hopper(), f"{folder}/hopper.toml")
        ...     found = fc.symbolic.load(f"{folder}/hopper.toml")
        >>> found.values[found.model.links[0].body.mass]
        0.957
    """
    return of_file(load_model(path, **options), path)


def of_file(model: Model, path: str | os.PathLike[str]) -> Symbols:
    """The robot of a file with the symbols that the file chooses."""
    if PurePath(path).suffix.lower() != ".toml":
        return symbols(model)
    from ..io.toml.reader import read_symbols

    reader = Reader(path)
    chosen = read_symbols(read_bytes(reader), reader)
    try:
        found = symbols(model, chosen.parameters, chosen.names)
        check_names(found.model)
        return found
    except ModelError as error:
        raise FileError(str(error), file=path, element="[symbols]") from error
