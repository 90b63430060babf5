// SPDX-License-Identifier: Apache-2.0
// The scope object of omp_child_task_affinity: nested, left by an exception, and in tasks. Needs at least two domains
// and two threads, and strict mode.
#include "../facts.h"

#include <omp.h>
#include <stdexcept>

#include "omp_ext.h"

namespace {

using Guard = omp_ext::ChildTaskAffinity;
static_assert(sizeof(Guard) == sizeof(int), "contains only the setting to restore");

void run_in(int domain) {
#pragma omp task firstprivate(domain)
    {
        count_task();
        REQUIRE(omp_get_locality_domain_num() == domain);
    }
}

void leave_by_exception() {
    Guard here(1);
    run_in(1);
    throw std::runtime_error("out of here");
}

void check() {
    REQUIRE(omp_ext_get_child_task_affinity() == OMP_NO_CHILD_TASK_AFFINITY);
    {
        Guard outer(1);
        run_in(1);
        {
            Guard inner(0);
            run_in(0);
            {
                Guard usual(OMP_NO_CHILD_TASK_AFFINITY);
                REQUIRE(omp_ext_get_child_task_affinity() == OMP_NO_CHILD_TASK_AFFINITY);
            }
            REQUIRE(omp_ext_get_child_task_affinity() == 0);
        }
        REQUIRE(omp_ext_get_child_task_affinity() == 1);
        run_in(1);
        try {
            Guard inner(0);
            leave_by_exception();
        } catch (const std::runtime_error &) {}
        REQUIRE(omp_ext_get_child_task_affinity() == 1);
    }
    REQUIRE(omp_ext_get_child_task_affinity() == OMP_NO_CHILD_TASK_AFFINITY);
    run_in(omp_get_locality_domain_num());
}

} // namespace

int main() {
    REQUIRE(omp_get_num_locality_domains() > 1);
#pragma omp parallel
#pragma omp single
    {
        count_region();
        check();
        Guard there(1);
#pragma omp task
        {
            count_task();
            check();
        }
    }
    print_facts();
    return 0;
}
