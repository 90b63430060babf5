// SPDX-License-Identifier: Apache-2.0
/*
 * Two tasks in two domains, each of which waits for a task that it placed in the other's domain. With one thread in
 * each domain, strict mode and the task scheduling constraint together would make them wait forever.
 * Usage: mutual_wait taskwait|taskgroup|depend N_ROUNDS
 */
#include <omp.h>
#include <omp_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long n_children;

static void child(void) {
#pragma omp atomic
    n_children++;
}

// Waits until both tasks are here; gives up after a while, because both may run on one thread.
static void meet(int *n_met) {
    const double until = omp_get_wtime() + 0.05;
    int met;
#pragma omp atomic
    ++*n_met;
    do {
#pragma omp atomic read
        met = *n_met;
    } while (met < 2 && omp_get_wtime() < until);
}

static void parent(const char *how, int other, int *n_met) {
    meet(n_met);
    if (strcmp(how, "taskgroup") == 0) {
        // The awaited task is a grandchild, whose parent does not wait.
#pragma omp taskgroup
        {
#pragma omp task
            {
                omp_child_task_affinity(other);
#pragma omp task
                child();
            }
        }
        return;
    }
    omp_child_task_affinity(other);
    if (strcmp(how, "depend") == 0) {
        int x = 0;
#pragma omp task depend(out : x) shared(x)
        {
            x = 1;
            child();
        }
#pragma omp taskwait depend(in : x)
        if (x != 1) abort();
    } else {
#pragma omp task
        child();
#pragma omp taskwait
    }
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "taskwait";
    const int n_rounds = argc > 2 ? atoi(argv[2]) : 10;
    omp_ext_set_strict(1);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < n_rounds; round++) {
        int n_met = 0;
#pragma omp taskgroup
        for (int domain = 0; domain < 2; domain++) {
            omp_child_task_affinity(domain);
#pragma omp task shared(n_met)
            parent(how, 1 - domain, &n_met);
        }
    }
    struct omp_ext_statistics all;
    omp_ext_get_statistics(&all, sizeof all);
    printf("children %ld of %d, rescued %lu\n", n_children, 2 * n_rounds, (unsigned long)all.n_rescued);
    return n_children == 2 * n_rounds ? 0 : 1;
}
