// SPDX-License-Identifier: Apache-2.0
/*
 * aside WHAT N: tasks of one domain that wait for tasks of another, by every kind of wait. The program hangs or fails
 * if a waiting task does not step aside, or resumes with another task's state. Prints the number of rescued tasks.
 */
#include <omp.h>
#include <omp_ext.h>
#include <semaphore.h>
#include <string.h>

#include "../facts.h"

static int n_domains;
static long n_outside, n_inside, n_begun, shared_sum;
static omp_lock_t lock;
static omp_nest_lock_t nest_lock;

static void run_in(int domain) {
    count_task();
    if (omp_get_locality_domain_num() != domain % n_domains) add_long(&n_outside, 1);
}

/* Checks that the lock excludes other tasks between these two calls. */
static void begin_alone(void) { REQUIRE(add_long(&n_inside, 1) == 1); }
static void end_alone(void) { REQUIRE(add_long(&n_inside, -1) == 0); }

static void child_elsewhere(int domain, long value) {
    omp_child_task_affinity((domain + 1) % n_domains);
#pragma omp task firstprivate(value)
    {
        run_in(domain + 1);
        add_long(&shared_sum, value);
    }
}

static void wait_for_child_elsewhere(int domain) {
    child_elsewhere(domain, 1);
#pragma omp taskwait
}

static void wait_in(const char *what, int domain, int i) {
    const int thread = omp_get_thread_num();
    if (strcmp(what, "taskwait") == 0) {
        wait_for_child_elsewhere(domain);
    } else if (strcmp(what, "taskgroup") == 0) {
#pragma omp taskgroup
        {
            child_elsewhere(domain, 1);
#pragma omp taskgroup
            child_elsewhere(domain, 0);
        }
    } else if (strcmp(what, "depend") == 0) {
        int value = 0;
        omp_child_task_affinity((domain + 1) % n_domains);
#pragma omp task shared(value) depend(out : value)
        {
            run_in(domain + 1);
            value = 1;
        }
        omp_child_task_affinity(domain);
#pragma omp task shared(value) depend(in : value) if (0)
        add_long(&shared_sum, value);
#pragma omp taskwait
    } else if (strcmp(what, "taskwait_depend") == 0) {
        int value = 0;
        omp_child_task_affinity((domain + 1) % n_domains);
#pragma omp task shared(value) depend(out : value)
        {
            run_in(domain + 1);
            value = 1;
        }
#pragma omp taskwait depend(in : value)
        add_long(&shared_sum, value);
#pragma omp taskwait
#ifdef DETACH
    } else if (strcmp(what, "detach") == 0) {
        /* A task of this domain fulfils the event; it can run on this thread only if this task steps aside. */
        omp_event_handle_t event, its_event;
        long has_run = 0;
        omp_child_task_affinity((domain + 1) % n_domains);
#pragma omp task detach(event) shared(its_event, has_run)
        {
            run_in(domain + 1);
            its_event = event;
            store_long(&has_run, 1);
        }
        omp_child_task_affinity(domain);
#pragma omp task shared(its_event, has_run)
        {
            while (!load_long(&has_run)) {
#pragma omp taskyield
            }
            add_long(&shared_sum, 1);
            omp_fulfill_event(its_event);
        }
#pragma omp taskwait
#endif
    } else if (strcmp(what, "undeferred") == 0) {
#pragma omp task if (0)
        wait_for_child_elsewhere(domain);
    } else if (strcmp(what, "taskloop") == 0) {
        omp_child_task_affinity((domain + 1) % n_domains);
#pragma omp taskloop num_tasks(4)
        for (int k = 0; k < 4; k++) add_long(&shared_sum, k == 0);
    } else if (strcmp(what, "taskyield") == 0) {
        child_elsewhere(domain, 1);
#pragma omp taskyield
#pragma omp taskwait
    } else if (strcmp(what, "critical") == 0) {
#pragma omp critical(first)
        {
            begin_alone();
            wait_for_child_elsewhere(domain);
            end_alone();
        }
    } else if (strcmp(what, "lock") == 0) {
        omp_set_lock(&lock);
        begin_alone();
        wait_for_child_elsewhere(domain);
        end_alone();
        omp_unset_lock(&lock);
    } else if (strcmp(what, "test_lock") == 0) {
        while (!omp_test_lock(&lock)) {
#pragma omp taskyield
        }
        begin_alone();
        wait_for_child_elsewhere(domain);
        end_alone();
        omp_unset_lock(&lock);
    } else if (strcmp(what, "hint") == 0) {
#pragma omp critical(second) hint(omp_sync_hint_contended)
        {
            begin_alone();
            wait_for_child_elsewhere(domain);
            end_alone();
        }
    } else if (strcmp(what, "nest_lock") == 0) {
        omp_set_nest_lock(&nest_lock);
        begin_alone();
        omp_set_nest_lock(&nest_lock);
        wait_for_child_elsewhere(domain);
        omp_unset_nest_lock(&nest_lock);
        REQUIRE(omp_test_nest_lock(&nest_lock) == 2);
        wait_for_child_elsewhere(domain);
        omp_unset_nest_lock(&nest_lock);
        end_alone();
        omp_unset_nest_lock(&nest_lock);
        add_long(&shared_sum, -1);
    } else if (strcmp(what, "nested_region") == 0) {
#pragma omp parallel num_threads(2) firstprivate(domain)
        {
#pragma omp single
            for (int k = 0; k < 4; k++) {
#pragma omp task
                {
#pragma omp task
                    add_long(&shared_sum, 1);
#pragma omp taskwait
                }
            }
        }
        add_long(&shared_sum, -4);
        wait_for_child_elsewhere(domain);
    } else if (strcmp(what, "long") == 0) {
        /* The last of these tasks begins after more than a second. */
        for (int k = 0; k < 3; k++) {
            omp_child_task_affinity((domain + 1) % n_domains);
#pragma omp task firstprivate(k)
            {
                run_in(domain + 1);
                spin_ns(600000000);
                add_long(&shared_sum, k == 0);
            }
        }
#pragma omp taskwait
    } else if (strcmp(what, "blocked") == 0) {
        /* The other domain's thread waits, outside of OpenMP, until this task resumes. */
        sem_t may_end;
        long has_begun = 0;
        REQUIRE(sem_init(&may_end, 0, 0) == 0);
        omp_child_task_affinity((domain + 1) % n_domains);
#pragma omp task shared(may_end, has_begun)
        {
            store_long(&has_begun, 1);
            REQUIRE(sem_wait(&may_end) == 0);
        }
        while (!load_long(&has_begun)) {}
#pragma omp taskgroup
        child_elsewhere(domain, 1);
        REQUIRE(sem_post(&may_end) == 0);
#pragma omp taskwait
    } else if (strcmp(what, "at_once") == 0) {
        /* Waits until all tasks have begun: they are all suspended then. */
        add_long(&n_begun, 1);
        wait_for_child_elsewhere(domain);
    } else {
        REQUIRE(!"a kind of wait");
    }
    REQUIRE(omp_get_thread_num() == thread); // tied
    REQUIRE(!omp_ext_get_strict() || omp_get_locality_domain_num() == domain);
    (void)i;
}

