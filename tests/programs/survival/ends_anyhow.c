// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks of every kind on all threads and, at a moment that the seed determines, a request to the tool or the end of the
 * program: ends_anyhow SEED WAY with WAY one of
 *   end      omp_control_tool_end by one thread, while the others continue; the program ends normally
 *   switch   pause, start and flush by all threads, over and over, and then the end
 *   exit     exit(STATUS) by one thread
 *   exits    exit(STATUS) by several threads at once
 *   kill     SIGKILL
 *   exec     another program in its place, which ends with STATUS
 *   fork     children that end at once, while the program continues
 * With and without a tool, the status is STATUS for an exit or exec, SIGKILL for kill, and 0 otherwise.
 */
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS = 7, N_ROUNDS = 40 };

static atomic_uint n_done;
static unsigned seed, moment;
static const char *way;

static unsigned draw(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void act(unsigned number) {
    unsigned random = seed * 2654435761u + number;
    if (strcmp(way, "end") == 0) {
        if (number == moment) omp_control_tool(omp_control_tool_end, 0, NULL);
    } else if (strcmp(way, "switch") == 0) {
        static const omp_control_tool_t commands[] = {omp_control_tool_pause, omp_control_tool_start,
                                                      omp_control_tool_flush};
        if (draw(&random) % 16 == 0) omp_control_tool((int)commands[draw(&random) % 3], 0, NULL);
        if (number == 3 * moment) omp_control_tool(omp_control_tool_end, 0, NULL);
    } else if (strcmp(way, "exit") == 0) {
        if (number == moment) exit(STATUS);
    } else if (strcmp(way, "kill") == 0) {
        if (number == moment) raise(SIGKILL);
    } else if (strcmp(way, "exec") == 0) {
        if (number == moment) execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    } else if (strcmp(way, "fork") == 0) {
        if (number % 1000 != moment % 1000) return;
        const pid_t child = fork();
        if (child == 0) _exit(0);
        if (child > 0) waitpid(child, NULL, 0);
    } else {
        if (number >= moment && number < moment + 4) exit(STATUS);
    }
}

static void work(int depth, unsigned random) {
    act(atomic_fetch_add(&n_done, 1));
    if (depth == 0) return;
    switch (draw(&random) % 4) {
    case 0:
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 3; i++) work(depth - 1, random + (unsigned)i);
        break;
    case 1:
#pragma omp task if (0)
        work(depth - 1, random + 1);
        break;
    case 2: {
        int order = 0;
#pragma omp task depend(inout : order) shared(order)
        work(depth - 1, random + 2);
#pragma omp task depend(inout : order) shared(order)
        work(depth - 1, random + 3);
#pragma omp taskwait
        break;
    }
    default:
#pragma omp taskgroup
        for (unsigned i = 0; i < 4; i++) {
#pragma omp task
            work(depth - 1, random + i);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    seed = (unsigned)strtoul(argv[1], NULL, 10);
    way = argv[2];
    unsigned random = seed;
    moment = 1 + draw(&random) % 4000;
    for (unsigned round = 0; round < N_ROUNDS; round++) {
#pragma omp parallel
#pragma omp single
        for (unsigned i = 0; i < 8; i++) {
#pragma omp task firstprivate(i)
            work(4, round * 8 + i);
        }
    }
    if (way[0] == 'e' && way[1] == 'x') return STATUS;
    return 0;
}
