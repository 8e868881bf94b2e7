"""The function that XLA calls, called as XLA does: with structures laid out as in its header."""

import ctypes
import re
from pathlib import Path

import jax
import numpy as np
import pytest

from fallingcat.compiler.cpu import native
from fallingcat.compiler.xla import handler, launcher

HEADER = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
POINTER, SIZE, INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


def structure(name, *fields):
    """A C structure: the compiler's rules for places of fields are those of ctypes."""
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


HEAD = (("struct_size", SIZE), ("extension_start", POINTER))
Buffer = structure("Buffer", *HEAD, ("dtype", INT), ("data", POINTER), ("rank", ctypes.c_int64), ("dims", POINTER))
Several = structure("Several", *HEAD, ("size", ctypes.c_int64), ("types", POINTER), ("values", POINTER))
Frame = structure(
    "Frame", *HEAD, ("api", POINTER), ("ctx", POINTER), ("stage", INT), ("args", Several), ("rets", Several)
)
Version = structure("Version", *HEAD, ("major", INT), ("minor", INT))
Metadata = structure("Metadata", ("struct_size", SIZE), ("version", Version), ("traits", ctypes.c_uint32))
Extension = structure("Extension", ("struct_size", SIZE), ("type", INT), ("next", POINTER), ("metadata", POINTER))
Api = structure(
    "Api",
    *HEAD,
    ("version", Version),
    ("internal", POINTER),
    ("error_create", POINTER),
    ("between", POINTER * 3),
    ("stream_get", POINTER),
)
Stream = structure("Stream", *HEAD, ("ctx", POINTER), ("stream", POINTER))
Error = structure("Error", *HEAD, ("message", ctypes.c_char_p), ("code", INT))

FIRST_TO_OUT = """define i32 @batch_double(ptr %b0, ptr %b1, ptr %bout, i64 %count) {
  %x = load double, ptr %b0
  %y = load double, ptr %b1
  %n = sitofp i64 %count to double
  %s = fadd double %x, %y
  %z = fmul double %s, %n
  store double %z, ptr %bout
  ret i32 0
}"""
NO_MEMORY = "define i32 @batch_double(ptr %b0, ptr %b1, ptr %bout, i64 %count) {\n  ret i32 1\n}"


def made(batch):
    text = "\n".join([batch, *handler.handler(2, "double", (0, 3))])
    library = native.Library(native.object_code(text), ["handle_double"])
    function = ctypes.CFUNCTYPE(POINTER, POINTER)(library.address("handle_double"))
    function.library = library
    return function


def pointers(*things):
    return (POINTER * len(things))(*(ctypes.addressof(x) for x in things))


def frame(x, y, out, shape):
    kept = [x, y, out, (ctypes.c_int64 * 2)(*shape)]
    buffers = [Buffer(data=a.ctypes.data, rank=2, dims=ctypes.addressof(kept[3])) for a in (x, y, out)]
    arguments, results = pointers(*buffers[:2]), pointers(buffers[2])
    kept += [buffers, arguments, results]
    filled = Frame(stage=3)
    filled.args.values, filled.rets.values = ctypes.addressof(arguments), ctypes.addressof(results)
    return filled, kept


def test_the_places_of_fields_are_those_of_the_header():
    assert (Frame.extension_start.offset, Frame.api.offset) == (handler.FRAME_EXTENSION, handler.FRAME_API)
    assert Frame.args.offset + Several.values.offset == handler.FRAME_ARGUMENTS
    assert Frame.rets.offset + Several.values.offset == handler.FRAME_RESULTS
    assert (Buffer.data.offset, Buffer.dims.offset) == (handler.BUFFER_DATA, handler.BUFFER_SHAPE)
    assert (Extension.type.offset, Extension.metadata.offset) == (handler.EXTENSION_KIND, handler.EXTENSION_METADATA)
    assert (Metadata.version.offset, Metadata.traits.offset) == (handler.METADATA_VERSION, handler.METADATA_TRAITS)
    assert Api.error_create.offset == handler.API_ERROR_CREATE
    assert (Frame.ctx.offset, Api.stream_get.offset) == (launcher.FRAME_CONTEXT, launcher.API_STREAM)
    assert (ctypes.sizeof(Stream), Stream.stream.offset) == (launcher.STREAM_SIZE, launcher.STREAM_OUT)
    text = HEADER.read_text()
    for name, order in {  # as they stand in the header that is installed
        "XLA_FFI_Buffer": ["dtype", "data", "rank", "dims"],
        "XLA_FFI_CallFrame": ["api", "ctx", "stage", "args", "rets", "attrs"],
        "XLA_FFI_Metadata": ["struct_size", "api_version", "traits"],
        "XLA_FFI_Api": ["extension_start", "api_version", "internal_api"],
        "XLA_FFI_Stream_Get_Args": ["struct_size", "extension_start", "ctx", "stream"],
        "XLA_FFI_Error_Create_Args": ["struct_size", "extension_start", "message", "errc"],
    }.items():
        body = re.search(rf"struct {name} {{(.*?)\n}}", text, re.S)[1]
        places = [re.search(rf"[ *]{field};", body).start() for field in order]
        assert places == sorted(places), name
    fields = re.findall(r"_XLA_FFI_API_STRUCT_FIELD\((\w+)\)", text[text.index("internal_api;") :])
    assert (fields[0], fields[4]) == ("XLA_FFI_Error_Create", "XLA_FFI_Stream_Get")


