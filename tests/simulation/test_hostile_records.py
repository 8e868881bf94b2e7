"""Files of runs that somebody made on purpose, with the right checksum: an error in one line, or a run."""

import io
import json
from dataclasses import replace
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

import numpy as np
import pytest
from fuzzing import try_for, try_many
from hypothesis import strategies as st

import fallingcat as fc
from fallingcat.io import archives
from fallingcat.simulation.output import files

CAT = fc.robots.two_cylinder_cat()
RUN = fc.simulate(CAT, CAT.state(rates=[1.0, 0.5]), 0.01, progress=False)
GOOD = files.arrays(RUN)
ODD = [
    None,
    -1,
    0,
    1e308,
    "nan",
    "",
    [],
    {},
    [[]],
    "x" * 1000,
    True,
    [1, 2],
    {"a": 1},
    10**30,
    [None, 1, 2],
    ["a", "b"],
]
ARRAYS = [
    np.zeros(0), np.zeros((0, 3)), np.full((11, 2), np.nan), np.full((11, 4, 4), 1e308), np.array("text"),
    np.zeros((11, 2), complex), np.zeros((11, 2), dtype="S3"), np.zeros((2,) * 20), np.zeros((11, 4, 4)),
    np.array([1, 2], dtype="datetime64[s]"), np.zeros(11, dtype=[("a", float)]), np.arange(11)[::-1].astype(float),
]  # fmt: skip


