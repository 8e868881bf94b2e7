"""Results of a sweep on disk: a zarr store of plain chunks, each committed by renaming files.

A chunk holds some runs, and one worker at a time writes it.  Its numbers are written first, what says that they are
there (``done``, ``failed``) last, and every file is complete before it gets its name.  So whoever is killed, whenever,
what ``done`` says is true, and no file is ever half a file.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import struct
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...errors import ExtraMissingError, FileError
from .points import Points

DONE, FAILED, ERROR = "done", "failed", "error"
CONFIGURATION: Final = "fallingcat_sweep"
"""Attribute of the store: all that decides its numbers, as JSON."""
LONGEST_ERROR: Final = 300


def chunk_shape(shape: Sequence[int], most: int) -> tuple[int, ...]:
    """Whole rows of the last axes, or a part of one: at most so many runs, which follow each other.

    >>> chunk_shape((81, 61), 200), chunk_shape((81, 61), 20), chunk_shape((4, 5, 6), 70)
    ((3, 61), (1, 20), (2, 5, 6))
    """
    out = []
    for length in reversed(shape):
        out.append(min(length, max(most, 1)))
        most = most // length if out[-1] == length else 1
    return tuple(reversed(out))


@dataclass
class Part:
    """What is known of the runs of one chunk, each array of the chunk's shape within the grid."""

    numbers: dict[str, np.ndarray]
    done: np.ndarray
    failed: np.ndarray
    error: np.ndarray
    """texts, empty where there is none"""

    @property
    def open(self) -> np.ndarray:
        """Runs that are neither done nor failed: places in the flat arrays."""
        return np.flatnonzero(~(self.done | self.failed))


