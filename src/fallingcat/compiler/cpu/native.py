"""LLVM text to machine code, and machine code to Python."""

from __future__ import annotations

import ctypes
import functools
import itertools
import struct
import sys
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import ExtraMissingError
from . import python_call
from .code_memory import check_mappings, check_memory
from .module_splitting import modules, packed, unpacked
from .shared_mappings import indirect_calls, one_access
from .threads import making


class Cpu(NamedTuple):
    """Processor that the code is made for."""

    name: str
    features: str
    width: int
    """SIMD width in bytes"""
    fma: bool


@functools.cache
def cpu() -> Cpu:
    """The processor that this process runs on."""
    llvm = binding()
    features = llvm.get_host_cpu_features()
    has = {name for name, present in features.items() if present}
    width = 64 if {"avx512f", "avx512vl", "avx512dq"} <= has else 32 if {"avx2", "fma"} <= has else 16
    fma = "fma" in has or "neon" in has
    return Cpu(llvm.get_host_cpu_name(), features.flatten(), width, fma)


@functools.cache
def binding() -> Any:
    """``llvmlite.binding``, ready to use."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise ExtraMissingError("all", package="llvmlite", purpose="native code") from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def object_code(text: str) -> bytes:
    """The object files of an LLVM module, for this processor; Ctrl-C takes effect after each."""
    return packed(_object_code(part) for part in modules(text))


def quick_code(text: str) -> bytes:
    """The same, made in a third of the time: it takes twice as long, and gives the same bits."""
    return packed(_object_code(part, 0) for part in modules(text))


def _object_code(text: str, level: int = 1) -> bytes:
    check_memory(MEMORY_PER_CHARACTER * len(text))
    return one_access(bytes(_machine(level).emit_object(binding().parse_assembly(indirect_calls(text)))))


def optimize_text(text: str) -> str:
    """Optimised LLVM text: that of ``loop_syntax`` has loops, and memory for every name."""
    check_memory(MEMORY_PER_CHARACTER * len(text))
    llvm, module = binding(), binding().parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    llvm.create_pass_builder(_machine(), options).getModulePassManager().run(
        module, llvm.create_pass_builder(_machine(), options)
    )
    return str(module)


def _machine(level: int = 1) -> Any:
    # level 1: the tracer has optimised already, what is left is instruction selection and register allocation
    target = binding().Target.from_default_triple()
    return target.create_target_machine(
        cpu=cpu().name, features=cpu().features, opt=level, reloc="pic", codemodel="default"
    )


MEMORY_PER_CHARACTER = 32
"""Bytes that LLVM takes for each of a text; measured: up to 13"""
LIBRARIES_PER_LINKER = 16
"""Libraries of one linker: LLVM keeps 9 KB of each that is gone, as long as one of them is there."""


@functools.lru_cache(maxsize=1)
def _linker(group: int) -> Any:
    # JITLink lays code, constants and data out in one piece: the 32-bit offsets between them always reach (the older
    # loader may put them too far apart in a process with much memory mapped, and then aborts)
    return binding().create_lljit_compiler(_machine(), use_jit_link=True)


_numbers = itertools.count()


class Library:
    """Machine code in memory, of what :func:`object_code` gave; it lives as long as this object."""

    def __init__(self, code: bytes, functions: Sequence[str]) -> None:
        builder = binding().JITLibraryBuilder()
        for part in unpacked(code):
            builder.add_object_img(part)
        builder.add_current_process()
        for name in functions:
            builder.export_symbol(name)
        with making:
            check_mappings()
            check_memory(2 * len(code))
            number = next(_numbers)
            linker = _linker(number // LIBRARIES_PER_LINKER)
            self._tracker = builder.link(linker, f"library{number}")  # it keeps its linker
        self._made: dict[tuple[str, int, int], Any] = {}

    def function(self, name: str, arguments: int, counts: int = 1) -> Any:
        """``int name(pointers..., int64...)`` as a ctypes function, which lets other threads run meanwhile."""
        about = name, arguments, counts
        if about not in self._made:
            kinds = [ctypes.c_void_p] * arguments + [ctypes.c_int64] * counts
            self._made[about] = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(self._tracker[name])
            self._made[about].library = self  # the code lives as long as someone may call it
        return self._made[about]

    def address(self, name: str) -> int:
        """Address of a function; its code is there as long as this object."""
        return int(self._tracker[name])

    def python_function(self, slow: Any, build: Any, name: str, dtype: np.dtype) -> Any:
        """``single`` as a builtin function; ``slow`` takes what it cannot, ``build`` puts arrays together."""
        size = ctypes.c_int64.from_address(self._tracker["work_size"]).value
        work = np.zeros(size + WORK_ALIGNMENT, np.uint8)
        known = {
            "ndarray": id(np.ndarray),
            "dtype": id(dtype),
            "slow": id(slow),
            "build": id(build),
            "PyArray_New": _numpy_function(93),
            "PyArray_SetBaseObject": _numpy_function(282),
            "work": work.ctypes.data + -work.ctypes.data % WORK_ALIGNMENT,
        }
        values = [known[name] if name in known else _address(name) for name in python_call.TABLE]
        table = np.array(values, np.int64).view(_Table)
        table.kept = (self, slow, build, dtype, work)  # the builtin borrows them
        definition = _spare.pop() if _spare else _MethodDef()
        definition.name, definition.function, definition.flags = name.encode(), self._tracker["single"], _FLAGS
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
        function = make(ctypes.addressof(definition), table, None)  # it keeps the code alive
        weakref.finalize(function, _spare.append, definition).atexit = False
        return function


WORK_ALIGNMENT = 64
"""Bytes, of a workspace: a cache line"""


class _Table(np.ndarray):
    """Addresses for a builtin, whose ``self`` it is, and what they belong to."""

    kept: tuple[Any, ...] = ()


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_spare: list[_MethodDef] = []
"""Used again but never freed: a builtin looks at its definition even while the garbage collector takes it and its owner
apart."""
_FLAGS = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS


def _address(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def _numpy_function(index: int) -> int:
    """The address of function ``index`` of NumPy's C interface (fixed by its binary compatibility)."""
    from numpy._core._multiarray_umath import _ARRAY_API  # type: ignore[import-not-found]

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(_ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return int(table[index] or 0)


@functools.cache
def fast_entry() -> bool:
    """True if NumPy's arrays look in memory as ``python_call`` expects (CPython, 64 bits, with the GIL)."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or not gil:
        return False
    x = np.zeros((3, 5))

    def field(offset: int, kind: Any) -> Any:
        return kind.from_address(id(x) + offset).value

    shape = (ctypes.c_int64 * 2).from_address(field(python_call.SHAPE, ctypes.c_int64))
    return (
        field(python_call.TYPE, ctypes.c_int64) == id(np.ndarray)
        and field(python_call.DATA, ctypes.c_int64) == x.ctypes.data
        and field(python_call.NDIM, ctypes.c_int32) == 2
        and tuple(shape) == (3, 5)
        and field(python_call.DTYPE, ctypes.c_int64) == id(x.dtype)
        and field(python_call.FLAGS, ctypes.c_int32) & python_call.WELL_BEHAVED == python_call.WELL_BEHAVED
    )
