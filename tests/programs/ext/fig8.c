// SPDX-License-Identifier: Apache-2.0
/*
 * Fig. 8 of Olivier et al. as a whole program: builds a binary tree and traverses it in steps. The same calls
 * divide its top over the domains in each step. With four domains, the first split places its tasks in domains 0 and 2,
 * the second in 0, 1, 2 and 3; all tasks below run in the domains of their parents. Every task records where it ran;
 * the program fails if a task ran elsewhere, in any step. Needs strict mode and at least one thread per domain.
 * Strict mode allows rescues, but the program fails if one happens. `fig8 DEPTH STEPS`.
 * With -DEVERY_LEVEL each level is split, into a domain and the next one, and the program prints its time.
 */
#include <math.h>
#include <string.h>

#include "../facts.h"
#include "omp_ext.h"

#define MAX_STEPS 16
#define CACHE_LINE 64
#ifdef EVERY_LEVEL
#define STEP(nsplits) 1
#else
#define STEP(nsplits) ((int)pow(2, (nsplits) - 1))
#endif

typedef struct data data_t;
struct data {
    data_t *left, *right;
    int depth; /* levels below this one */
    int paper_domain; /* domain by the rule of the paper */
    int domain_run[1 + MAX_STEPS]; /* domains of the initialisation and of each step */
};

static int n_steps, step, ndomains;

static int is_leaf(const data_t *data) { return data->depth == 0; }

/* Allocates whole cache lines: a line with two nodes would move between domains with every task that writes to one. */
static data_t *make(int depth) {
    data_t *data = aligned_alloc(CACHE_LINE, (sizeof *data + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    REQUIRE(data);
    memset(data, 0, sizeof *data);
    data->depth = depth;
    return data;
}

static void init(data_t *data) {
    count_task();
    data->domain_run[0] = omp_get_locality_domain_num();
    if (is_leaf(data)) return;
    data->left = make(data->depth - 1);
    data->right = make(data->depth - 1);
}

static void compute(data_t *data) {
    count_task();
    data->domain_run[1 + step] = omp_get_locality_domain_num();
}

/* As printed in the paper, except for the parentheses and the number of domains. */
static void recursive_init(data_t *data, int nsplits) {
    init(data);
    if (!is_leaf(data)) {
#pragma omp task
        recursive_init(data->left, nsplits - 1);
        if (nsplits > 0) {
            int dom, nextDom;
            dom = omp_get_locality_domain_num();
            nextDom = dom + STEP(nsplits);
            omp_child_task_affinity(nextDom % ndomains);
        }
#pragma omp task
        recursive_init(data->right, nsplits - 1);
#pragma omp taskwait
    }
}

static void recursive_compute(data_t *data, int nsplits) {
    compute(data);
    if (!is_leaf(data)) {
#pragma omp task
        recursive_compute(data->left, nsplits - 1);
        if (nsplits > 0) {
            int dom, nextDom;
            dom = omp_get_locality_domain_num();
            nextDom = dom + STEP(nsplits);
            omp_child_task_affinity(nextDom % ndomains);
        }
#pragma omp task
        recursive_compute(data->right, nsplits - 1);
#pragma omp taskwait
    }
}

/* Sets paper_domain by the paper's rule: each of the first splits determines one bit, the first split the highest. */
static void set_paper_domains(data_t *data, int nsplits, int domain) {
    data->paper_domain = domain;
    if (is_leaf(data)) return;
    set_paper_domains(data->left, nsplits - 1, domain);
    set_paper_domains(data->right, nsplits - 1, nsplits > 0 ? (domain + STEP(nsplits)) % ndomains : domain);
}

static long n_elsewhere, n_in_domain[64];

static void check(const data_t *data) {
    for (int i = 0; i <= n_steps; i++) {
        if (data->domain_run[i] != data->paper_domain && n_elsewhere++ < 10)
            fprintf(stderr, "a task %d levels above the leaves, expected in domain %d, ran in %d in step %d\n",
                    data->depth, data->paper_domain, data->domain_run[i], i - 1);
        n_in_domain[data->domain_run[i]]++;
    }
    if (is_leaf(data)) return;
    check(data->left);
    check(data->right);
}

int main(int argc, char **argv) {
    int depth = argc > 1 ? atoi(argv[1]) : 10;
    int nsteps = argc > 2 ? atoi(argv[2]) : 4;
    REQUIRE(depth >= 2 && depth <= 24 && nsteps >= 0 && nsteps <= MAX_STEPS);
    data_t *top = make(depth);

    int nsplitsTotal;
    ndomains = omp_get_num_locality_domains();
    nsplitsTotal = (int)log2(ndomains);
    REQUIRE(ndomains <= 64 && 1 << nsplitsTotal == ndomains);
#ifdef EVERY_LEVEL
    nsplitsTotal = depth;
#endif
    const long long start_ns = now_ns();

#pragma omp parallel
    {
#pragma omp single
        {
            omp_child_task_affinity(0);
#pragma omp task
            recursive_init(top, nsplitsTotal);
        }
#pragma omp barrier
        for (int s = 0; s < nsteps; s++) {
#pragma omp single
            {
                step = s;
                omp_child_task_affinity(0);
#pragma omp task
                recursive_compute(top, nsplitsTotal);
            }
#pragma omp barrier
        }
    }
    count_region();
#ifdef EVERY_LEVEL
    printf("ms %.1f; ", (double)(now_ns() - start_ns) / 1e6);
#else
    (void)start_ns;
#endif

    n_steps = nsteps;
    set_paper_domains(top, nsplitsTotal, 0);
    check(top);
    REQUIRE(n_tasks_run == (1 + nsteps) * ((2L << depth) - 1));
    struct omp_ext_statistics statistics;
    REQUIRE(omp_ext_get_statistics(&statistics, sizeof statistics) == 0);
    printf("domains=%d rescued=%lu elsewhere=%ld in", ndomains, (unsigned long)statistics.n_rescued, n_elsewhere);
    for (int d = 0; d < ndomains; d++) printf(" %ld", n_in_domain[d]);
    printf("\n");
    print_facts();
    return n_elsewhere != 0;
}
