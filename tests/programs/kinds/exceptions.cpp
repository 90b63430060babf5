// SPDX-License-Identifier: Apache-2.0
/*
 * C++ exceptions inside tasks: each is caught in its task, and thrown again after the region.
 */
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "../facts.h"

namespace {

constexpr int kTasks = 200;

int checked_half(int value) {
    if (value % 2 != 0) throw std::invalid_argument("odd " + std::to_string(value));
    return value / 2;
}

} // namespace

int main() {
    std::vector<std::exception_ptr> failures(kTasks);
    long halves = 0;
    int n_caught = 0;
#pragma omp parallel shared(failures, halves)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(i) shared(failures, halves)
            {
                try {
                    add_long(&halves, checked_half(i));
                } catch (...) {
                    failures[static_cast<size_t>(i)] = std::current_exception();
                }
                count_task();
            }
        }
    }
    for (const std::exception_ptr &failure : failures) {
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (const std::invalid_argument &) {
            n_caught++;
        }
    }
    REQUIRE(n_caught == kTasks / 2);
    REQUIRE(halves == 4950);
    REQUIRE(n_tasks_run == kTasks);
    printf("caught %d\n", n_caught);
    print_facts();
    return 0;
}
