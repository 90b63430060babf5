// SPDX-License-Identifier: Apache-2.0
/*
 * For a system that forbids mbind and move_pages, like containers: memory and tasks still work, tasks follow the
 * requested placement, and the library reports each prohibition once.
 */
#include "pages.h" /* must come first, because it includes facts.h */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "omp_ext.h"

#define FORBID(number)                                                                                                 \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void forbid(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBID(SYS_mbind),
        FORBID(SYS_move_pages),
        FORBID(SYS_migrate_pages),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(void) {
    enum { kBytes = 1 << 20 };
    int n_domains = omp_get_num_locality_domains();
    long n_elsewhere = 0;
    forbid();
    omp_ext_set_strict(1);
    for (int round = 0; round < 3; round++)
        for (int d = 0; d < n_domains; d++) {
            char *part = omp_affinity_alloc_ondomain(kBytes, d);
            REQUIRE(part);
            part[kBytes - 1] = 1;
            REQUIRE(omp_ext_domain_of_range(part, kBytes) == d);
#pragma omp parallel
#pragma omp single
            {
#pragma omp task affinity(part[0 : kBytes])
                {
                    count_task();
                    if (omp_get_locality_domain_num() != d) add_long(&n_elsewhere, 1);
                }
            }
            REQUIRE(omp_affinity_mem_todomain(part, kBytes, 0) == OMP_EXT_ENOTSUP);
            REQUIRE(part[kBytes - 1] == 1 && omp_ext_domain_of_range(part, kBytes) == 0);
            omp_affinity_free(part, kBytes);
        }
    REQUIRE(n_elsewhere == 0 && n_tasks_run == 3L * n_domains);
    printf("all held\n");
    return 0;
}
