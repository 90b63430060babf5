// SPDX-License-Identifier: Apache-2.0
// Exceptions thrown and caught on both sides of waits that step aside: each task sees only its own. With
// -DTIEDNESS=untied the tasks may resume on another thread.
#include <cfenv>
#include <exception>
#include <omp.h>
#include <omp_ext.h>
#include <stdexcept>
#include <string>

#include "../facts.h"

#ifndef TIEDNESS
#define TIEDNESS
#endif

namespace {

int n_domains;

// Waits for a child in another domain.
void wait_for_child(int domain, long *sum) {
    omp_ext::ChildTaskAffinity there((domain + 1) % n_domains);
#pragma omp task firstprivate(sum)
    {
        try {
            throw std::runtime_error("of a child");
        } catch (const std::runtime_error &error) {
            REQUIRE(error.what() == std::string("of a child"));
            add_long(sum, 1);
        }
    }
#pragma omp taskwait
}

struct WaitsAsItIsDestroyed {
    int domain;
    long *sum;
    ~WaitsAsItIsDestroyed() {
        REQUIRE(std::uncaught_exceptions() == 1);
        wait_for_child(domain, sum);
        REQUIRE(std::uncaught_exceptions() == 1);
    }
};

void run(int i, long *sum) {
    const int domain = i % n_domains;
    const std::string name = "number " + std::to_string(i);
    REQUIRE(std::uncaught_exceptions() == 0);
    const int rounding = i % 2 ? FE_UPWARD : FE_TONEAREST;
    std::fesetround(rounding);
    try {
        const WaitsAsItIsDestroyed waits{domain, sum};
        throw std::runtime_error(name);
    } catch (...) {
        wait_for_child(domain, sum); // an exception is being handled
        REQUIRE(std::fegetround() == rounding);
        try {
            throw; // the exception of this task
        } catch (const std::runtime_error &error) {
            REQUIRE(error.what() == name);
            wait_for_child(domain, sum);
            REQUIRE(error.what() == name);
        }
    }
    REQUIRE(std::uncaught_exceptions() == 0);
    REQUIRE(!std::current_exception());
    std::fesetround(FE_TONEAREST);
}

} // namespace

int main() {
    constexpr int kTasks = 300;
    n_domains = omp_get_num_locality_domains();
    long sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < kTasks; i++) {
        const omp_ext::ChildTaskAffinity here(i % n_domains);
#pragma omp task TIEDNESS firstprivate(i) shared(sum)
        run(i, &sum);
    }
    REQUIRE(sum == 3 * kTasks);
    omp_ext_statistics all;
    omp_ext_get_statistics(&all, sizeof all);
    printf("rescued %llu\n", static_cast<unsigned long long>(all.n_rescued));
    return 0;
}
