"""Riccati recursion on a GPU: a block of threads for each problem, matrices of one node in shared memory.

It follows :mod:`.recursion`, whose loops run on the CPU; all threads share each of its loops.
"""

from __future__ import annotations

from typing import Any

from ..caching import cached_property
from ..compiler.cuda.nvrtc import cupy_module
from .recursion import MAX_ACTIVE_SETS, SLOPE_TOLERANCE
from .riccati import Arrays, Implied

THREADS = 128
"""Threads of a block."""
MOST_BLOCKS = 4
"""Blocks that share a processor: more would leave too few registers to each thread."""
SHARED_BYTES = 200 * 1024
"""Shared memory of a block at most; matrices that need more lie in global memory."""

TEXT = """
#define X %(size)d
#define U %(n)d
#define B (X + U)
#define IMPLIED %(implied)d
#define LEAD %(lead)d
#define DENSE (X - IMPLIED)
#define STEPS %(steps)d
#define SHARED %(shared)d
#define EACH(i, n) (int i = threadIdx.x; i < (n); i += blockDim.x)

// copy from global memory, eight reads at a time: each takes long
__device__ void load(double *to, const double *from, int count) {
    for (int first = threadIdx.x; first < count; first += 8 * blockDim.x) {
        double x[8];
#pragma unroll
        for (int k = 0; k < 8; k++) x[k] = first + k * blockDim.x < count ? from[first + k * blockDim.x] : 0.0;
#pragma unroll
        for (int k = 0; k < 8; k++)
            if (first + k * blockDim.x < count) to[first + k * blockDim.x] = x[k];
    }
}

// C += sign A' F, of matrices with so many numbers in a row, in tiles of 4 x 4; UPPER: on and right of the diagonal
template <int ROWS, int COLUMNS, int COUNT, bool UPPER>
__device__ void add_product(double sign, const double *A, int a, const double *F, int f, double *C, int c) {
    for (int tile = threadIdx.x;; tile += blockDim.x) {
        int i = 0, t = tile, width = (COLUMNS + 3) / 4;
        if (!UPPER) { i = t / width * 4; t %%= width; }
        for (; UPPER && i < ROWS && t >= width; width = (COLUMNS - i + 3) / 4) { t -= width; i += 4; }
        if (i >= ROWS) return;
        int row[4], column[4];
        double sum[16] = {};
        for (int k = 0; k < 4; k++) {  // threads beside each other read numbers beside each other
            row[k] = i + k < ROWS ? i + k : ROWS - 1;
            column[k] = (UPPER ? i : 0) + t + k * width;
        }
#pragma unroll 2
        for (int m = 0; m < COUNT; m++) {
            double x[4], y[4];
            for (int k = 0; k < 4; k++) {
                x[k] = A[m * a + row[k]];
                y[k] = F[m * f + (column[k] < COLUMNS ? column[k] : COLUMNS - 1)];
            }
            for (int k = 0; k < 16; k++) sum[k] += x[k / 4] * y[k %% 4];
        }
        for (int k = 0; k < 16; k++)
            if (i + k / 4 < ROWS && column[k %% 4] < COLUMNS) C[row[k / 4] * c + column[k %% 4]] += sign * sum[k];
    }
}

// (block' x)[i] of the rows that are implied: a block of the first ones, and a number for the others
__device__ double implied(const double *block, double other, const double *x, int stride, int i) {
    if (i >= LEAD) return other * x[i * stride];
    double s = 0.0;
#pragma unroll
    for (int k = 0; k < LEAD; k++) s += block[k * LEAD + i] * x[k * stride];
    return s;
}

// L D of the free part of H = L D L' below the diagonal of C, the identity for the others; its last row: D L^-1 x
__device__ bool factored(const double *H, const double *x, const int *free, double *C, double *inverse) {
    for EACH(e, (U + 1) * U) {
        const int i = e / U, j = e %% U;
        C[e] = i == U ? (free[j] ? x[j] : 0.0) : free[i] && free[j] ? H[i * B + j] : (i == j ? 1.0 : 0.0);
    }
    __syncthreads();
    for (int k = 0; k < U; k++) {
        const double pivot = C[k * U + k], scale = 1.0 / pivot;
        if (!(pivot > 0.0)) return false;
        if (threadIdx.x == 0) inverse[k] = scale;
        for EACH(e, (U + 1) * U) {
            const int i = e / U, j = e %% U;
            if (j > k && j <= i) C[e] -= C[i * U + k] * scale * C[j * U + k];
        }
        __syncthreads();
    }
    return true;
}

// x = L'^-1 D^-1 of the last row of C, in registers
__device__ void solved(const double *C, const double *inverse, double *x) {
    if (threadIdx.x < 32) {
        double y[U];
#pragma unroll
        for (int k = 0; k < U; k++) y[k] = C[U * U + k];
#pragma unroll
        for (int k = U - 1; k >= 0; k--) {
            y[k] *= inverse[k];
#pragma unroll
            for (int i = 0; i < k; i++) y[i] -= C[k * U + i] * y[k];
        }
        if (threadIdx.x == 0) {
#pragma unroll
            for (int k = 0; k < U; k++) x[k] = y[k];
        }
    }
    __syncthreads();
}

__device__ double slope_of(const double *H, const double *g, const double *x, int i) {
    double s = g[i];
    for (int j = 0; j < U; j++) s += H[i * B + j] * x[j];
    return s;
}

__device__ double sum_of(const double *parts) {
    double s = 0.0;
    for (int i = 0; i < U; i++) s += parts[i];
    return s;
}

__device__ bool held(double x, double slope, double low, double high) {
    return (x <= low && slope > 0.0) || (x >= high && slope < 0.0);
}

// least x' H x / 2 + g' x between bounds, by projected Newton steps; C factors the free part of H
__device__ bool bounded(const double *H, const double *g, const double *low, const double *high, double *x, double *C,
                        double *inverse, double *room, int *free) {
    double *slope = room, *step = room + U, *trial = room + 2 * U, *parts = room + 3 * U, size = 0.0;
    bool inside = true;
    for EACH(i, U) { free[i] = 1; x[i] = -g[i]; }
    __syncthreads();
    if (!factored(H, x, free, C, inverse)) return false;
    solved(C, inverse, x);
    for (int i = 0; i < U; i++) {
        inside = inside && low[i] < x[i] && x[i] < high[i];
        size = fmax(size, fabs(g[i]));
    }
    if (inside) return true;
    __syncthreads();
    for EACH(i, U) x[i] = x[i] < low[i] ? low[i] : (x[i] > high[i] ? high[i] : x[i]);
    __syncthreads();
    for (int turn = 0; turn < %(turns)d; turn++) {
        for EACH(i, U) {
            slope[i] = slope_of(H, g, x, i);
            parts[i] = 0.5 * x[i] * (slope[i] + g[i]);
        }
        __syncthreads();
        bool same = turn > 0;
        double worst = 0.0;
        for (int i = 0; i < U; i++) {
            const int now = !held(x[i], slope[i], low[i], high[i]);
            same = same && now == free[i];
            if (now) worst = fmax(worst, fabs(slope[i]));
        }
        const double cost = sum_of(parts);
        __syncthreads();
        for EACH(i, U) {
            free[i] = !held(x[i], slope[i], low[i], high[i]);
            step[i] = free[i] ? -slope[i] : 0.0;
        }
        __syncthreads();
        if (same && worst <= %(tolerance)r * (1.0 + size)) return true;
        if (!factored(H, step, free, C, inverse)) return false;
        solved(C, inverse, step);
        for (double length = 1.0; length > 1e-4; length *= 0.5) {
            for EACH(i, U) {
                const double s = x[i] + length * step[i];
                trial[i] = s < low[i] ? low[i] : (s > high[i] ? high[i] : s);
            }
            __syncthreads();
            for EACH(i, U) parts[i] = 0.5 * trial[i] * (slope_of(H, g, trial, i) + g[i]);
            __syncthreads();
            const bool enough = sum_of(parts) <= cost;
            if (enough) for EACH(i, U) x[i] = trial[i];
            __syncthreads();
            if (enough) break;
        }
    }
    return factored(H, x, free, C, inverse);
}

extern "C" __global__ void __launch_bounds__(%(threads)d, %(blocks)d)
backward_pass(const double *dynamics, const double *starts, const double *ways, const double *dts, const double *gaps,
              const double *slopes, const double *hessians, const double *lows, const double *highs, double *ks,
              double *Ks, double *adjoints, const double *damping, double *report, double *rooms) {
    __align__(16) extern __shared__ char pool[];
    const int problem = blockIdx.x, thread = threadIdx.x;
    if (damping[problem] < 0.0) return;
    double *at = SHARED ? (double *)pool : rooms + (size_t)problem * %(doubles)d;
    double *Q = at; at += B * B;
    double *G = at; at += X * B;
    double *D = at; at += DENSE * B;
    double *start = at; at += LEAD * LEAD;
    double *way = at; at += LEAD * LEAD;
    double *C = at; at += (U + 1) * U;
    double *Y = at; at += U * X;
    double *q = at; at += B;
    double *value = at; at += X;
    double *product = at; at += X;
    double *room = at; at += 4 * U;
    double *k = at; at += U;
    double *low = at; at += U;
    double *high = at; at += U;
    double *inverse = at; at += U;
    double *root = at; at += U;
    double *gap = at; at += X;
    double *V = Q, *H = Q + X * B + X;  // V of the next node is where Qxx of this one is
    __shared__ int free[U];
    dynamics += (size_t)problem * STEPS * DENSE * B;
    starts += (size_t)problem * STEPS * LEAD * LEAD;
    ways += (size_t)problem * STEPS * LEAD * LEAD;
    dts += (size_t)problem * STEPS;
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
    for EACH(e, X * X) V[e / X * B + e %% X] = last[e / X * B + e %% X];
    for EACH(i, X) {
        const double s = slopes[STEPS * B + i];
        value[i] = s; adjoints[(size_t)STEPS * X + i] = s;
    }
    const double more = damping[problem];
    double gradient = 0.0, slope = 0.0, curvature = 0.0;  // of the last thread
    __syncthreads();
    for (int node = STEPS - 1; node >= 0; node--) {
        const double dt = dts[node];
        load(D, dynamics + (size_t)node * DENSE * B, DENSE * B);
        load(start, starts + node * LEAD * LEAD, LEAD * LEAD);
        load(way, ways + node * LEAD * LEAD, LEAD * LEAD);
        load(low, lows + node * U, U);
        load(high, highs + node * U, U);
        load(gap, gaps + (node + 1) * X, X);
        load(q, slopes + node * B, B);
        __syncthreads();
        // F = [start + way D; D]: G = V F and Q = H + F' G by products of D alone
        for EACH(i, X) {
            double s = value[i];
            for (int j = 0; j < X; j++) s += V[j * B + i] * gap[j];  // V is symmetric
            product[i] = s;
        }
        for EACH(e, X * B) if (e %% B >= IMPLIED) G[e] = 0.0;
#if IMPLIED
        for EACH(e, X * IMPLIED) {
            const int i = e / IMPLIED, j = e %% IMPLIED;
            G[i * B + j] = implied(start, 1.0, V + i, B, j);
        }
#endif
        __syncthreads();
        for EACH(e, IMPLIED * X) V[(IMPLIED + e / X) * B + e %% X] += implied(way, dt, V + e %% X, B, e / X);
        for EACH(i, IMPLIED) product[IMPLIED + i] += implied(way, dt, product, 1, i);
        __syncthreads();
        add_product<X, B, DENSE, false>(1.0, V + IMPLIED * B, B, D, B, G, B);
        __syncthreads();
        load(Q, hessians + (size_t)node * B * B, B * B);
        for EACH(e, IMPLIED * B) Q[e] += implied(start, 1.0, G + e %% B, B, e / B);
        for EACH(e, IMPLIED * B) G[(IMPLIED + e / B) * B + e %% B] += implied(way, dt, G + e %% B, B, e / B);
        for EACH(j, B) {
            double s = q[j];
            if (j < IMPLIED) s += implied(start, 1.0, product, 1, j);
            for (int m = 0; m < DENSE; m++) s += D[m * B + j] * product[IMPLIED + m];
            q[j] = s;
        }
        __syncthreads();
        add_product<B, B, DENSE, true>(1.0, D, B, G + IMPLIED * B, B, Q, B);
        __syncthreads();
        for EACH(e, U * U) {
            const int i = e / U, j = e %% U;
            if (i == j) H[i * B + i] += more;
            if (j > i) H[j * B + i] = H[i * B + j];
        }
        __syncthreads();
        if (!bounded(H, q + X, low, high, k, C, inverse, room, free)) {
            if (thread == 0) report[3] = 1.0;
            return;
        }
        for EACH(i, U) {
            room[i] = k[i] * (slope_of(H, q + X, k, i) - q[X + i]);
            root[i] = sqrt(inverse[i]);
            ks[node * U + i] = k[i];
        }
        __syncthreads();
        // value = qx + Qxu k, V = Qxx - Qxu H^-1 Qux, K = -H^-1 Qux, of the free inputs
        for EACH(j, X) {
            double s = q[j], y[U], scaled[U];
            for (int i = 0; i < U; i++) s += k[i] * Q[j * B + X + i];
            value[j] = s; adjoints[(size_t)node * X + j] = s;
#pragma unroll
            for (int i = 0; i < U; i++) {
                y[i] = free[i] ? Q[j * B + X + i] : 0.0;
#pragma unroll
                for (int m = 0; m < i; m++) y[i] -= C[i * U + m] * scaled[m];
                scaled[i] = y[i] * inverse[i];
                Y[i * X + j] = y[i] * root[i];
            }
#pragma unroll
            for (int i = U - 1; i >= 0; i--) {
#pragma unroll
                for (int m = i + 1; m < U; m++) y[i] -= C[m * U + i] * y[m];
                y[i] *= inverse[i];
                Ks[((size_t)node * U + i) * X + j] = free[i] ? -y[i] : 0.0;
            }
        }
        __syncthreads();
        if (thread == blockDim.x - 1) {  // change of the cost; Qxu k is d Lagrangian / dx
            for (int i = 0; i < U; i++) {
                const double g = q[X + i];
                if (!((low[i] >= 0.0 && g > 0.0) || (high[i] <= 0.0 && g < 0.0))) gradient = fmax(gradient, fabs(g));
                slope += g * k[i];
                curvature += room[i];
            }
            for (int i = 0; node && i < X; i++) gradient = fmax(gradient, fabs(value[i] - q[i]));
        }
        add_product<X, X, U, true>(-1.0, Y, X, Y, X, V, B);
        __syncthreads();
        for EACH(e, X * X) if (e %% X > e / X) V[e %% X * B + e / X] = V[e / X * B + e %% X];
        __syncthreads();
    }
    if (thread == blockDim.x - 1) { report[0] = gradient; report[1] = slope; report[2] = curvature; report[3] = 0.0; }
}
"""


class CudaRecursion:
    """Backward pass of many problems of one structure.

    Args:
        steps: Number of steps.
        size: Numbers in ``x``.
        n: Numbers in ``u``.
        implied: Numbers in ``x`` whose change follows from that of others.
    """

    def __init__(self, steps: int, size: int, n: int, implied: Implied) -> None:
        both, (known, lead) = size + n, implied
        self.doubles = both * (both + size + size - known) + 2 * lead * lead + (n + 1) * n + n * size
        self.doubles += both + 3 * size + 9 * n
        self.shared = 8 * self.doubles if 8 * self.doubles <= SHARED_BYTES else 0
        about: dict[str, float] = {"steps": steps, "size": size, "n": n, "threads": THREADS, "doubles": self.doubles}
        about |= {"implied": known, "lead": lead, "blocks": min(MOST_BLOCKS, SHARED_BYTES // max(self.shared, 1))}
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
