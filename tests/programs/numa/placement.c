// SPDX-License-Identifier: Apache-2.0
/*
 * For a machine whose domain d is its node d: asks the kernel whether memory and tasks are where the program placed
 * them. Prints each claim as "CLAIM name held/all", which the test checks. Argument: pages per part.
 */
#include "pages.h" /* must come first, because it includes facts.h */

#include <omp.h>
#include <string.h>

#include "omp_ext.h"

static int n_domains;
static long n_pages; /* pages of a part */

static void claim(const char *name, long n_held, long n_all) { printf("CLAIM %s %ld/%ld\n", name, n_held, n_all); }

static void touch(char *part, long n) {
    for (long i = 0; i < n; i++) part[i * PAGE_BYTES] = 1;
}

/* Checks that memory allocated in a domain is there, whichever thread touches it. */
static void check_allocation(void) {
    long n_there = 0;
    for (int d = 0; d < n_domains; d++) {
        char *part = omp_affinity_alloc_ondomain((size_t)(n_pages * PAGE_BYTES), d);
        REQUIRE(part && omp_ext_domain_of_address(part) == d);
        touch(part, n_pages);
        n_there += n_pages_on(part, n_pages, d);
        REQUIRE(omp_ext_domain_of_range(part, (size_t)(n_pages * PAGE_BYTES)) == d);
        omp_affinity_free(part, (size_t)(n_pages * PAGE_BYTES));
    }
    claim("alloc_ondomain", n_there, n_domains * n_pages);

    char *round = omp_affinity_alloc_interleaved((size_t)(n_domains * n_pages * PAGE_BYTES));
    touch(round, n_domains * n_pages);
    long fewest = n_pages * n_domains;
    for (int d = 0; d < n_domains; d++) {
        long n = n_pages_on(round, n_domains * n_pages, d);
        if (n < fewest) fewest = n;
    }
    claim("alloc_interleaved", fewest, n_pages);
    omp_affinity_free(round, 0);

    int here = node_of_thread();
    char *plain = omp_affinity_alloc((size_t)(n_pages * PAGE_BYTES));
    REQUIRE(omp_ext_domain_of_address(plain) == -1);
    touch(plain, n_pages);
    claim("alloc_first_touch", n_pages_on(plain, n_pages, here), n_pages);

    /* Existing pages move, and move back. */
    long n_moved = 0;
    for (int d = n_domains - 1; d >= 0; d--) {
        REQUIRE(omp_affinity_mem_todomain(plain, (size_t)(n_pages * PAGE_BYTES), d) == 0);
        n_moved += n_pages_on(plain, n_pages, d);
        REQUIRE(plain[0] == 1 && plain[(n_pages - 1) * PAGE_BYTES] == 1);
    }
    claim("mem_todomain", n_moved, n_domains * n_pages);
    omp_affinity_free(plain, (size_t)(n_pages * PAGE_BYTES));
    REQUIRE(omp_affinity_mem_todomain(plain, (size_t)(n_pages * PAGE_BYTES), 1) == OMP_EXT_EINVAL);

    /* Ordinary memory, not touched yet. */
    char *heap = aligned_alloc((size_t)PAGE_BYTES, (size_t)(n_pages * PAGE_BYTES));
    REQUIRE(omp_affinity_mem_todomain(heap, (size_t)(n_pages * PAGE_BYTES), 2) == 0);
    touch(heap, n_pages);
    claim("mem_todomain_untouched", n_pages_on(heap, n_pages, 2), n_pages);
    free(heap);
}

static long n_tasks_there, n_tasks_all;

static void note_task(int domain) {
    add_long(&n_tasks_all, 1);
    add_long(&n_tasks_there, node_of_thread() == domain && omp_get_locality_domain_num() == domain);
}

/* Touches half by half, in unplaced tasks, which stay in the domain of their creator. */
static void touch_by_halves(char *part, long n, int domain) {
    note_task(domain);
    if (n <= 8) {
        touch(part, n);
        return;
    }
#pragma omp task
    touch_by_halves(part, n / 2, domain);
#pragma omp task
    touch_by_halves(part + n / 2 * PAGE_BYTES, n - n / 2, domain);
#pragma omp taskwait
}

static void check_spread_initialisation(char *array) {
#pragma omp parallel
#pragma omp single
    for (int d = 0; d < n_domains; d++) {
        omp_child_task_affinity(d);
#pragma omp task firstprivate(d)
        touch_by_halves(array + d * n_pages * PAGE_BYTES, n_pages, d);
    }
    claim("placed_task_runs_there", n_tasks_there, n_tasks_all);
    long n_there = 0;
    for (int d = 0; d < n_domains; d++) n_there += n_pages_on(array + d * n_pages * PAGE_BYTES, n_pages, d);
    claim("spread_initialisation", n_there, n_domains * n_pages);
}

/* Checks that tasks with affinity clauses run where their pages are, and follow moved pages. */
static void check_affinity_clause(char *array, const char *name) {
    n_tasks_there = n_tasks_all = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel
#pragma omp single
        for (int d = 0; d < n_domains; d++) {
            char *part = array + d * n_pages * PAGE_BYTES;
            long part_bytes = n_pages * PAGE_BYTES;
            int domain = node_of(part + part_bytes / 2);
#pragma omp task affinity(part[0 : part_bytes]) firstprivate(domain)
            note_task(domain);
        }
    }
    claim(name, n_tasks_there, n_tasks_all);
}

int main(int argc, char **argv) {
    n_pages = argc > 1 ? atol(argv[1]) : 128;
    n_domains = omp_get_num_locality_domains();
    REQUIRE(n_domains >= 3 && n_pages > 0);
    omp_ext_set_strict(1);
    check_allocation();

    size_t bytes = (size_t)(n_domains * n_pages * PAGE_BYTES);
    char *array = omp_affinity_alloc(bytes);
    check_spread_initialisation(array);
    check_affinity_clause(array, "affinity_clause");
    for (int d = 0; d < n_domains; d++)
        REQUIRE(omp_affinity_mem_todomain(array + d * n_pages * PAGE_BYTES, (size_t)(n_pages * PAGE_BYTES),
                                          n_domains - 1 - d) == 0);
    check_affinity_clause(array, "affinity_clause_after_move");
    omp_affinity_free(array, bytes);

    struct omp_ext_statistics statistics;
    REQUIRE(omp_ext_get_statistics(&statistics, sizeof statistics) == 0);
    printf("RESCUED %lu\n", (unsigned long)statistics.n_rescued);
    for (int from = 0; from < n_domains; from++) {
        printf("DISTANCES");
        for (int to = 0; to < n_domains; to++) printf(" %d", omp_ext_get_domain_distance(from, to));
        printf("\n");
    }
    return 0;
}
