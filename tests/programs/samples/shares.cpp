// SPDX-License-Identifier: Apache-2.0
// Known shares of time in a template, a lambda and a method, which the compiler may inline.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

template <typename T>
T in_template(T x, long n) {
    for (long i = 0; i < n * 5; i++) x = (x ^ x >> 7) * 6364136223846793005u; // share 50
    return x;
}

struct Spinner {
    std::vector<uint64_t> values = std::vector<uint64_t>(16, 1);
    __attribute__((noinline)) uint64_t method(uint64_t x, long n) const {
        for (long i = 0; i < n * 3; i++) x = (x ^ x >> 7) * (values[3] + 6364136223846793004u); // share 30
        return x;
    }
};

} // namespace

int main(int argc, char **argv) {
    const int n_tasks = argc > 1 ? atoi(argv[1]) : 200;
    static volatile uint64_t sink;
    const Spinner spinner;
    const auto in_lambda = [](uint64_t x, long n) {
        for (long i = 0; i < n * 2; i++) x = (x ^ x >> 7) * 6364136223846793005u; // share 20
        return x;
    };
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n_tasks; i++) {
#pragma omp task shared(spinner, in_lambda)
        {
            uint64_t x = static_cast<uint64_t>(i);
            x = in_template(x, 200000);
            x = spinner.method(x, 200000);
            sink = in_lambda(x, 200000);
        }
    }
    std::printf("FACTS tasks=%d\n", n_tasks);
}
