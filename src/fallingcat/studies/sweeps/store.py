"""Results of a sweep on disk: a zarr store of plain chunks, each committed by renaming files.

A chunk holds some runs.  Its numbers are written first, what says that they are there (``done``, ``failed``) last, and
every file is complete and on the disk before it gets its name.  So whoever is killed, whenever, what ``done`` says is
true, and no file is ever half a file.  A commit adds to what is there: under the chunk's lock it reads what others have
committed since, and keeps it.  A coordinator that was stopped and wakes, or a worker that was taken for dead, loses
nothing of what was done meanwhile.
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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...errors import ExtraMissingError, FileError
from ...io.files import write_bytes
from .locks import lock_part
from .points import Points

DONE, FAILED, ERROR = "done", "failed", "error"
CONFIGURATION: Final = "fallingcat_sweep"
"""Attribute of the store: all that decides its numbers, as JSON."""
LONGEST_ERROR: Final = 300
RESUME_HINT: Final = "delete it, and resume=True (--resume) runs its runs again"


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
    """Results of the runs of one chunk, each array of the chunk's shape within the grid."""

    numbers: dict[str, np.ndarray]
    done: np.ndarray
    failed: np.ndarray
    error: np.ndarray
    """texts, empty where there is none"""

    @property
    def open_runs(self) -> np.ndarray:
        """Runs that are neither done nor failed: places in the flat arrays."""
        return np.flatnonzero(~(self.done | self.failed))

    def add(self, other: Part) -> None:
        """Merge results of ``other`` that are missing here: a run that is done for one of them is done."""
        news = (other.done & ~self.done) | (other.failed & ~self.failed & ~self.done)
        for name, values in self.numbers.items():
            np.copyto(values, other.numbers[name], where=news)
        np.copyto(self.error, other.error, where=news)
        self.done |= other.done
        self.failed = (self.failed | other.failed) & ~self.done


