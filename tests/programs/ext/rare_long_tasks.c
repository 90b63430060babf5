// SPDX-License-Identifier: Apache-2.0
/*
 * One thread creates many tasks, most of them empty. One in 50 takes 100 us, so these few are nearly all of the work.
 * The threads must share them. Argument: tasks, dependent or taskloop. Prints the percentage of the long tasks that
 * the creator ran.
 */
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "../facts.h"

enum { kTasks = 20000, kLongEvery = 50, kLongUs = 100 };

static char data[kTasks];
static long n_long, n_by_creator;
static int creator;

static void work(int i) {
    if (i % kLongEvery != 0) return;
    usleep(kLongUs); // needs no processor, so other programs do not keep the other thread from its share
    add_long(&n_long, 1);
    if (omp_get_thread_num() == creator) add_long(&n_by_creator, 1);
}

int main(int n_arguments, char **arguments) {
    REQUIRE(n_arguments == 2);
    const char *kind = arguments[1];
#pragma omp parallel
#pragma omp single
    {
        creator = omp_get_thread_num();
        if (strcmp(kind, "taskloop") == 0) {
#pragma omp taskloop grainsize(1)
            for (int i = 0; i < kTasks; i++) work(i);
        } else if (strcmp(kind, "dependent") == 0) {
            for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(i) depend(inout : data[i])
                work(i);
            }
        } else {
            for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(i)
                work(i);
            }
        }
    }
    REQUIRE(n_long == kTasks / kLongEvery);
    printf("CREATOR %ld\n", 100 * n_by_creator / n_long);
    return 0;
}
