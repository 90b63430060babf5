// SPDX-License-Identifier: Apache-2.0
/*
 * C++ threads that open regions and create tasks from lambdas and objects, while the main thread does the same.
 */
#include <numeric>
#include <thread>
#include <vector>

#include "../facts.h"

namespace {

constexpr int kThreads = 3;
constexpr int kTasks = 50;

void make_tasks(std::vector<int> &results) {
#pragma omp parallel num_threads(2) shared(results)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(i) shared(results)
            {
                results[static_cast<size_t>(i)] = i;
                count_task();
            }
        }
    }
}

} // namespace

int main() {
    std::vector<std::vector<int>> results(kThreads, std::vector<int>(kTasks));
    std::vector<std::thread> threads;
    for (int i = 1; i < kThreads; i++)
        threads.emplace_back([&results, i] { make_tasks(results[static_cast<size_t>(i)]); });
    make_tasks(results[0]);
    for (std::thread &thread : threads) thread.join();
    for (const std::vector<int> &result : results)
        REQUIRE(std::accumulate(result.begin(), result.end(), 0) == kTasks * (kTasks - 1) / 2);
    REQUIRE(n_tasks_run == kThreads * kTasks);
    printf("threads %d\n", kThreads);
    print_facts();
    return 0;
}
