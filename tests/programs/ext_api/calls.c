// SPDX-License-Identifier: Apache-2.0
/*
 * Every call of omp_ext.h, with right and wrong arguments, inside and outside of regions. Needs at least as many
 * threads as domains, and strict mode without rescues (OMP_EXT_TIED=relaxed).
 */
#include "../facts.h"

#include <omp.h>
#include <string.h>

#include "omp_ext.h"

#define PART_BYTES ((size_t)1 << 20)

static int n_domains;

static void check_map(void) {
    REQUIRE(n_domains >= 1 && omp_get_num_locality_domains() == n_domains);
    REQUIRE(omp_ext_get_version() == OMP_EXT_VERSION);
    for (int d = 0; d < n_domains; d++) {
        int cpus[1024], few[1] = {-7};
        int n_cpus = omp_ext_get_domain_cpus(d, cpus, 1024);
        REQUIRE(n_cpus >= 1 && n_cpus <= 1024);
        REQUIRE(omp_ext_get_domain_cpus(d, NULL, 0) == n_cpus);
        REQUIRE(omp_ext_get_domain_cpus(d, few, 0) == n_cpus && few[0] == -7);
        REQUIRE(omp_ext_get_domain_cpus(d, few, 1) == n_cpus && few[0] == cpus[0]);
        for (int to = 0; to < n_domains; to++)
            REQUIRE(d == to ? omp_ext_get_domain_distance(d, to) == 10 : omp_ext_get_domain_distance(d, to) > 10);
    }
    for (int wrong = -1; wrong <= n_domains; wrong += n_domains + 1) {
        REQUIRE(omp_ext_get_domain_cpus(wrong, NULL, 0) == OMP_EXT_EINVAL);
        REQUIRE(omp_ext_get_domain_threads(wrong, NULL, 0) == OMP_EXT_EINVAL);
        REQUIRE(omp_ext_get_domain_distance(wrong, 0) == OMP_EXT_EINVAL);
        REQUIRE(omp_ext_get_domain_distance(0, wrong) == OMP_EXT_EINVAL);
    }
}

static void check_memory(void) {
    REQUIRE(omp_affinity_alloc(0) == NULL && omp_affinity_alloc_interleaved(0) == NULL);
    REQUIRE(omp_affinity_alloc_ondomain(0, 0) == NULL && omp_affinity_alloc_ondomain((size_t)-1, 0) == NULL);
    for (int d = -1; d <= 2 * n_domains; d++) { /* out of range counts modulo the number of domains */
        char *part = omp_affinity_alloc_ondomain(PART_BYTES, d);
        REQUIRE(part && part[0] == 0 && part[PART_BYTES - 1] == 0);
        memset(part, 1, PART_BYTES);
        if (d >= 0) REQUIRE(omp_ext_domain_of_range(part, PART_BYTES) == d % n_domains);
        if (d >= 0) REQUIRE(omp_ext_domain_of_address(part + PART_BYTES / 2) == d % n_domains);
        int moved = omp_affinity_mem_todomain(part, PART_BYTES, 0);
        REQUIRE(moved == 0 || moved == OMP_EXT_ENOTSUP);
        REQUIRE(part[0] == 1 && part[PART_BYTES - 1] == 1);
        omp_affinity_free(part, PART_BYTES);
        if (n_domains > 1) REQUIRE(omp_ext_domain_of_address(part) == -1);
        REQUIRE(omp_affinity_mem_todomain(part, PART_BYTES, 0) == OMP_EXT_EINVAL);
    }
    char *interleaved = omp_affinity_alloc_interleaved(PART_BYTES);
    char *plain = omp_affinity_alloc(100);
    REQUIRE(interleaved && plain);
    plain[99] = 1;
    REQUIRE(omp_affinity_mem_todomain(plain, 100, -1) == OMP_EXT_EINVAL);
    REQUIRE(omp_affinity_mem_todomain(NULL, 100, 0) == OMP_EXT_EINVAL);
    REQUIRE(omp_affinity_mem_todomain(plain, 0, 0) == 0);
    REQUIRE(omp_ext_domain_of_range(NULL, 0) == -1);
    omp_ext_forget_pages();
    omp_affinity_free(interleaved, 1); /* the size is ignored */
    omp_affinity_free(plain, 100);
    omp_affinity_free(plain, 100); /* already freed: only a warning */
    omp_affinity_free(NULL, 100);
}

/* Checks that the setting belongs to a task and is not inherited. */
static void check_setting(void) {
    REQUIRE(omp_ext_get_child_task_affinity() == OMP_NO_CHILD_TASK_AFFINITY);
    omp_child_task_affinity(n_domains - 1);
    REQUIRE(omp_ext_get_child_task_affinity() == n_domains - 1);
#pragma omp task
    {
        count_task();
        REQUIRE(omp_ext_get_child_task_affinity() == OMP_NO_CHILD_TASK_AFFINITY);
        omp_child_task_affinity(0);
    }
#pragma omp taskwait
    REQUIRE(omp_ext_get_child_task_affinity() == n_domains - 1);
    omp_child_task_affinity(n_domains + n_domains - 1);
    REQUIRE(omp_ext_get_child_task_affinity() == n_domains - 1);
    omp_child_task_affinity(-5);
    REQUIRE(omp_ext_get_child_task_affinity() == OMP_NO_CHILD_TASK_AFFINITY);
}

