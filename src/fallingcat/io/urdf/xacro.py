"""Xacro, the macros of ROS, expanded by its own package; it evaluates expressions, so only for files that you trust."""

from __future__ import annotations

import os

from ...errors import ExtraMissingError
from ..diagnostics import Reader


def expanded(reader: Reader) -> bytes:
    """The URDF that the reader's file expands to; lines in messages are then those of the expanded text."""
    try:
        import xacro
    except ImportError:
        raise ExtraMissingError("xacro", purpose="expanding macros") from None
    try:
        text: str = xacro.process_file(os.fspath(reader.file)).toprettyxml(indent=" ")
    except Exception as error:  # whatever expressions and included files come to
        reader.fail(None, f"xacro cannot expand the file: {error}")
    reader.file = f"{os.fspath(reader.file)} (expanded)"
    return text.encode()
