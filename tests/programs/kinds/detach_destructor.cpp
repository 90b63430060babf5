// SPDX-License-Identifier: Apache-2.0
/*
 * Detachable tasks whose event is fulfilled after their body ends and before the runtime completes them, by the
 * destructor of an object that they own.
 */
#include <omp.h>

#include "../facts.h"

namespace {

constexpr int kTasks = 100;
omp_event_handle_t events[kTasks];

struct Owner {
    int number;
    bool is_copy = false;
    explicit Owner(int of_task) : number(of_task) {}
    Owner(const Owner &other) : number(other.number), is_copy(true) {}
    Owner &operator=(const Owner &) = delete;
    ~Owner() {
        if (is_copy) omp_fulfill_event(events[number]);
    }
};

} // namespace

int main() {
    long n_done = 0;
#pragma omp parallel shared(n_done)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < kTasks; i++) {
            omp_event_handle_t event;
            Owner owner(i);
#pragma omp task detach(event) firstprivate(owner) shared(n_done)
            {
                events[owner.number] = event;
                add_long(&n_done, 1);
                count_task();
            }
        }
#pragma omp taskwait
        REQUIRE(load_long(&n_done) == kTasks);
    }
    REQUIRE(n_tasks_run == kTasks);
    printf("done = %ld\n", n_done);
    print_facts();
    return 0;
}
