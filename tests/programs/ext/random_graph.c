// SPDX-License-Identifier: Apache-2.0
/*
 * Tasks with random dependences of every kind on a few numbers: first empty tasks, then tasks of 0 to 3 us, then both
 * in turn, then tasks with such children. At each wait and at the end, the numbers must equal those of a serial run.
 *   random_graph SEED
 */
#include <omp.h>

#include "../facts.h"

#define N_NUMBERS 16
#define N_TASKS 20000
#define N_CHILDREN 300

static unsigned numbers[N_NUMBERS], expected[N_NUMBERS];
static int n_wrong;

static unsigned next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void spin(unsigned ns) {
    if (ns == 0) return;
    const long long end_ns = now_ns() + ns;
    while (now_ns() < end_ns) {}
}

static void add(unsigned *number, unsigned n) { __atomic_fetch_add(number, n, __ATOMIC_RELAXED); }

/* Creates a task that reads a and b and changes c, and does the same with the expected numbers. */
static void create(unsigned *state, unsigned *memory, unsigned *shadow, unsigned ns) {
    const unsigned i = next(state) % N_NUMBERS, j = next(state) % N_NUMBERS, k = next(state) % N_NUMBERS;
    unsigned *const a = memory + i, *const b = memory + j, *const c = memory + k;
    switch (next(state) % 16) {
    default:
#pragma omp task depend(in : *a, *b) depend(inout : *c) firstprivate(a, b, c, ns)
    {
        spin(ns);
        *c = *c * 3 + *a + *b;
    }
        shadow[k] = shadow[k] * 3 + shadow[i] + shadow[j];
        break;
    case 0:
    case 1:
    case 2:
#pragma omp task depend(inoutset : *c) firstprivate(c, ns)
    {
        spin(ns);
        add(c, 5);
    }
        shadow[k] += 5;
        break;
    case 3:
    case 4:
#pragma omp task depend(mutexinoutset : *c) depend(in : *a) firstprivate(a, c, ns)
    {
        spin(ns);
        *c += *a | 1;
    }
        shadow[k] += shadow[i] | 1;
        break;
    case 5:
    case 6:
#pragma omp task depend(in : *a, *b) depend(in : *c) firstprivate(a, b, c, ns)
    {
        spin(ns);
        const unsigned first = *a + *b + *c;
        if (*(volatile unsigned *)a + *(volatile unsigned *)b + *(volatile unsigned *)c != first)
            __atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
    } break;
    case 7:
        if (next(state) % 64 != 0) break;
#pragma omp task depend(inout : omp_all_memory) firstprivate(memory)
        for (int n = 0; n < N_NUMBERS; n++) memory[n] = memory[n] * 7 + 1;
        for (int n = 0; n < N_NUMBERS; n++) shadow[n] = shadow[n] * 7 + 1;
        break;
    case 8:
        if (next(state) % 16 != 0) break;
#pragma omp taskwait depend(in : *a) depend(inout : *c)
        if (*a != shadow[i] || *c != shadow[k]) __atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
        break;
    case 9:
        if (next(state) % 16 != 0) break;
#pragma omp task if (0) depend(in : *a) depend(inout : *c) firstprivate(a, c)
        *c += *a;
        shadow[k] += shadow[i];
        break;
    }
}

static void compare(const unsigned *memory, const unsigned *shadow) {
    for (int n = 0; n < N_NUMBERS; n++)
        if (memory[n] != shadow[n]) __atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
}

static void create_family(unsigned seed) {
    unsigned own[N_NUMBERS] = {0}, shadow[N_NUMBERS] = {0};
    for (int n = 0; n < N_CHILDREN; n++) create(&seed, own, shadow, seed % 8 == 0 ? 500 : 0);
#pragma omp taskwait
    compare(own, shadow);
}

int main(int argc, char **argv) {
    unsigned state = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
#pragma omp parallel
#pragma omp single
    {
        for (int phase = 0; phase < 3; phase++) {
            for (int n = 0; n < N_TASKS; n++) {
                const int is_long = phase == 1 || (phase == 2 && n / 3000 % 2 == 1);
                create(&state, numbers, expected, is_long ? next(&state) % 3000 : 0);
            }
#pragma omp taskwait
            compare(numbers, expected);
        }
        for (unsigned n = 0; n < 20; n++) {
#pragma omp task firstprivate(n)
            create_family(n);
        }
    }
    if (n_wrong) printf("%d wrong\n", n_wrong);
    return n_wrong != 0;
}