def packed(data):
    """As :func:`files._as_npz` writes it, whatever it holds."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **data)
    with ZipFile(stream, "a") as archive:
        archive.comment = files.EMPTY
    content = stream.getvalue()
    return files._signed(content, len(content) - len(files.EMPTY))


@st.composite
def hostile(draw):
    """Content of an ``.npz``: arrays, the text about them, or bytes are others than they were."""
    data = dict(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            name = draw(st.sampled_from([*files.SERIES, *files.WORKS, "text"]))
            data[name] = draw(st.sampled_from([*ARRAYS, *(x for k, x in GOOD.items() if k != "text")]))
            if draw(st.integers(0, 5)) == 0:
                del data[name]
        elif isinstance(data.get("text"), str):
            text = json.loads(data["text"])
            key = draw(st.sampled_from(list(text)))
            if isinstance(text[key], dict) and text[key] and draw(st.booleans()):
                text[key][draw(st.sampled_from(list(text[key])))] = draw(st.sampled_from([*ODD, [11, 10**18], [0, 3]]))
            else:
                text[key] = draw(st.sampled_from(ODD))
            data["text"] = json.dumps(text)
    content = bytearray(packed(data))
    if draw(st.integers(0, 3)) == 0:
        for _ in range(draw(st.integers(1, 5))):
            content[draw(st.integers(0, len(content) - len(files.EMPTY) - 1))] = draw(st.integers(0, 255))
        content[:] = files._signed(bytes(content), len(content) - len(files.EMPTY))
    return bytes(content)


TYPES = ["<f8", "|O", ">f4", "V9", [("a", "O")], [("a", "<f8", (2**40,))], "<M8[s]", "S0", "U999999999", 8, None]
SHAPES = [(11,), (11, 4, 4), (2**40,), (-1,), (2**62, 4), (), (0, 2**62), (1.5,), (True,), 11, (1,) * 99]
HEADERS = [
    *(str({"descr": kind, "fortran_order": order, "shape": shape})
      for kind in TYPES for shape in SHAPES for order in (False, True, 2)),
    "__import__('os').abort()", "(" * 300, "{" * 300, "[]", "", "0", "'" * 999, "-" * 9000 + "1",
]  # fmt: skip
ENTRIES = ["times.npy", "poses.npy", "text.npy", "times", "../times.npy", "/times.npy", "times.npy/", "x\0y", "é.npy"]


@st.composite
def npy(draw):
    """An array of an archive, with a header that NumPy would not write."""
    header = draw(st.sampled_from(HEADERS)).encode()
    version = draw(st.sampled_from([1, 2, 3, 0, 9]))
    size = draw(st.sampled_from([len(header)] * 3 + [0, 5, 2**16 - 1]))
    return b"\x93NUMPY" + bytes([version, 0]) + size.to_bytes(2 if version == 1 else 4, "little") + header + bytes(88)


@st.composite
def hostile_archive(draw):
    """A good ``.npz`` with further entries, or others twice, and a directory that may lie about them."""
    stream, methods = io.BytesIO(packed(GOOD)), st.sampled_from([ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA])
    with ZipFile(stream, "a") as archive:
        for _ in range(draw(st.integers(1, 3))):
            archive.writestr(draw(st.sampled_from(ENTRIES)), draw(npy()), draw(methods))
        directory = archive.start_dir
    content = bytearray(stream.getvalue())
    for _ in range(draw(st.integers(0, 4))):  # of fields: sizes, places, flags, methods
        place = draw(st.integers(directory, len(content) - len(files.EMPTY) - 4))
        content[place : place + 4] = draw(st.sampled_from([0, 1, 12, 2**31 - 1, 2**32 - 1])).to_bytes(4, "little")
    return files._signed(bytes(content), len(content) - len(files.EMPTY))


@st.composite
def hostile_nc(draw):
    """Content of a ``.nc`` with bytes or words that are others than they were, signed again."""
    content = bytearray(NETCDF)
    mark = content.index(files.MARK)
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.integers(0, 3))
        place = draw(st.integers(0, (HEADER if draw(st.booleans()) else len(content)) - 5))
        if kind == 0:
            content[place] = draw(st.integers(0, 255))
        elif kind == 1:  # a number of netCDF: a length, a type, a place
            place -= place % 4
            number = draw(st.sampled_from([0, 1, 2, 3, 10, 11, 12, 2**31 - 1, 2**31, 2**32 - 1, 2**28, 64]))
            content[place : place + 4] = number.to_bytes(4, "big")
        elif kind == 2:
            word = draw(
                st.sampled_from([b"units", b"_FillValue", b"scale_factor", b"time", b"text", b"calendar", b"poses"])
            )
            content[place : place + len(word)] = word
        else:
            del content[place : place + draw(st.integers(1, 40))]
    if files.MARK not in content:
        content[mark : mark + len(files.MARK)] = files.MARK
    return files._signed(bytes(content), files._marked(bytes(content)))


NETCDF = files._as_nc(RUN)
HEADER = NETCDF.index(files.MARK) + 2000
"""Where most of what says what the rest means is"""


def checked(tmp_path, suffix=".npz"):
    def check(content):
        path = tmp_path / f"run{suffix}"
        path.write_bytes(content)
        try:
            run = fc.Trajectory.load(path, CAT)
        except fc.FallingCatError as error:
            said = str(error)
            run = None
        if run is None:
            assert said.isprintable()
            return
        assert len(run.times) == len(run.poses) == len(run.joints) == len(run.modes) > 0
        assert all(np.isfinite(getattr(run, name)).all() for name in files.SERIES)
        # angles without a place on the circle have no sine, and squares of speeds overflow
        angle, speed = np.abs(run.joints).max(initial=0.0), np.abs(np.hstack([run.rates, run.twists])).max(initial=0.0)
        assert np.isfinite(run.energies()[0]).all() or angle > 2.0**51 * np.pi / 2.0 or speed > 1e100
        assert repr(run).isprintable()
        run.state(0)

    return check


HOSTILE = {".npz": hostile() | hostile_archive(), ".nc": hostile_nc()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", HOSTILE)
def test_many_hostile_files(suffix, tmp_path):
    try_many(HOSTILE[suffix], checked(tmp_path, suffix), 30)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", HOSTILE)
def test_hostile_files_for_a_while(suffix, tmp_path):
    assert try_for(HOSTILE[suffix], checked(tmp_path, suffix)) > 100


def test_names_in_a_file_do_not_steer_a_terminal():
    run = replace(RUN, integrator="\x1b[31mred")
    assert repr(run).isprintable()
    assert r"\x1b[31mred" in repr(run)


def test_a_file_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 1 << 20)
    stream = io.BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        with archive.open("times.npy", "w", force_zip64=True) as out:
            np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": (2**28,)})
            out.write(bytes(2**24))
        archive.comment = files.EMPTY
    content = stream.getvalue()
    (tmp_path / "bomb.npz").write_bytes(files._signed(content, len(content) - len(files.EMPTY)))
    with pytest.raises(fc.FallingCatError, match=r"it unpacks to 16,\d+,\d+ bytes"):
        fc.Trajectory.load(tmp_path / "bomb.npz", CAT)
