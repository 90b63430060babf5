// SPDX-License-Identifier: Apache-2.0
/*
 * Runs many short tasks. The extension only counts most of them for the tool. Some execute an act that the
 * extension must report. Argument: the name of the act; see `acts`.
 */
#include <omp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../facts.h"

static omp_lock_t lock;
static long n_locked;

static void node(int depth, unsigned path);

static void nothing(int depth, unsigned path) { (void)depth, (void)path; }

static void locks(int depth, unsigned path) {
    (void)depth, (void)path;
    omp_set_lock(&lock);
    n_locked++;
    omp_unset_lock(&lock);
#pragma omp critical
    n_locked++;
}

static void region(int depth, unsigned path) {
    (void)depth, (void)path;
    count_region();
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 8; i++) {
#pragma omp task
        count_task();
    }
}

static long n_inner; // tasks of the inner regions

// Runs short tasks in a team of one, then more tasks that are only counted.
static void inner(int depth, unsigned path) {
    (void)depth;
    if (omp_get_level() > 1) return;
    count_region();
#pragma omp parallel num_threads(1)
    node(7, path);
    node(3, path);
}

static void undeferred(int depth, unsigned path) {
    (void)path;
#pragma omp task if (0)
    {
        count_task();
        if (depth > 2) node(2, 1);
    }
}

static void final_task(int depth, unsigned path) {
    (void)depth, (void)path;
#pragma omp task final(1)
    {
        count_task();
        node(3, 1);
    }
#pragma omp taskwait
}

static void untied(int depth, unsigned path) {
    (void)depth, (void)path;
#pragma omp task untied
    {
        count_task();
        node(3, 1);
#pragma omp taskyield
    }
#pragma omp taskwait
}

static void depend(int depth, unsigned path) {
    (void)depth;
    int value = 0;
#pragma omp task depend(out : value) shared(value)
    {
        count_task();
        value = 1;
    }
#pragma omp task depend(in : value) shared(value)
    {
        count_task();
        REQUIRE(value == 1);
        node(3, path);
    }
#pragma omp taskwait
}

static void group(int depth, unsigned path) {
    (void)depth, (void)path;
#pragma omp taskgroup
    for (int i = 0; i < 5; i++) {
#pragma omp task
        {
            count_task();
#pragma omp task
            count_task();
        }
    }
}

static void loop(int depth, unsigned path) {
    (void)depth, (void)path;
#pragma omp taskloop num_tasks(4)
    for (int i = 0; i < 4; i++) count_task();
}

// Creates many more tasks than fit into a queue. While the queue is full, new tasks run at once.
static void flat(int depth, unsigned path) {
    (void)depth, (void)path;
    for (int i = 0; i < 1000; i++) {
#pragma omp task
        count_task();
    }
}

static void settings(int depth, unsigned path) {
    (void)depth;
    omp_set_num_threads(1 + (int)(path % 7));
    node(2, path);
    REQUIRE(omp_get_max_threads() == 1 + (int)(path % 7));
}

static void pauses(int depth, unsigned path) {
    (void)depth;
    omp_control_tool(omp_control_tool_pause, 0, NULL);
    node(3, path | 1);
    omp_control_tool(omp_control_tool_start, 0, NULL);
}

static void forks(int depth, unsigned path) {
    (void)depth, (void)path;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

static const struct Act {
    const char *name;
    void (*act)(int depth, unsigned path);
    unsigned one_in; // one in this many nodes executes the act
} acts[] = {
    {"nothing", nothing, 1},       {"locks", locks, 4},       {"region", region, 512}, {"inner", inner, 512},
    {"undeferred", undeferred, 8}, {"final", final_task, 16}, {"untied", untied, 16},  {"depend", depend, 16},
    {"group", group, 16},          {"loop", loop, 64},        {"flat", flat, 1024},    {"settings", settings, 512},
    {"pauses", pauses, 64},        {"forks", forks, 8192},
};
static const struct Act *act;

static void node(int depth, unsigned path) {
    if (path * 2654435761u >> 8 < (1u << 24) / act->one_in && depth > 3) act->act(depth, path);
    if (depth == 0) return;
    for (unsigned i = 0; i < 2; i++) {
#pragma omp task firstprivate(depth, path, i)
        {
            count_task();
            if (omp_get_level() > 1) add_long(&n_inner, 1);
            node(depth - 1, 2 * path + i);
        }
    }
    if (path % 5 == 0) return; // children may end after this task
#pragma omp taskwait
}

int main(int n_arguments, char **arguments) {
    REQUIRE(n_arguments == 2);
    for (unsigned i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(arguments[1], acts[i].name) == 0) act = &acts[i];
    REQUIRE(act);
    omp_set_max_active_levels(2);
    omp_init_lock(&lock);
#pragma omp parallel
#pragma omp single
    {
        count_region();
        node(15, 1);
    }
    printf("INNER %ld\n", load_long(&n_inner));
    // The tool records only part of a task that runs when a pause begins or ends, so numbers of tasks may differ.
    if (act->act == pauses)
        printf("FACTS regions=%ld\n", load_long(&n_regions));
    else
        print_facts();
    return 0;
}
