"""Riccati recursion on a GPU: a block of threads for each problem, matrices of one node in shared memory.

It follows :mod:`.recursion`, whose loops run on the CPU: products are shared by all threads, the box-constrained
quadratic program of a node is solved by the first.
"""

from __future__ import annotations

from typing import Any

from ..caching import cached_property
from ..compiler.cuda.nvrtc import cupy_module
from .recursion import MAX_ACTIVE_SETS, SLOPE_TOLERANCE
from .riccati import Arrays

THREADS = 192
"""Threads of a block."""
SHARED_BYTES = 200 * 1024
"""Shared memory of a block at most; matrices that need more lie in global memory."""

TEXT = """
#define X %(size)d
#define U %(n)d
#define B (X + U)
#define STEPS %(steps)d
#define SHARED %(shared)d

__device__ bool factored(const double *H, const int *free, double *L) {
    for (int i = 0; i < U; i++)
        for (int j = 0; j <= i; j++) {
            if (!free[i] || !free[j]) { L[i * U + j] = i == j ? 1.0 : 0.0; continue; }
            double s = H[i * U + j];
            for (int k = 0; k < j; k++) s -= L[i * U + k] * L[j * U + k];
            if (i == j) { if (!(s > 0.0)) return false; L[i * U + i] = sqrt(s); }
            else L[i * U + j] = s / L[j * U + j];
        }
    return true;
}

__device__ void solved(const double *L, double *x) {
    for (int i = 0; i < U; i++) {
        double s = x[i];
        for (int k = 0; k < i; k++) s -= L[i * U + k] * x[k];
        x[i] = s / L[i * U + i];
    }
    for (int i = U - 1; i >= 0; i--) {
        double s = x[i];
        for (int k = i + 1; k < U; k++) s -= L[k * U + i] * x[k];
        x[i] = s / L[i * U + i];
    }
}

__device__ double slope_of(const double *H, const double *g, const double *x, int i) {
    double s = g[i];
    for (int j = 0; j < U; j++) s += H[i * U + j] * x[j];
    return s;
}

__device__ double quadratic(const double *H, const double *g, const double *x) {
    double s = 0.0;
    for (int i = 0; i < U; i++) s += 0.5 * x[i] * (slope_of(H, g, x, i) + g[i]);
    return s;
}

// least x' H x / 2 + g' x between bounds, by projected Newton steps; L factors the free part of H
__device__ bool bounded(const double *H, const double *g, const double *low, const double *high, double *x, double *L,
                        double *room, int *free) {
    double *slope = room, *step = room + U, *trial = room + 2 * U, size = 0.0;
    bool inside = true;
    for (int i = 0; i < U; i++) { free[i] = 1; x[i] = -g[i]; size = fmax(size, fabs(g[i])); }
    if (!factored(H, free, L)) return false;
    solved(L, x);
    for (int i = 0; i < U; i++) inside = inside && low[i] < x[i] && x[i] < high[i];
    if (inside) return true;
    for (int i = 0; i < U; i++) x[i] = x[i] < low[i] ? low[i] : (x[i] > high[i] ? high[i] : x[i]);
    for (int turn = 0; turn < %(turns)d; turn++) {
        bool same = turn > 0;
        double worst = 0.0;
        for (int i = 0; i < U; i++) {
            const double s = slope_of(H, g, x, i);
            slope[i] = s;
            const int now = !((x[i] <= low[i] && s > 0.0) || (x[i] >= high[i] && s < 0.0));
            same = same && now == free[i];
            free[i] = now;
            if (now) worst = fmax(worst, fabs(s));
        }
        if (same && worst <= %(tolerance)r * (1.0 + size)) break;
        if (!factored(H, free, L)) return false;
        for (int i = 0; i < U; i++) step[i] = free[i] ? -slope[i] : 0.0;
        solved(L, step);
        const double cost = quadratic(H, g, x);
        for (double length = 1.0; length > 1e-4; length *= 0.5) {
            for (int i = 0; i < U; i++) {
                const double s = x[i] + length * step[i];
                trial[i] = s < low[i] ? low[i] : (s > high[i] ? high[i] : s);
            }
            if (quadratic(H, g, trial) <= cost) { for (int i = 0; i < U; i++) x[i] = trial[i]; break; }
        }
    }
    return factored(H, free, L);
}

extern "C" __global__ void __launch_bounds__(%(threads)d)
backward_pass(const double *dynamics, const double *gaps, const double *slopes, const double *hessians,
              const double *lows, const double *highs, double *ks, double *Ks, double *adjoints, const double *damping,
              double *report, double *rooms) {
    __align__(16) extern __shared__ char pool[];
    const int problem = blockIdx.x, thread = threadIdx.x, threads = blockDim.x;
    if (damping[problem] < 0.0) return;
    double *at = SHARED ? (double *)pool : rooms + (size_t)problem * %(doubles)d;
    double *V = at; at += X * X;
    double *F = at; at += X * B;
    double *G = at; at += X * B;
    double *Q = at; at += B * B;
    double *H = at; at += U * U;
    double *L = at; at += U * U;
    double *Y = at; at += U * X;
    double *q = at; at += B;
    double *along = at; at += B;
    double *value = at; at += X;
    double *costate = at; at += X;
    double *product = at; at += X;
    double *room = at; at += 3 * U;
    double *k = at; at += U;
    __shared__ int free[U];
    __shared__ int good;
    dynamics += (size_t)problem * STEPS * X * B;
    gaps += (size_t)problem * (STEPS + 1) * X;
    slopes += (size_t)problem * (STEPS + 1) * B;
    hessians += (size_t)problem * (STEPS + 1) * B * B;
    lows += (size_t)problem * STEPS * U;
    highs += (size_t)problem * STEPS * U;
    ks += (size_t)problem * STEPS * U;
    Ks += (size_t)problem * STEPS * U * X;
    adjoints += (size_t)problem * (STEPS + 1) * X;
    report += 4 * problem;

    const double *last = hessians + (size_t)STEPS * B * B;
    for (int e = thread; e < X * X; e += threads) V[e] = last[e / X * B + e %% X];
    for (int i = thread; i < X; i += threads) {
        const double s = slopes[(size_t)STEPS * B + i];
        value[i] = s; costate[i] = s; adjoints[(size_t)STEPS * X + i] = s;
    }
    double gradient = 0.0, slope = 0.0, curvature = 0.0;  // of the first thread
    for (int node = STEPS - 1; node >= 0; node--) {
        const double *low = lows + node * U, *high = highs + node * U, *gap = gaps + (node + 1) * X;
        const double *own = hessians + (size_t)node * B * B;
        for (int e = thread; e < X * B; e += threads) F[e] = dynamics[(size_t)node * X * B + e];
        __syncthreads();
        // Q = H + F' V F and q = slope + F' (value + V gap)
        for (int i = thread; i < X; i += threads) {
            double s = value[i];
            for (int j = 0; j < X; j++) s += V[j * X + i] * gap[j];  // V is symmetric
            product[i] = s;
        }
        for (int e = thread; e < X / 2 * (B / 2); e += threads) {  // blocks of 2 x 2
            const int i = 2 * (e / (B / 2)), j = 2 * (e %% (B / 2));
            double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
            for (int m = 0; m < X; m++) {
                const double s = V[m * X + i], t = V[m * X + i + 1], y = F[m * B + j], z = F[m * B + j + 1];
                a += s * y; b += s * z; c += t * y; d += t * z;
            }
            G[i * B + j] = a; G[i * B + j + 1] = b; G[(i + 1) * B + j] = c; G[(i + 1) * B + j + 1] = d;
        }
        if (B %% 2)
            for (int i = thread; i < X; i += threads) {
                double s = 0.0;
                for (int m = 0; m < X; m++) s += V[m * X + i] * F[m * B + B - 1];
                G[i * B + B - 1] = s;
            }
        if (X %% 2)
            for (int j = thread; j < B / 2 * 2; j += threads) {
                double s = 0.0;
                for (int m = 0; m < X; m++) s += V[m * X + X - 1] * F[m * B + j];
                G[(X - 1) * B + j] = s;
            }
        __syncthreads();
        for (int j = thread; j < B; j += threads) {
            double s = slopes[(size_t)node * B + j], t = s;
            for (int m = 0; m < X; m++) { s += F[m * B + j] * product[m]; t += F[m * B + j] * costate[m]; }
            q[j] = s; along[j] = t;
        }
        const int half = (B + 1) / 2;
        for (int e = thread; e < half * half; e += threads) {  // blocks of 2 x 2, on and right of the diagonal
            const int i = 2 * (e / half), j = 2 * (e %% half), more = i + 1 < B, next = j + 1 < B;
            if (j < i) continue;
            double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
            for (int m = 0; m < X; m++) {
                const double s = F[m * B + i], t = more ? F[m * B + i + 1] : 0.0;
                const double y = G[m * B + j], z = next ? G[m * B + j + 1] : 0.0;
                a += s * y; b += s * z; c += t * y; d += t * z;
            }
            Q[i * B + j] = a + own[i * B + j];
            if (next) Q[i * B + j + 1] = b + own[i * B + j + 1];
            if (more && j > i) Q[(i + 1) * B + j] = c + own[(i + 1) * B + j];
            if (more && next) Q[(i + 1) * B + j + 1] = d + own[(i + 1) * B + j + 1];
        }
        __syncthreads();
        for (int e = thread; e < U * U; e += threads) {
            const int i = e / U, j = e %% U, r = i < j ? i : j, c = i < j ? j : i;
            H[e] = Q[(X + r) * B + X + c] + (i == j ? damping[problem] : 0.0);
        }
        __syncthreads();
        if (thread == 0) good = bounded(H, q + X, low, high, k, L, room, free);
        __syncthreads();
        if (!good) { if (thread == 0) report[3] = 1.0; return; }
        if (thread == 0)  // change of the cost, and its derivative along the motion
            for (int i = 0; i < U; i++) {
                const double g = along[X + i];
                const bool out = (low[i] >= 0.0 && g > 0.0) || (high[i] <= 0.0 && g < 0.0);
                if (!out) gradient = fmax(gradient, fabs(g));
                slope += q[X + i] * k[i];
                double s = 0.0;
                for (int j = 0; j < U; j++) s += H[i * U + j] * k[j];
                curvature += k[i] * s;
                ks[node * U + i] = k[i];
            }
        // value = qx + Qxu k, V = Qxx - (L^-1 Qux)' (L^-1 Qux), K = -L'^-1 L^-1 Qux, of the free inputs
        for (int j = thread; j < X; j += threads) {
            double s = q[j];
            for (int i = 0; i < U; i++) s += k[i] * Q[j * B + X + i];
            value[j] = s; costate[j] = along[j]; adjoints[(size_t)node * X + j] = s;
            for (int i = 0; i < U; i++) {
                double y = free[i] ? Q[j * B + X + i] : 0.0;
                for (int m = 0; m < i; m++) y -= L[i * U + m] * Y[m * X + j];
                Y[i * X + j] = free[i] ? y / L[i * U + i] : 0.0;
            }
        }
        __syncthreads();
        for (int e = thread; e < X * X; e += threads) {
            const int i = e / X, j = e %% X;
            if (j < i) continue;
            double s = Q[i * B + j];
            for (int m = 0; m < U; m++) s -= Y[m * X + i] * Y[m * X + j];
            V[i * X + j] = s; V[j * X + i] = s;
        }
        __syncthreads();
        for (int j = thread; j < X; j += threads)
            for (int i = U - 1; i >= 0; i--) {
                double y = Y[i * X + j];
                for (int m = i + 1; m < U; m++) y -= L[m * U + i] * Y[m * X + j];
                Y[i * X + j] = free[i] ? y / L[i * U + i] : 0.0;
                Ks[((size_t)node * U + i) * X + j] = -Y[i * X + j];
            }
        __syncthreads();
    }
    if (thread == 0) { report[0] = gradient; report[1] = slope; report[2] = curvature; report[3] = 0.0; }
}
"""