@dataclass(frozen=True)
class Store:
    """A store that exists."""

    path: Path
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    numbers: tuple[str, ...]
    """variables with one number for each run"""

    @property
    def counts(self) -> tuple[int, ...]:
        """Chunks along each axis."""
        return tuple(-(-n // c) for n, c in zip(self.shape, self.chunk, strict=True))

    @property
    def chunks(self) -> int:
        """All of them."""
        return int(np.prod(self.counts))

    def runs(self, k: int) -> np.ndarray:
        """The runs of chunk ``k``, in its shape."""
        axes = [
            np.arange(c * i, min(c * (i + 1), n)) for i, c, n in zip(self._at(k), self.chunk, self.shape, strict=True)
        ]
        return np.ravel_multi_index(np.ix_(*axes), self.shape)

    def read(self, k: int) -> Part:
        """What is known of chunk ``k``; what is no chunk of it is an error that names the file."""
        own = tuple(slice(0, n) for n in self.runs(k).shape)
        done, failed = (self._array(k, name, np.bool_, False)[own] for name in (DONE, FAILED))
        numbers = {name: self._array(k, name, np.float64, np.nan)[own] for name in self.numbers}
        return Part(numbers, done, failed, self._texts(k)[own])

    def commit(self, k: int, part: Part) -> None:
        """Write chunk ``k``: what it knows counts from the last rename on."""
        for name, values in part.numbers.items():
            self._put(k, name, self._whole(values, np.nan).astype("<f8").tobytes())
        if part.failed.any():
            self._put(k, ERROR, _packed(self._whole(part.error, "").ravel().tolist()))
            self._put(k, FAILED, self._whole(part.failed, False).tobytes())
        self._put(k, DONE, self._whole(part.done, False).tobytes())

    def count(self, k: int) -> tuple[int, int]:
        """Runs of chunk ``k`` that are done, and that failed."""
        own = tuple(slice(0, n) for n in self._extent(k))
        done, failed = (int(self._array(k, name, np.bool_, False)[own].sum()) for name in (DONE, FAILED))
        return done, failed

    def size(self, k: int) -> int:
        """Runs in chunk ``k``."""
        return int(np.prod(self._extent(k)))

    # files ----------------------------------------------------------------------------------------------------

    def _at(self, k: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(k, self.counts))

    def _extent(self, k: int) -> tuple[int, ...]:
        return tuple(min(c, n - c * i) for i, c, n in zip(self._at(k), self.chunk, self.shape, strict=True))

    def _file(self, k: int, name: str) -> Path:
        return self.path.joinpath(name, "c", *map(str, self._at(k)))

    def _whole(self, values: np.ndarray, fill: Any) -> np.ndarray:
        """In the shape of a chunk, also at the edge of the grid."""
        out = np.full(self.chunk, fill, dtype=values.dtype)
        out[tuple(slice(0, n) for n in values.shape)] = values
        return out

    def _array(self, k: int, name: str, kind: Any, fill: Any) -> np.ndarray:
        file = self._file(k, name)
        if not file.exists():
            return np.full(self.chunk, fill, dtype=kind)
        data = np.fromfile(file, dtype=np.dtype(kind).newbyteorder("<"))
        if data.size != int(np.prod(self.chunk)):
            raise FileError(f"is no chunk of {self.chunk} values: it has {data.size}", file=str(file))
        return data.reshape(self.chunk).astype(kind)

    def _texts(self, k: int) -> np.ndarray:
        file, out = self._file(k, ERROR), np.full(self.chunk, "", dtype=object)
        if file.exists():
            out.flat[:] = _unpacked(file.read_bytes())
        return out

    def _put(self, k: int, name: str, data: bytes) -> None:
        file = self._file(k, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(prefix=".", suffix=".part", dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
            os.replace(made, file)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise


def _packed(texts: Sequence[str]) -> bytes:
    """Texts as zarr keeps them (vlen-utf8): their number, then length and bytes of each.

    >>> _unpacked(_packed(["", "é", "ab"]))
    ['', 'é', 'ab']
    """
    encoded = [text.encode() for text in texts]
    return struct.pack("<I", len(encoded)) + b"".join(struct.pack("<I", len(x)) + x for x in encoded)


def _unpacked(data: bytes) -> list[str]:
    out, at = [], 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        (size,) = struct.unpack_from("<I", data, at)
        out.append(data[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return out


# making and opening -------------------------------------------------------------------------------------------------


def create(
    path: Path, points: Points, chunk: int, numbers: Mapping[str, Mapping[str, str]], configuration: Mapping[str, Any]
) -> Store:
    """A new store with nothing done, complete before it has its name; ``numbers``: variable and its attributes."""
    zarr = _zarr()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileError("is not empty: give another folder, or --resume to go on with the sweep in it", file=str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):  # by one that was killed here
        shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    try:
        group = zarr.open_group(made, mode="w", zarr_format=3, attributes={CONFIGURATION: json.dumps(configuration)})
        pieces = chunk_shape(points.shape, chunk)

        def add(name: str, dtype: Any, fill: Any, about: Mapping[str, str]) -> None:
            group.create_array(
                name, shape=points.shape, chunks=pieces, dtype=dtype, fill_value=fill, compressors=None,
                dimension_names=points.dims, attributes=dict(about),
            )  # fmt: skip

        for name, (dim, values) in points.coordinates.items():
            plain = values.astype(object) if values.dtype.kind == "U" else values
            group.create_array(
                name, shape=values.shape, chunks=values.shape, dtype=str if values.dtype.kind == "U" else values.dtype,
                compressors=None, dimension_names=(dim,),
            )[:] = plain  # fmt: skip
        for name, about in numbers.items():
            add(name, "<f8", float("nan"), about)
        add(DONE, bool, False, {"long_name": "runs whose numbers are there"})
        add(FAILED, bool, False, {"long_name": "runs that failed, each with its error"})
        add(ERROR, str, "", {"long_name": "why a run failed"})
        with warnings.catch_warnings():  # that older readers do not look at it
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(str(made))
        made.chmod(0o755)
        os.replace(made, path)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return Store(path, points.shape, pieces, tuple(numbers))


def resumed(path: Path, points: Points, numbers: Sequence[str], configuration: Mapping[str, Any]) -> Store:
    """The store of a sweep that was begun with the same configuration and versions; an error that says what differs."""
    zarr = _zarr()
    if not (path / "zarr.json").is_file():
        raise FileError("is no sweep", file=str(path))
    group = zarr.open_group(path, mode="r")
    if CONFIGURATION not in group.attrs:
        raise FileError("is a zarr store, but not of a sweep of fallingcat", file=str(path))
    begun = json.loads(str(group.attrs[CONFIGURATION]))
    differ = _differences(begun, json.loads(json.dumps(configuration)))
    if differ:
        raise FileError(f"was begun otherwise: {'; '.join(differ[:5])}", file=str(path))
    for left in path.rglob(".*.part"):  # by one that was killed
        left.unlink(missing_ok=True)
    return Store(path, points.shape, tuple(group[DONE].chunks), tuple(numbers))


def _differences(begun: Any, now: Any, where: str = "") -> list[str]:
    """What differs, in words.

    >>> _differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2})
    ['a.b was 1, is 3']
    """
    if isinstance(begun, dict) and isinstance(now, dict):
        keys = dict.fromkeys([*begun, *now])
        inner = (_differences(begun.get(k), now.get(k), f"{where}.{k}" if where else str(k)) for k in keys)
        return [text for each in inner for text in each]
    short = [repr(x) if len(repr(x)) < 60 else f"{repr(x)[:56]} ..." for x in (begun, now)]
    return [] if begun == now else [f"{where} was {short[0]}, is {short[1]}"]


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise ExtraMissingError("sweep", package="zarr", purpose="a store of results") from None
    return zarr