def test_a_call():
    x, y, out = np.array([2.0]), np.array([3.0]), np.zeros(1)
    filled, _kept = frame(x, y, out, (7, 1))
    assert made(FIRST_TO_OUT)(ctypes.addressof(filled)) is None
    assert out[0] == 35.0


def test_what_it_was_made_for():
    metadata = Metadata()
    extension = Extension(type=1, metadata=ctypes.addressof(metadata))
    filled = Frame(extension_start=ctypes.addressof(extension))
    assert made(FIRST_TO_OUT)(ctypes.addressof(filled)) is None
    version = metadata.version
    assert (version.struct_size, version.major, version.minor, metadata.traits) == (24, 0, 3, 0)


def test_want_of_memory_is_an_error_of_xla():
    said = []

    @ctypes.CFUNCTYPE(POINTER, ctypes.POINTER(Error))
    def create(error):
        said.append((error[0].struct_size, error[0].message.decode(), error[0].code))
        return 1234

    api = Api(error_create=ctypes.cast(create, POINTER).value)
    filled, _kept = frame(np.ones(1), np.ones(1), np.ones(1), (1, 1))
    filled.api = ctypes.addressof(api)
    assert made(NO_MEMORY)(ctypes.addressof(filled)) == 1234
    assert said == [(28, handler.NO_MEMORY, 8)]


LAUNCH = ctypes.CFUNCTYPE(INT, POINTER, *[ctypes.c_uint] * 7, POINTER, ctypes.POINTER(POINTER), POINTER)
"""``cuLaunchKernel``"""


@pytest.mark.parametrize(("count", "fails"), [(100, False), (0, False), (100, True)])
def test_stages_are_launched_on_the_stream_of_xla(count, fails):
    """Each with its blocks and pointers; nothing without states; a refused launch is an error of XLA."""
    seen, said = [], []

    @LAUNCH
    def launch(function, gx, gy, gz, bx, by, bz, shared, stream, given, extra):
        pointed = [ctypes.cast(given[k], ctypes.POINTER(POINTER))[0] for k in range(5)]
        number = ctypes.cast(given[5], ctypes.POINTER(ctypes.c_uint))[0]
        seen.append((function, (gx, gy, gz), (bx, by, bz), shared, stream, pointed, number))
        return 700 if fails else 0

    @ctypes.CFUNCTYPE(POINTER, ctypes.POINTER(Stream))
    def stream_get(asked):
        assert (asked[0].struct_size, asked[0].ctx) == (ctypes.sizeof(Stream), 77)
        asked[0].stream = 4321

    @ctypes.CFUNCTYPE(POINTER, ctypes.POINTER(Error))
    def create(error):
        said.append((error[0].message.decode(), error[0].code))
        return 1234

    address = [ctypes.cast(x, POINTER).value for x in (launch, stream_get, create)]
    stages = [launcher.Launch(11, 64, 64, 0), launcher.Launch(12, 32, 192, 4096)]
    text = "\n".join(launcher.launcher(2, stages, address[0], (0, 3)))
    library = native.Library(native.object_code(text), ["launch"])
    x, y, out, work = (np.zeros(1) for _ in range(4))
    filled, kept = frame(x, y, out, (5, count))
    more = Buffer(data=work.ctypes.data)
    results = pointers(kept[4][2], more)
    api = Api(error_create=address[2], stream_get=address[1])
    filled.rets.values, filled.api, filled.ctx = ctypes.addressof(results), ctypes.addressof(api), 77
    found = ctypes.CFUNCTYPE(POINTER, POINTER)(library.address("launch"))(ctypes.addressof(filled))
    assert (found, said) == ((1234, [(launcher.REFUSED, 13)]) if fails else (None, []))
    given = [a.ctypes.data for a in (x, y, work, work, out)]
    shapes = [(11, (2, 1, 1), (64, 1, 1), 0), (12, (4, 1, 1), (192, 1, 1), 4096)]
    assert seen == ([(*shape, 4321, given, count) for shape in shapes] if count else [])


def test_versions(monkeypatch, tmp_path):
    assert handler.version() >= handler.OLDEST
    (tmp_path / "xla" / "ffi" / "api").mkdir(parents=True)
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    with pytest.raises(FileNotFoundError):
        handler.version.__wrapped__()
    header = tmp_path / "xla" / "ffi" / "api" / "c_api.h"
    numbers = "#define XLA_FFI_API_MAJOR {}\n#define XLA_FFI_API_MINOR {}\n"
    for text, told in (("", "-1.-1"), (numbers.format(1, 0), "1.0"), (numbers.format(0, 0), "0.0")):
        header.write_text(text)
        with pytest.raises(ValueError, match=rf"has version {told} of the interface, not 0\.1 or a later 0"):
            handler.version.__wrapped__()
    for minor in (1, 3, 9):
        header.write_text(numbers.format(0, minor))
        assert handler.version.__wrapped__() == (0, minor)
    monkeypatch.delattr(jax, "ffi")
    with pytest.raises(ValueError, match=r"has no jax\.ffi"):
        handler.version.__wrapped__()
