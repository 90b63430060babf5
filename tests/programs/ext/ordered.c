// SPDX-License-Identifier: Apache-2.0
/*
 * ordered HOW N: loops of N iterations whose ordered regions wait for a task in the domain of the next thread. If
 * threads that wait for their turn run no tasks, the program hangs until tasks are rescued. Prints the number of
 * rescued tasks. Compiled as C and as C++ (ordered.cpp).
 */
#include <omp.h>
#include <omp_ext.h>
#include <string.h>

#include "../facts.h"

static struct Loop {
    long n_inside, n_passed;
} loops[2];
static long n_outside, sum;

static void wait_for_the_next_domain(void) {
    const int thread = omp_get_thread_num();
    const int there = (omp_get_locality_domain_num() + 1) % omp_get_num_locality_domains();
    omp_child_task_affinity(there);
#pragma omp task
    {
        count_task();
        if (omp_get_locality_domain_num() != there) add_long(&n_outside, 1);
        add_long(&sum, 1);
    }
#pragma omp taskwait
    REQUIRE(omp_get_thread_num() == thread);
}

/* Checks that the calling iteration is alone here, after all earlier iterations. */
static void take_turn_in(struct Loop *loop, long i) {
    REQUIRE(add_long(&loop->n_inside, 1) == 1);
    REQUIRE(add_long(&loop->n_passed, 1) == i + 1);
    wait_for_the_next_domain();
    REQUIRE(add_long(&loop->n_inside, -1) == 0);
}

static void take_turn(long i) { take_turn_in(&loops[0], i); }

static void run(const char *how, long n) {
    if (strcmp(how, "static") == 0) {
#pragma omp parallel for ordered schedule(static, 1)
        for (long i = 0; i < n; i++) {
#pragma omp ordered
            take_turn(i);
        }
    } else if (strcmp(how, "dynamic") == 0) {
#pragma omp parallel for ordered schedule(dynamic, 3)
        for (int i = (int)n; i > 0; i--) {
            wait_for_the_next_domain();
#pragma omp ordered
            take_turn(n - i);
        }
        sum -= n;
    } else if (strcmp(how, "guided") == 0) {
#pragma omp parallel for ordered schedule(guided)
        for (unsigned long long i = 7; i < 7 + 3ull * (unsigned long long)n; i += 3) {
#pragma omp ordered
            take_turn((long)(i - 7) / 3);
        }
    } else if (strcmp(how, "every_second") == 0) {
        /* Iterations without an ordered region pass on their turn when they end. */
#pragma omp parallel for ordered schedule(dynamic, 2)
        for (unsigned i = 0; i < (unsigned)n * 2; i++) {
            if (i % 2 == 0) {
#pragma omp ordered
                take_turn((long)i / 2);
            }
        }
    } else if (strcmp(how, "nowait") == 0) {
        /* Threads may be in different loops at the same time. */
#pragma omp parallel
        {
#pragma omp for ordered schedule(static, 1) nowait
            for (long i = 0; i < n; i++) {
#pragma omp ordered
                take_turn_in(&loops[0], i);
            }
#pragma omp for ordered schedule(static, 1) nowait
            for (long i = 0; i < n; i++) {
#pragma omp ordered
                take_turn_in(&loops[1], i);
            }
        }
        sum -= n;
    } else if (strcmp(how, "doacross") == 0) {
#pragma omp parallel for ordered(1) schedule(static, 1)
        for (long i = 0; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
            take_turn(i);
#pragma omp ordered depend(source)
        }
    } else if (strcmp(how, "doacross_nest") == 0) {
        /* Each iteration follows the one above it and the one on its left. */
        static unsigned char done[1000][8];
        memset(done, 0, sizeof done);
        REQUIRE(n % 4 == 0 && n / 4 < 999);
#pragma omp parallel for ordered(2) schedule(dynamic, 1)
        for (long i = 0; i < n / 4; i++)
            for (long k = 4; k > 0; k--) {
#pragma omp ordered depend(sink : i - 1, k) depend(sink : i, k + 1)
                REQUIRE(i == 0 || __atomic_load_n(&done[i - 1][k], __ATOMIC_ACQUIRE));
                REQUIRE(k == 4 || __atomic_load_n(&done[i][k + 1], __ATOMIC_ACQUIRE));
                wait_for_the_next_domain();
                __atomic_store_n(&done[i][k], 1, __ATOMIC_RELEASE);
#pragma omp ordered depend(source)
            }
    } else {
        REQUIRE(!"a kind of ordered loop");
    }
}

int main(int n_arguments, char **arguments) {
    const char *how = n_arguments > 1 ? arguments[1] : "static";
    const long n = n_arguments > 2 ? atol(arguments[2]) : 100;
    for (int round = 0; round < 3; round++) {
        memset(loops, 0, sizeof loops);
        sum = 0;
        run(how, n);
        REQUIRE(sum == n);
    }
    struct omp_ext_statistics all;
    omp_ext_get_statistics(&all, sizeof all);
    printf("tasks %ld, outside %ld, rescued %llu\n", n_tasks_run, n_outside, (unsigned long long)all.n_rescued);
    return 0;
}