class CudaRecursion:
    """Backward pass of many problems of one structure.

    Args:
        steps: Number of steps.
        size: Numbers in ``x``.
        n: Numbers in ``u``.
    """

    def __init__(self, steps: int, size: int, n: int) -> None:
        both = size + n
        self.doubles = size * size + 2 * size * both + both * both + 2 * n * n + n * size + 2 * both + 3 * size + 4 * n
        self.shared = 8 * self.doubles if 8 * self.doubles <= SHARED_BYTES else 0
        about: dict[str, float] = {"steps": steps, "size": size, "n": n, "threads": THREADS, "doubles": self.doubles}
        about |= {"shared": int(self.shared > 0), "turns": MAX_ACTIVE_SETS, "tolerance": SLOPE_TOLERANCE}
        self.source = TEXT % about

    @cached_property
    def _kernel(self) -> Any:
        module = cupy_module().RawModule(code=self.source, options=("-std=c++17",), backend="nvrtc")
        kernel = module.get_function("backward_pass")
        kernel.max_dynamic_shared_size_bytes = self.shared
        return kernel

    def __call__(self, arrays: Arrays, damping: Any, report: Any) -> None:
        """Fill policies and ``report`` (gradient, slope, curvature, status) of all problems with ``damping >= 0``."""
        xp, count = cupy_module(), len(damping)
        rooms = xp.empty((1 if self.shared else count, self.doubles))
        given = (*arrays, damping, report, rooms)
        self._kernel((count,), (THREADS,), given, shared_mem=self.shared)
