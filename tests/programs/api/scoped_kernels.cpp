// SPDX-License-Identifier: Apache-2.0
/*
 * The scope objects of ompass.h in C++: in tasks, in std::thread, across an exception and in a second source file.
 * The marks are the same with and without OpenMP; the KERNEL lines state what must be recorded.
 */
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../facts.h"
#include "ompass.h"
#include "scoped_kernels.h"

namespace {

constexpr int kParts = 30;
constexpr int kThreads = 2;
constexpr int kThrown = 5;

long scan(const std::vector<int> &part) {
    const ompass::Kernel kernel("scan");
    kernel.read(part.data(), part.size() * sizeof(int));
    long sum = 0;
    for (const int value : part) sum += value;
    return sum;
}

void fail_in_kernel() {
    const ompass::Kernel kernel("failing");
    throw std::runtime_error("leaves the scope");
}

} // namespace

int main() {
    std::vector<std::vector<int>> parts(kParts, std::vector<int>(1000, 1));
    long total = 0;
    int n_caught = 0;
    ompass_phase(std::string("scanning").c_str()); // the name is destroyed after the call
#pragma omp parallel shared(parts, total)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kParts; i++) {
#pragma omp task firstprivate(i) shared(parts, total)
            {
                add_long(&total, scan(parts[static_cast<size_t>(i)]));
                count_task();
            }
        }
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++) threads.emplace_back([&parts, i] { double_all(parts[static_cast<size_t>(i)]); });
    for (std::thread &thread : threads) thread.join();
    for (int i = 0; i < kThrown; i++) {
        try {
            fail_in_kernel();
        } catch (const std::runtime_error &) {
            n_caught++;
        }
    }
    REQUIRE(total == kParts * 1000L);
    REQUIRE(n_caught == kThrown);
    REQUIRE(parts[0][0] == 2 && parts[kThreads][0] == 1);
    printf("total %ld\n", total);
    printf("PHASES scanning\n");
    printf("KERNEL scan count=%d read_bytes=%zu write_bytes=0\n", kParts, kParts * 1000 * sizeof(int));
    printf("KERNEL double count=%d read_bytes=%zu write_bytes=%zu\n", kThreads, kThreads * 1000 * sizeof(int),
           kThreads * 1000 * sizeof(int));
    printf("KERNEL failing count=%d read_bytes=0 write_bytes=0\n", kThrown);
#ifdef _OPENMP
    print_facts();
#else
    printf("FACTS tasks=0 regions=0\n");
#endif
    return 0;
}
