// SPDX-License-Identifier: Apache-2.0
/*
 * Prints which signals have a handler or are ignored or blocked, inside a task and at the end: only the program may
 * change that.
 */
#include "../facts.h"

#include <signal.h>

static void show(const char *where) {
    sigset_t blocked;
    REQUIRE(sigprocmask(SIG_BLOCK, NULL, &blocked) == 0);
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;
        if (sigaction(signal, NULL, &action) != 0) continue;
        if (action.sa_handler != SIG_DFL || sigismember(&blocked, signal) == 1)
            printf("%s: signal %d is %s%s\n", where, signal, action.sa_handler == SIG_IGN ? "ignored" : "handled",
                   sigismember(&blocked, signal) == 1 ? ", blocked" : "");
    }
    printf("%s: shown\n", where);
}

int main(void) {
    REQUIRE(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
#pragma omp parallel
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 3; i++) {
#pragma omp task
            {
                if (i == 1) show("task");
                count_task();
            }
        }
    }
    show("end");
    print_facts();
    return 0;
}
