"""A GPU on the CPU: a few lines stand in for CuPy and CUDA, thread after thread."""

import ctypes
import itertools
import re
import subprocess
import types

import numpy as np

from fallingcat.compiler.cuda import cost_model as machine

GPU = """
#include <cmath>
#include <cstring>
using std::fma; using std::sqrt;
#define __global__
#define __device__
#define __constant__
#define __syncthreads()
#define __align__(bytes) alignas(bytes)
struct int2 { int x, y; };
struct int4 { int x, y, z, w; };
struct double2 { double x, y; };
struct float4 { float x, y, z, w; };
#define make_double2(...) {__VA_ARGS__}
#define make_float4(...) {__VA_ARGS__}
#define __cvta_generic_to_shared(p) 0
#define __forceinline__ inline
#define __shared__
#define __launch_bounds__(...)
#define __restrict__
#define __ldg(p) (*(p))
#define __stcs(p, x) (*(p) = (x))
#define __ldcg(p) (*(p))
#define __stcg(p, x) (*(p) = (x))
#define __fdividef(a, b) ((a) / (b))
static struct { unsigned x; } blockIdx, blockDim, threadIdx;
static inline long long __double_as_longlong(double x) { long long k; std::memcpy(&k, &x, 8); return k; }
static inline int __float_as_int(float x) { int k; std::memcpy(&k, &x, 4); return k; }
static inline unsigned atomicAdd(unsigned *p, unsigned x) { const unsigned y = *p; *p += x; return y; }
extern char pool[];
char pool[1 << 22];
"""


MAKERS = "abs", "ascontiguousarray", "broadcast_to", "flatnonzero", "full_like", "stack", "where", "zeros", "zeros_like"


class DeviceArray(np.ndarray):
    """Stands for an array on the GPU."""

    def get(self):
        return np.array(self)


class Device:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class Module:
    """Stands for ``cupy.RawModule``: compiles for the CPU, launches by loops over blocks and threads."""

    numbers = itertools.count()

    def __init__(self, folder, code):
        size = 8 if "double *fc_at" in code else 4
        code = re.sub(r'asm\("mad.*', f"r = (unsigned long long)p + n * (k * {size}ULL);", code)
        code = re.sub(r'asm volatile\("\{.*', "if (k < end) *p = y;", code)
        code = re.sub(r'asm volatile\("ld.*', "std::memcpy(&x, pool + p, sizeof x);", code)
        code = re.sub(r'asm volatile\("st.shared.*', "std::memcpy(pool + p, from, sizeof *from);", code)
        code = re.sub(r"asm volatile.*", "", code)
        name, parameters = re.search(r"__launch_bounds__\(.*\)\n(\w+)\(([^)]*)\)", code).groups()
        times = 2 if "__syncthreads();" in code else 1  # what threads hand each other is there the second time
        given = ", ".join(re.findall(r"(\w+)(?:,|$)", parameters))
        launch = (
            f'extern "C" void launch(unsigned blocks, unsigned threads, {parameters})\n{{\n    blockDim.x = threads;\n'
            "    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)\n"
            f"        for (int time = 0; time < {times}; time++)\n"
            f"            for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) {name}({given});\n}}\n"
        )
        file = folder / f"gpu{next(self.numbers)}.cpp"
        file.write_text(GPU + code + launch)
        command = ["g++", "-O0", "-ffp-contract=off", "-shared", "-fPIC", str(file), "-o", str(file.with_suffix(".so"))]
        subprocess.run(command, check=True, capture_output=True, text=True)
        self._launch = ctypes.CDLL(str(file.with_suffix(".so"))).launch

    def get_function(self, _):
        def kernel(grid, block, arguments, shared_mem):
            assert shared_mem <= machine.SHARED_MEMORY
            arrays = [x for x in arguments if isinstance(x, np.ndarray)]
            assert all(x.flags.c_contiguous for x in arrays)
            pointers = [ctypes.c_void_p(x.ctypes.data) for x in arrays]
            counts = [ctypes.c_uint(int(x)) for x in (*grid, *block, *arguments[len(arrays) :])]
            self._launch(*counts[:2], *pointers, *counts[2:])

        return kernel


def emulated(folder):
    """Stands for the module ``cupy``; what it compiles lies in ``folder``."""

    def on_device(make):
        return lambda *a, **k: make(*a, **k).view(DeviceArray)

    def empty(shape, dtype=float):
        return np.full(shape, np.nan, dtype)  # whatever is not written shows

    def from_dlpack(x):
        assert type(x) is not np.ndarray, "in this computer's memory, where CuPy does not look"
        return np.from_dlpack(x).view(DeviceArray)

    module = types.ModuleType("cupy")
    module.ndarray = DeviceArray
    for name in MAKERS:
        setattr(module, name, on_device(getattr(np, name)))
    for name in ("concatenate", "copyto", "isfinite", "maximum", "moveaxis", "sqrt", "swapaxes"):
        setattr(module, name, getattr(np, name))
    module.from_dlpack = from_dlpack
    module.asarray = on_device(lambda x, dtype=None: np.array(x, dtype, order="C"))
    module.empty, module.asnumpy = on_device(empty), np.array
    module.cuda = types.SimpleNamespace(Device=Device)
    module.RawModule = lambda code, options, backend: Module(folder, code)
    return module