@dataclass(frozen=True)
class Store:
    """Zarr store of a sweep that exists."""

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
        """Number of chunks."""
        return int(np.prod(self.counts))

    def runs(self, k: int) -> np.ndarray:
        """The runs of chunk ``k``, in its shape."""
        axes = [
            np.arange(c * i, min(c * (i + 1), n))
            for i, c, n in zip(self._chunk_index(k), self.chunk, self.shape, strict=True)
        ]
        return np.ravel_multi_index(np.ix_(*axes), self.shape)

    def read(self, k: int) -> Part:
        """Results of chunk ``k``; damaged files raise an error that names them."""
        own = self._grid_part(k)
        numbers = {name: self._array(k, name, np.float64, np.nan)[own] for name in self.numbers}
        return Part(numbers, *self._flags(k), self._texts(k)[own])

    def commit(self, k: int, part: Part) -> None:
        """Write chunk ``k``, and what others have written of it since; ``part`` knows that then.

        What it knows counts from the last rename on.
        """
        with lock_part(self._lock, k):
            done, failed = self._flags(k)
            if ((done & ~part.done) | (failed & ~part.failed)).any():
                part.add(self.read(k))
            for name, values in part.numbers.items():
                self._write(k, name, self._padded_chunk(values, np.nan).astype("<f8").tobytes())
            if part.failed.any() or failed.any():
                self._write(k, ERROR, _encode_texts(self._padded_chunk(part.error, "").ravel().tolist()))
                self._write(k, FAILED, self._padded_chunk(part.failed, False).tobytes())
            self._write(k, DONE, self._padded_chunk(part.done, False).tobytes())

    def repair(self, k: int) -> int:
        """Runs of chunk ``k`` that have to be run again, since files of what was done are missing; they are open then.

        A file of another size than a chunk has is an error that names it.
        """
        believed = sum(self.count(k))
        if not believed:
            return 0
        self.read(k)  # whatever is there has the right size
        failed = self._file(k, FAILED).exists()
        if all(self._file(k, name).exists() for name in (*self.numbers, *([ERROR] if failed else []))):
            return 0
        with lock_part(self._lock, k):
            for name in (DONE, FAILED, ERROR):
                self._file(k, name).unlink(missing_ok=True)
        return believed

    def count(self, k: int) -> tuple[int, int]:
        """Runs of chunk ``k`` that are done, and that failed."""
        done, failed = self._flags(k)
        return int(done.sum()), int(failed.sum())

    def size(self, k: int) -> int:
        """Runs in chunk ``k``."""
        return int(np.prod(self._extent(k)))

    # files ----------------------------------------------------------------------------------------------------

    @property
    def _lock(self) -> Path:
        return self.path / DONE / ".lock"  # within an array, where zarr does not look

    def note(self, name: str) -> Path:
        """A file beside the chunks that says what is under way."""
        return self.path / DONE / f".{name}.part"

    def remove_leftovers(self) -> None:
        """Remove files of killed workers; none may be at work any more."""
        for left in (*self.path.rglob(".*.part"), *self.path.rglob(".*.tmp")):
            with suppress(OSError):
                left.unlink()

    def _chunk_index(self, k: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(k, self.counts))

    def _extent(self, k: int) -> tuple[int, ...]:
        return tuple(min(c, n - c * i) for i, c, n in zip(self._chunk_index(k), self.chunk, self.shape, strict=True))

    def _grid_part(self, k: int) -> tuple[slice, ...]:
        """Part of the files of chunk ``k`` that is within the grid."""
        return tuple(slice(0, n) for n in self._extent(k))

    def _flags(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Masks of runs that are done, and that failed; one that is done did not fail."""
        done, failed = (self._array(k, name, np.bool_, False)[self._grid_part(k)] for name in (DONE, FAILED))
        return done, failed & ~done

    def _file(self, k: int, name: str) -> Path:
        return self.path.joinpath(name, "c", *map(str, self._chunk_index(k)))

    def _padded_chunk(self, values: np.ndarray, fill: Any) -> np.ndarray:
        """Array padded to the shape of a chunk at the edge of the grid."""
        out = np.full(self.chunk, fill, dtype=values.dtype)
        out[tuple(slice(0, n) for n in values.shape)] = values
        return out

    def _array(self, k: int, name: str, kind: Any, fill: Any) -> np.ndarray:
        file = self._file(k, name)
        if not file.exists():
            return np.full(self.chunk, fill, dtype=kind)
        plain, data = np.dtype(kind).newbyteorder("<"), _read_bytes(file)
        if len(data) != int(np.prod(self.chunk)) * plain.itemsize:
            raise FileError(
                f"is no chunk of {self.chunk} values: it has {len(data):,} bytes", file=str(file),
                hint=RESUME_HINT,
            )  # fmt: skip
        return np.frombuffer(data, dtype=plain).reshape(self.chunk).astype(kind)

    def _texts(self, k: int) -> np.ndarray:
        file, out = self._file(k, ERROR), np.full(self.chunk, "", dtype=object)
        if file.exists():
            data = _read_bytes(file)
            try:
                texts = _decode_texts(data)
            except (struct.error, ValueError):
                texts = []
            if len(texts) != out.size:
                raise FileError(f"is no chunk of {self.chunk} texts", file=str(file), hint=RESUME_HINT)
            out.flat[:] = texts
        return out

    def _write(self, k: int, name: str, data: bytes) -> None:
        file = self._file(k, name)
        with suppress(OSError):  # writing says what is wrong
            file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, data)


def _encode_texts(texts: Sequence[str]) -> bytes:
    """Texts as zarr keeps them (vlen-utf8): their number, then length and bytes of each.

    >>> _decode_texts(_encode_texts(["", "é", "ab"]))
    ['', 'é', 'ab']
    """
    encoded = [text.encode() for text in texts]
    return struct.pack("<I", len(encoded)) + b"".join(struct.pack("<I", len(x)) + x for x in encoded)


def _decode_texts(data: bytes) -> list[str]:
    out, at = [], 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        (size,) = struct.unpack_from("<I", data, at)
        out.append(data[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return out


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise FileError(f"the file cannot be read: {error.strerror}", file=str(file)) from None


# making and opening -------------------------------------------------------------------------------------------------


def create(
    path: Path, points: Points, chunk: int, numbers: Mapping[str, Mapping[str, str]], configuration: Mapping[str, Any]
) -> Store:
    """A new store with nothing done, complete before it has its name; ``numbers``: variable and its attributes."""
    zarr = _zarr()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileError(
            "is not empty: give another folder, or resume=True (--resume) to go on with the sweep in it", file=str(path)
        )
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
            group.create_array(
                name, shape=values.shape, chunks=values.shape, dtype=str if values.dtype.kind == "U" else values.dtype,
                compressors=None, dimension_names=(dim,),
            )[:] = _zarr_values(values)  # fmt: skip
        for name, about in numbers.items():
            add(name, "<f8", float("nan"), about)
        add(DONE, bool, False, {"long_name": "runs whose numbers are there"})
        add(FAILED, bool, False, {"long_name": "runs that failed, each with its error"})
        add(ERROR, str, "", {"long_name": "why a run failed"})
        with warnings.catch_warnings():  # that older readers do not look at it
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(str(made))
        made.chmod(0o755)
        for file in made.rglob("*"):
            if file.is_file():
                with file.open("r+b") as stream:  # Windows syncs what may be written only
                    os.fsync(stream.fileno())
        os.replace(made, path)
    except OSError as error:
        raise FileError(f"the store cannot be written: {error.strerror or error}", file=str(path)) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)  # it has its place by now, unless something went wrong
    return Store(path, points.shape, pieces, tuple(numbers))


def resume_store(path: Path, points: Points, numbers: Sequence[str], configuration: Mapping[str, Any]) -> Store:
    """The store of a sweep that was begun with the same configuration and versions; an error that says what differs."""
    zarr = _zarr()
    if not (path / "zarr.json").is_file():
        raise FileError("is no sweep", file=str(path))
    try:
        group = zarr.open_group(path, mode="r")
        known = group.attrs.get(CONFIGURATION)
        begun = None if known is None else json.loads(str(known))
        shapes = {(group[name].shape, group[name].chunks) for name in (DONE, FAILED, ERROR, *numbers) if begun}
    except Exception as error:  # zarr raises whatever its parsers do
        raise FileError(f"is a damaged store: {type(error).__name__}: {error}", file=str(path)) from None
    if begun is None:
        raise FileError("is a zarr store, but not of a sweep of fallingcat", file=str(path))
    differ = _differences(begun, json.loads(json.dumps(configuration)))
    if differ:
        raise FileError(f"was begun otherwise: {'; '.join(differ[:5])}", file=str(path))
    if len(shapes) != 1 or next(iter(shapes))[0] != points.shape:
        raise FileError("is a damaged store: its variables differ in shape or chunks", file=str(path))
    _restore_coordinates(path, points)
    return Store(path, points.shape, tuple(next(iter(shapes))[1]), tuple(numbers))


def _zarr_values(values: np.ndarray) -> np.ndarray:
    """Values as zarr takes them."""
    return values.astype(object) if values.dtype.kind == "U" else values


def _restore_coordinates(path: Path, points: Points) -> None:
    """Write the coordinates of a store again where their files are missing or damaged: what they were is known."""
    group = _zarr().open_group(path, mode="r+")
    for name, (_, values) in points.coordinates.items():
        plain = _zarr_values(values)
        try:
            with suppress(ValueError):  # bytes that are no array
                if np.array_equal(group[name][:], plain):
                    continue
            group[name][:] = plain
        except Exception as error:  # zarr raises whatever its parsers do
            text = f"the coordinate {name!r} is damaged: {type(error).__name__}: {error}"
            raise FileError(text, file=str(path)) from None
        text = f"the file of the coordinate {name!r} was damaged: it is written again"
        warnings.warn(f"{path}: {text}", RuntimeWarning, stacklevel=6)


def _differences(begun: Any, now: Any, where: str = "") -> list[str]:
    """Differences in words.

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