/* Waits on each level for the next one, in the same domain. */
static void chain(int depth) {
    count_task();
    if (depth == 0) return;
#pragma omp task
    chain(depth - 1);
#pragma omp taskwait
}

int main(int n_arguments, char **arguments) {
    const char *what = n_arguments > 1 ? arguments[1] : "taskwait";
    const int n = n_arguments > 2 ? atoi(arguments[2]) : 100;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
    n_domains = omp_get_num_locality_domains();
    const int is_at_once = strcmp(what, "at_once") == 0;
    for (int round = 0; round < 2; round++) {
        shared_sum = n_begun = 0;
#pragma omp parallel
        {
#pragma omp single
            {
                if (strcmp(what, "chain") == 0) {
                    omp_child_task_affinity(0);
#pragma omp task
                    chain(n);
                    shared_sum = n;
                } else {
                    if (is_at_once) {
                        omp_child_task_affinity(1);
#pragma omp task
                        while (load_long(&n_begun) < n) {}
                    }
                    for (int i = 0; i < n; i++) {
                        const int domain = is_at_once ? 0 : i % n_domains;
                        omp_child_task_affinity(domain);
#pragma omp task firstprivate(i, domain)
                        {
                            run_in(domain);
                            wait_in(what, domain, i);
                        }
                    }
                }
            }
        }
        REQUIRE(shared_sum == n);
    }
    struct omp_ext_statistics all;
    omp_ext_get_statistics(&all, sizeof all);
    printf("tasks %ld, outside %ld, rescued %llu\n", n_tasks_run, n_outside, (unsigned long long)all.n_rescued);
    return 0;
}