static void check_placement(void) {
    for (int i = 0; i < 100 * n_domains; i++) {
        int domain = i % n_domains;
        omp_child_task_affinity(i); /* modulo the number of domains */
#pragma omp task firstprivate(domain)
        {
            count_task();
            REQUIRE(omp_get_locality_domain_num() == domain);
#pragma omp task firstprivate(domain)
            {
                count_task();
                REQUIRE(omp_get_locality_domain_num() == domain);
            }
        }
    }
    omp_child_task_affinity(OMP_NO_CHILD_TASK_AFFINITY);
}

static void check_threads(void) {
    int n_all = 0, seen[1024] = {0};
    for (int d = 0; d < n_domains; d++) {
        int threads[1024], n = omp_ext_get_domain_threads(d, threads, 1024);
        REQUIRE(n >= 1);
        REQUIRE(omp_ext_get_domain_threads(d, NULL, 0) == n);
        for (int i = 0; i < n; i++) REQUIRE(!seen[threads[i]]++);
        n_all += n;
    }
    REQUIRE(n_all == omp_get_num_threads());
}

static void check_statistics(void) {
    struct omp_ext_statistics all, sum = {0}, one, before;
    REQUIRE(omp_ext_get_statistics(&all, sizeof all) == 0);
    for (int d = 0; d < n_domains; d++) {
        REQUIRE(omp_ext_get_domain_statistics(d, &one, sizeof one) == 0);
        sum.n_created += one.n_created, sum.n_placed += one.n_placed, sum.n_run += one.n_run;
        REQUIRE(one.mailbox_depth == 0);
    }
    REQUIRE(sum.n_created == all.n_created && sum.n_placed == all.n_placed && sum.n_run == all.n_run);
    REQUIRE(all.n_run == (uint64_t)n_tasks_run && all.n_created == all.n_run);
    REQUIRE(all.n_rescued == 0 && all.n_stolen_outside == 0 && all.n_local == all.n_run);
    uint64_t n_moved = 0;
    for (int from = 0; from < n_domains; from++)
        for (int to = 0; to < n_domains; to++)
            if (from != to) n_moved += omp_ext_get_n_moved(from, to);
    REQUIRE(n_moved == 0 && omp_ext_get_n_moved(-1, 0) == 0 && omp_ext_get_n_moved(0, n_domains) == 0);

    memset(&before, 0x5a, sizeof before);
    one = before;
    REQUIRE(omp_ext_get_domain_statistics(n_domains, &one, sizeof one) == OMP_EXT_EINVAL);
    REQUIRE(omp_ext_get_domain_statistics(-1, &one, sizeof one) == OMP_EXT_EINVAL);
    REQUIRE(omp_ext_get_thread_statistics(100000, &one, sizeof one) == OMP_EXT_EINVAL);
    REQUIRE(omp_ext_get_statistics(NULL, sizeof one) == OMP_EXT_EINVAL);
    REQUIRE(memcmp(&one, &before, sizeof one) == 0);
    /* An older program's smaller structure. */
    REQUIRE(omp_ext_get_statistics(&one, sizeof one.n_created) == 0);
    REQUIRE(one.n_created == all.n_created && memcmp(&one.n_placed, &before.n_placed, sizeof one.n_placed) == 0);
    omp_ext_reset_statistics();
    REQUIRE(omp_ext_get_statistics(&all, sizeof all) == 0 && all.n_run == 0 && all.n_created == 0);
}

int main(void) {
    n_domains = omp_get_num_locality_domains();
    REQUIRE(omp_get_locality_domain_num() >= 0 && omp_get_locality_domain_num() < n_domains);
    check_map();
    check_memory();
    omp_child_task_affinity(n_domains - 1); /* no effect outside of regions */
    omp_ext_set_region_strict(1); /* no effect either */
    omp_ext_set_strict(1);
    REQUIRE(omp_ext_get_strict() == 1);
    REQUIRE(omp_ext_is_active() == 1);
#pragma omp parallel
#pragma omp single
    {
        count_region();
        check_setting();
        check_memory();
        check_placement();
    }
#pragma omp parallel
    {
#pragma omp single
        {
            count_region();
            check_threads();
            check_map();
            omp_ext_set_region_strict(0);
            REQUIRE(omp_ext_get_strict() == 0);
            omp_ext_set_region_strict(1);
            REQUIRE(omp_ext_get_strict() == 1);
        }
    }
    check_statistics();
    omp_ext_display();
    print_facts();
    return 0;
}
