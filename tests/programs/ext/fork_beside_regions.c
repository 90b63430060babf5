// SPDX-License-Identifier: Apache-2.0
/*
 * The primary thread forks while another thread runs regions and takes locks. Each child takes a lock in its own
 * region. Argument: what the other thread does.
 *   locks  two threads take a lock in turn
 *   teams  regions of one thread
 */
#include <omp.h>
#include <omp_ext.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../facts.h"

static long is_over, n_rounds;

static void take(omp_lock_t *lock, int n) {
    for (int i = 0; i < n; i++) {
        omp_set_lock(lock);
        omp_unset_lock(lock);
    }
}

static void *run_regions(void *what) {
    const int n_threads = strcmp(what, "locks") == 0 ? 2 : 1;
    omp_lock_t lock;
    omp_init_lock(&lock);
    while (!load_long(&is_over)) {
#pragma omp parallel num_threads(n_threads)
        {
#pragma omp task
            count_task();
            if (n_threads > 1) take(&lock, 1000);
        }
        add_long(&n_rounds, 1);
    }
    return NULL;
}

int main(int n_arguments, char **arguments) {
    REQUIRE(n_arguments > 1 && omp_get_num_locality_domains() == 2);
    omp_ext_set_strict(1);
    pthread_t other;
    REQUIRE(pthread_create(&other, NULL, run_regions, arguments[1]) == 0);
    while (load_long(&n_rounds) < 2) usleep(100);
    for (int i = 0; i < 200; i++) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(10);
            omp_lock_t lock;
            omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
            {
#pragma omp task
                take(&lock, 1);
                take(&lock, 1);
            }
            _exit(7);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    store_long(&is_over, 1);
    REQUIRE(pthread_join(other, NULL) == 0);
    return 0;
}
