// SPDX-License-Identifier: Apache-2.0
/*
 * A random task program, by a seed and a size: nested tasks, waits, groups, dependences, loops, undeferred, final and
 * untied tasks, in any order and depth, with works of 1 to 50 us. The same numbers give the same program, on any
 * schedule. Left out: constructs that a trace does not fully describe (`taskwait depend`, undeferred tasks with
 * dependences), and a taskwait in an untied task that was suspended, in which libomp 16 and 19 sometimes hang, with and
 * without a tool.
 */
#include "../facts.h"

#include <stdbool.h>
#include <stdint.h>

enum { kPlaces = 3 };

static uint64_t next(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int below(uint64_t *state, int limit) { return (int)(next(state) % (uint64_t)limit); }

static void work(uint64_t *state) { spin_ns(1000 + below(state, 49000)); }

/* Takes a share of the remaining budget for one of `n` tasks, which counts as one itself. */
static int share(int *budget, int n) {
    int part = *budget / n;
    *budget -= part;
    return part > 0 ? part - 1 : 0;
}

static void body(uint64_t seed, int budget, bool in_final);

static void make_untied(uint64_t seed, int budget) {
#pragma omp task untied firstprivate(seed, budget)
    {
        uint64_t mine = seed;
        count_task();
        work(&mine);
        uint64_t inner = next(&mine);
#pragma omp task firstprivate(inner, budget)
        {
            count_task();
            body(inner, budget / 2, false);
        }
        work(&mine);
#pragma omp taskyield
        work(&mine);
    }
}

static void make_dependent(uint64_t *state, int *budget) {
    char places[kPlaces];
    int n = 2 + below(state, 5);
    for (int i = 0; i < n && *budget > 0; i++) {
        uint64_t seed = next(state);
        int part = share(budget, n - i), one = below(state, kPlaces), other = below(state, kPlaces);
        if (below(state, 2)) work(state);
        if (below(state, 2)) {
#pragma omp task depend(inout : places[one]) firstprivate(seed, part)
            {
                count_task();
                body(seed, part, false);
            }
        } else {
#pragma omp task depend(in : places[one]) depend(out : places[other]) firstprivate(seed, part)
            {
                count_task();
                body(seed, part, false);
            }
        }
    }
}

static void make_tied(uint64_t seed, int budget, bool in_final) {
#pragma omp task firstprivate(seed, budget, in_final)
    {
        count_task();
        body(seed, budget, in_final);
    }
}

/* Creates so many tasks without work that the tool stops reading the clock at their creations. */
static void make_empty(int depth) {
    for (int child = 0; child < 2; child++) {
#pragma omp task firstprivate(depth)
        {
            count_task();
            if (depth > 0) make_empty(depth - 1);
        }
    }
}

static void body(uint64_t seed, int budget, bool in_final) {
    uint64_t mine = seed;
    work(&mine);
    while (budget > 0) {
        int kind = below(&mine, 12), before = budget;
        uint64_t inner = next(&mine);
        int part = share(&budget, 1 + below(&mine, 4));
        if (before == budget) budget = 0;
        if (kind < 3) {
            make_tied(inner, part, in_final);
        } else if (kind == 3 &&
                   !in_final) { /* undeferred untied tasks abort LLVM's runtime: llvm-project issue 172938 */
            make_untied(inner, part);
        } else if (kind == 4) {
#pragma omp task if (0) firstprivate(inner, part)
            {
                count_task();
                body(inner, part, in_final);
            }
        } else if (kind == 5) {
#pragma omp task final(part < 8) firstprivate(inner, part)
            {
                count_task();
                body(inner, part, part < 8);
            }
        } else if (kind == 6 && !in_final) {
            make_dependent(&mine, &part);
        } else if (kind == 7) {
#pragma omp taskwait
        } else if (kind == 8) {
#pragma omp taskgroup
            {
                make_tied(inner, part / 2, in_final);
                work(&mine);
                make_tied(~inner, part / 2, in_final);
            }
        } else if (kind == 9) {
            int n = 2 + below(&mine, 4);
#pragma omp taskloop grainsize(1) firstprivate(inner, part, n)
            for (int i = 0; i < n; i++) {
                count_task();
                body(inner + (uint64_t)i, part / n, in_final);
            }
        } else if (kind == 10 && part > 50)
            make_empty(5);
        if (below(&mine, 2)) work(&mine);
    }
    if (below(&mine, 2)) {
#pragma omp taskwait
        work(&mine);
    }
}

int main(int argc, char **argv) {
    REQUIRE(argc == 3);
    uint64_t seed = strtoull(argv[1], NULL, 10);
    int size = atoi(argv[2]);
#pragma omp parallel
    {
#pragma omp single
        {
            count_region();
            body(seed, size, false);
        }
#pragma omp single nowait
        make_tied(~seed, size / 4, false);
    }
    print_facts();
    return 0;
}
