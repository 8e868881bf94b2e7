/* Evaluations per second of kernels that GRiD (github.com/A2R-Lab/GRiD) generated for a robot: `generateGRiD.py robot.urdf`
 * writes grid.cuh, and benchmarks/gpu.py --grid FOLDER compiles this beside it.  One line for each function: its name and
 * the rate of the best launch of several. */
#include <cstdint>
#include <cstdio>
#include <vector>
#include "grid.cuh"

constexpr int STATES = 1 << 16, N = grid::NUM_JOINTS;
const float gravity = 9.81f;

template <typename Kernel, typename Launch>
void measure(const char *name, Kernel kernel, int shared, Launch launch)
{
    float best = 0.0f;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    for (int threads : {32, 64, 128, 256, 352, 512})
        for (int blocks : {STATES, 132 * 16}) {
            cudaEvent_t start, stop;
            cudaEventCreate(&start), cudaEventCreate(&stop);
            launch(blocks, threads, shared);
            cudaEventRecord(start);
            for (int k = 0; k < 3; k++) launch(blocks, threads, shared);
            cudaEventRecord(stop), cudaEventSynchronize(stop);
            float ms;
            cudaEventElapsedTime(&ms, start, stop);
            if (cudaGetLastError() == cudaSuccess && 3e3f * STATES / ms > best) best = 3e3f * STATES / ms;
        }
    printf("%s %g\n", name, best);
}

int main()
{
    std::vector<float> numbers(3 * N * STATES);
    unsigned seed = 1;
    for (float &x : numbers) x = (seed = 1664525u * seed + 1013904223u) / 2147483648.0f - 1.0f;
    float *given, *qdd, *out;
    cudaMalloc(&given, numbers.size() * sizeof(float));
    cudaMalloc(&qdd, N * STATES * sizeof(float));
    cudaMalloc(&out, size_t(2 * N * N) * STATES * sizeof(float));
    cudaMemcpy(given, numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(qdd, numbers.data(), N * STATES * sizeof(float), cudaMemcpyHostToDevice);
    const grid::robotModel<float> *robot = grid::init_robotModel<float>();
    using Model = const grid::robotModel<float> *;
    void (*inverse)(float *, const float *, int, const float *, Model, float, int) = grid::inverse_dynamics_kernel<float>;
    void (*forward)(float *, const float *, int, Model, float, int) = grid::forward_dynamics_kernel<float>;
    void (*inverse_gradient)(float *, const float *, int, const float *, Model, float, int) =
        grid::inverse_dynamics_gradient_kernel<float>;
    void (*forward_gradient)(float *, const float *, int, Model, float, int) =
        grid::forward_dynamics_gradient_kernel<float>;
    measure("inverse_dynamics", inverse, 4 * grid::ID_DYNAMIC_SHARED_MEM_COUNT, [&](int b, int t, int s) {
        inverse<<<b, t, s>>>(out, given, 3 * N, qdd, robot, gravity, STATES);
    });
    measure("forward_dynamics", forward, 4 * grid::FD_DYNAMIC_SHARED_MEM_COUNT, [&](int b, int t, int s) {
        forward<<<b, t, s>>>(out, given, 3 * N, robot, gravity, STATES);
    });
    measure("inverse_dynamics_derivatives", inverse_gradient, 4 * grid::ID_DU_MAX_SHARED_MEM_COUNT, [&](int b, int t, int s) {
        inverse_gradient<<<b, t, s>>>(out, given, 3 * N, qdd, robot, gravity, STATES);
    });
    measure("forward_dynamics_derivatives", forward_gradient, 4 * grid::FD_DU_MAX_SHARED_MEM_COUNT, [&](int b, int t, int s) {
        forward_gradient<<<b, t, s>>>(out, given, 3 * N, robot, gravity, STATES);
    });
}
