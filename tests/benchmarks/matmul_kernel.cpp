// SPDX-License-Identifier: Apache-2.0
// Compares the matrix multiplication of bots/matmul with a BLAS, on one core: products of single tiles, of the matrices
// of one task, and of whole matrices. The target is a ratio of at most 1.5. Rounds of both are interleaved, so a
// disturbance of the machine affects both. Prints medians and minima as one JSON object. Not part of the suite, which
// needs no BLAS.
//
//   c++ -std=c++20 -O2 -DOMPASS_DISABLE -I bots/common -I bots/matmul -I ompt_tool/include
//       tests/benchmarks/matmul_kernel.cpp -o matmul_kernel -lopenblas        (Debian: libopenblas-dev)
//   OPENBLAS_NUM_THREADS=1 taskset -c 0 ./matmul_kernel
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include <cblas.h>

#include "matmul_input.hpp"

namespace {

constexpr int kRounds = 31;

template <class Run>
double seconds_of(int n_runs, const Run &run) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < n_runs; i++) run();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count() / n_runs;
}

struct Seconds {
    double median;
    double least;
};

Seconds summary(std::array<double, kRounds> seconds) {
    std::sort(seconds.begin(), seconds.end());
    return {seconds[kRounds / 2], seconds[0]};
}

void compare(std::size_t n, const char *end) {
    bots::MatmulInput input(n);
    input.fill();
    const std::vector<float> a(n * n, 1.0f), b(n * n, 0.5f);
    std::vector<float> c(n * n);
    const int side = static_cast<int>(n);
    const double n_flops = input.n_flops();
    const int n_runs = std::max(1, static_cast<int>(1e9 / n_flops / 4)); // some milliseconds
    std::array<double, kRounds> ours, theirs;
    for (std::size_t round = 0; round < kRounds; round++) {
        ours[round] = seconds_of(n_runs, [&] { bots::multiply_serial(input.product()); });
        theirs[round] = seconds_of(n_runs, [&] {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1.0f, a.data(), side, b.data(),
                        side, 1.0f, c.data(), side);
        });
    }
    const Seconds our = summary(ours), their = summary(theirs);
    std::printf("  {\"size\": %zu, \"bots_us\": %.3f, \"blas_us\": %.3f, \"bots_least_us\": %.3f, \"blas_least_us\": "
                "%.3f, \"bots_gflops\": %.1f, \"blas_gflops\": %.1f, \"ratio\": %.3f}%s\n",
                n, our.median * 1e6, their.median * 1e6, our.least * 1e6, their.least * 1e6, n_flops / our.least * 1e-9,
                n_flops / their.least * 1e-9, our.median / their.median, end);
}

} // namespace

int main() {
    std::printf("{\"instruction_set\": \"%s\", \"rounds\": %d, \"sizes\": [\n",
                std::string(name_of(bots::best_instruction_set())).c_str(), kRounds);
    compare(bots::kTile, ",");
    compare(2 * bots::kTile, ",");
    compare(32 * bots::kTile, "");
    std::puts("]}");
}
