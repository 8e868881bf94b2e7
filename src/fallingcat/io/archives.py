"""Arrays of an ``.npz`` that is not trusted."""

from __future__ import annotations

import io
from zipfile import ZipFile

import numpy as np

MAX_UNPACKED_BYTES, MAX_COMPRESSION = 1 << 30, 20
"""Bytes in a file, and times its own size, that are no trap: runs of a gigabyte do not compress further."""


def unpacked(content: bytes) -> dict[str, np.ndarray]:
    """Arrays by name; nothing in the file is run, and one that unpacks to far more than it holds is refused."""
    with ZipFile(io.BytesIO(content)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > max(MAX_UNPACKED_BYTES, MAX_COMPRESSION * len(content)):
        raise ValueError(f"it unpacks to {size:,} bytes")
    with np.load(io.BytesIO(content), allow_pickle=False) as data:
        return {name: data[name] for name in data.files}
