"""The CUDA text, run on the CPU: a few lines stand in for the GPU, thread after thread."""

import ctypes
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.kernels import compile, cuda, stages

pytestmark = pytest.mark.skipif(shutil.which("g++") is None or sys.platform == "win32", reason="needs a C++ compiler")

GPU = """
#include <cmath>
#include <cstring>
using std::fma; using std::sqrt;
#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__
#define __launch_bounds__(...)
#define __restrict__
#define __ldg(p) (*(p))
#define __stcs(p, x) (*(p) = (x))
#define __fdividef(a, b) ((a) / (b))
static struct { unsigned x; } blockIdx, blockDim, threadIdx;
static inline long long __double_as_longlong(double x) { long long k; std::memcpy(&k, &x, 8); return k; }
static inline int __float_as_int(float x) { int k; std::memcpy(&k, &x, 4); return k; }
char pool[1 << 22];
"""


def on_the_cpu(kernel, folder, shape=None, largest=stages.LARGEST):
    """A function of columns that launches the kernel's stages as the GPU would."""
    dtype, count = kernel.dtype.name, len(kernel.signature)
    cut = stages.stages(kernel.program, dtype, largest)
    texts = [cuda.text(stage, count, dtype, f"stage{k}", shape) for k, stage in enumerate(cut.stages)]
    prelude = "\n".join(cuda.prelude(cuda.Real(dtype)))
    prelude = re.sub(r'asm\("mad.*', f"r = (unsigned long long)p + n * (k * {kernel.dtype.itemsize}ULL);", prelude)
    body = "\n".join(re.sub(r"asm volatile.*", "", text.source) for text in texts)
    pointers = "".join(f", a{k}" for k in range(count))
    parameters = "".join(f", const {cuda.Real(dtype).text} *a{k}" for k in range(count))
    real = cuda.Real(dtype).text
    calls = "".join(
        f"  blockDim.x = {t.block};\n"
        f"  for (blockIdx.x = 0; blockIdx.x * {t.block} < n; blockIdx.x++)\n"
        f"    for (threadIdx.x = 0; threadIdx.x < {t.block}; threadIdx.x++) {t.name}({pointers[2:]}, t, t, out, n);\n"
        for t in texts
    )
    launch = f'extern "C" void launch(unsigned n{parameters}, {real} *t, {real} *out)\n{{\n{calls}}}\n'
    (folder / "gpu.cpp").write_text("\n".join([GPU, prelude, body, launch]))
    command = ["g++", "-O0", "-ffp-contract=off", "-shared", "-fPIC", "gpu.cpp", "-o", "gpu.so"]
    subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
    library = ctypes.CDLL(str(folder / "gpu.so"))

    def run(*columns):
        n = columns[0].shape[1]
        work = np.full((max(cut.places, 1), n), np.nan, dtype)
        out = np.full((len(kernel.program.outputs), n), np.nan, dtype)
        arrays = [np.ascontiguousarray(x, dtype) for x in columns]
        library.launch(ctypes.c_uint(n), *(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, work, out)))
        return out

    return run, texts


@pytest.mark.parametrize(
    ("function", "dtype", "shape", "largest", "tolerance"),
    [
        (fc.inverse_dynamics, "float64", None, stages.LARGEST, 1e-12),
        (fc.forward_dynamics, "float32", None, stages.LARGEST, 1e-4),
        (fc.forward_dynamics, "float64", cuda.Shape(32, 1, 30, 10_000), 1_500, 1e-11),
        (fc.mass_matrix, "float64", cuda.Shape(32, 1, 12, 10_000), stages.LARGEST, 1e-12),
    ],
)
def test_the_text_computes_what_numpy_computes(function, dtype, shape, largest, tolerance, tmp_path):
    model = fc.robots.humanoid()
    kernel = compile(model, function, target="cuda", dtype=dtype)
    run, texts = on_the_cpu(kernel, tmp_path, shape, largest)
    if shape is not None:
        assert any(text.shared for text in texts)
    rng = np.random.default_rng(3)
    states = [model.random_state(rng) for _ in range(5)]  # fewer than threads in a block, and than the next one
    extra = [rng.normal(size=(model.nv, 5))] if len(kernel.signature) > 2 else []
    flat = [model.flatten(state) for state in states]
    known = {"q": np.array([q for q, _ in flat]).T, "v": np.array([v for _, v in flat]).T}
    found = run(*[known[a.name] for a in kernel.signature[: 2 if extra else 1]], *extra)
    for k, state in enumerate(states):
        expected = np.ravel(function(model, state, *(x[:, k] for x in extra)))
        assert np.abs(found[:, k] - expected).max() <= tolerance * np.abs(expected).max()


def test_sine_and_cosine_are_right_to_the_last_digits(tmp_path):
    def turning(model, state, x):
        from fallingcat.arrays import array, cos, sin

        return array([sin(x[0]), cos(x[0])])

    model = fc.robots.cat()
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(-10, 10, 2000), rng.uniform(-1e4, 1e4, 2000), [0.0, -0.0, np.pi, np.pi / 4]])
    for dtype, ulp in (("float32", 2.0**-23), ("float64", 2.0**-52)):
        kernel = compile(model, turning, target="cuda", dtype=dtype, sizes={"x": 1})
        (tmp_path / dtype).mkdir()
        run, _ = on_the_cpu(kernel, tmp_path / dtype)
        angles = x.astype(dtype)[None]
        q = np.zeros((model.nq, len(x)))
        columns = [{"q": q, "v": np.zeros((model.nv, len(x))), "x": angles}[a.name] for a in kernel.signature]
        sine, cosine = run(*columns).astype(np.float64)
        exact = angles[0].astype(np.float64)
        assert np.abs(sine - np.sin(exact)).max() <= 1.5 * ulp
        assert np.abs(cosine - np.cos(exact)).max() <= 1.5 * ulp


def test_a_kernel_tells_what_it_is():
    kernel = compile(fc.robots.cat(), fc.inverse_dynamics, target="cuda")
    assert repr(kernel).startswith("<CudaKernel fc_inverse_dynamics(q(")
    assert [text.name for text in kernel.texts] == ["fc_inverse_dynamics_0"]
    assert sum(kernel.operations.values()) >= len(kernel.program.instructions)
