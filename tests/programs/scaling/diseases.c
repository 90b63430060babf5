// SPDX-License-Identifier: Apache-2.0
/*
 * diseases.c DISEASE [SERIAL]: a task program with one known reason not to scale; with a second argument the same work
 * without OpenMP. Prints `seconds X` of its work alone, and appends a line to the file that RUNS_LOG names.
 *   fine      300,000 additions, each a task
 *   coarse    three equal tasks: two threads take two thirds of the time of one
 *   memory    tasks that write to the same cache line, so it moves between the threads
 *   none      two hundred equal tasks of half a millisecond
 */
#include "../answers/answer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) _Atomic long shared_line[8];
static _Atomic long sum;

static void write_line(int which) {
    for (int i = 0; i < 100000; i++) atomic_fetch_add_explicit(&shared_line[which & 7], 1, memory_order_relaxed);
}

static void add(long n) { sum = sum + n; }

static double now(void) { return (double)now_ns() * 1e-9; }

#define TASKS(n, call)                                                                                                 \
    if (serial)                                                                                                        \
        for (int i = 0; i < (n); i++) call;                                                                            \
    else {                                                                                                             \
        _Pragma("omp parallel") _Pragma("omp single") for (int i = 0; i < (n); i++) {                                  \
            _Pragma("omp task firstprivate(i)") call;                                                                  \
        }                                                                                                              \
    }

int main(int argc, char **argv) {
    const char *disease = argc > 1 ? argv[1] : "none";
    const int serial = argc > 2;
    take_processor(10);
    if (getenv("RUNS_LOG")) {
        FILE *log = fopen(getenv("RUNS_LOG"), "a");
        REQUIRE(log != NULL);
        fprintf(log, "%s %d %d\n", disease, serial, omp_get_max_threads());
        fclose(log);
    }
    const double began = now();
    if (strcmp(disease, "fine") == 0) {
        TASKS(300000, add(i))
    } else if (strcmp(disease, "coarse") == 0) {
        TASKS(3, spin_ns(30 * MS))
    } else if (strcmp(disease, "memory") == 0) {
        TASKS(100, write_line(i))
    } else {
        TASKS(200, spin_ns(MS / 2))
    }
    printf("seconds %.6f\n", now() - began);
    return 0;
}
