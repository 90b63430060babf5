// SPDX-License-Identifier: Apache-2.0
/*
 * Enters a sandbox (seccomp), as servers and browsers do, and continues in it. Arguments: the calls that the filter
 * forbids; "late" if the program uses OpenMP before, "early" if only inside; "kill" or "refuse".
 *   write   opening a file for writing, or creating one
 *   open    opening any file
 *   events  perf_event_open
 *   most    all calls but the ones that libomp and libc need in a region: a list of permitted calls
 */
#include "../facts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (n))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define IF_CALL(number, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), ANSWER(action)
#define ALLOWED(name) IF_CALL(SYS_##name, SECCOMP_RET_ALLOW)

static void install(struct sock_filter *filter, size_t n) {
    struct sock_fprog program = {(unsigned short)n, filter};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}
#define INSTALL(filter) install(filter, sizeof(filter) / sizeof((filter)[0]))

static void forbid(const char *what, unsigned action) {
    if (strcmp(what, "write") == 0) {
        struct sock_filter filter[] = {
            LOAD(nr),
#ifdef SYS_open
            IF_CALL(SYS_creat, action),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 3),
            LOAD_ARGUMENT(1),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT, 4, 0),
            ANSWER(SECCOMP_RET_ALLOW),
#endif
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
            LOAD_ARGUMENT(2),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT, 0, 1),
            ANSWER(action),
            ANSWER(SECCOMP_RET_ALLOW),
        };
        INSTALL(filter);
    } else if (strcmp(what, "open") == 0) {
        struct sock_filter filter[] = {
            LOAD(nr),
#ifdef SYS_open
            IF_CALL(SYS_open, action),
            IF_CALL(SYS_creat, action),
#endif
            IF_CALL(SYS_openat, action),
            IF_CALL(SYS_openat2, action),
            ANSWER(SECCOMP_RET_ALLOW),
        };
        INSTALL(filter);
    } else if (strcmp(what, "events") == 0) {
        struct sock_filter filter[] = {LOAD(nr), IF_CALL(SYS_perf_event_open, action), ANSWER(SECCOMP_RET_ALLOW)};
        INSTALL(filter);
    } else {
        struct sock_filter filter[] = {
            LOAD(nr),
            ALLOWED(read),
            ALLOWED(ioctl),
            ALLOWED(write),
            ALLOWED(lseek),
            ALLOWED(close),
            ALLOWED(fstat),
            ALLOWED(newfstatat),
            ALLOWED(mmap),
            ALLOWED(mprotect),
            ALLOWED(munmap),
            ALLOWED(mremap),
            ALLOWED(madvise),
            ALLOWED(brk),
            ALLOWED(futex),
            ALLOWED(clone),
            ALLOWED(clone3),
            ALLOWED(set_robust_list),
            ALLOWED(rseq),
            ALLOWED(gettid),
            ALLOWED(getpid),
            ALLOWED(rt_sigprocmask),
            ALLOWED(rt_sigaction),
            ALLOWED(sigaltstack),
            ALLOWED(sched_yield),
            ALLOWED(sched_getaffinity),
            ALLOWED(sched_setaffinity),
            ALLOWED(prlimit64),
            ALLOWED(clock_gettime),
            ALLOWED(clock_nanosleep),
            ALLOWED(getrusage),
            ALLOWED(exit),
            ALLOWED(exit_group),
            ALLOWED(unlink),
            ALLOWED(unlinkat), /* libomp removes its file in /dev/shm at its end */
            ANSWER(action),
        };
        INSTALL(filter);
    }
}

/* A task at a new place in the source, so the statistics must grow by a construct. */
#define TASK                                                                                                           \
    { _Pragma("omp task") count_task(); }
#define TASKS_8 TASK TASK TASK TASK TASK TASK TASK TASK
#define TASKS_64 TASKS_8 TASKS_8 TASKS_8 TASKS_8 TASKS_8 TASKS_8 TASKS_8 TASKS_8

/* Not inlined: otherwise main() would call the runtime at its begin. */
__attribute__((noinline)) static void many_constructs(void) {
#pragma omp parallel
#pragma omp single
    {
        count_region();
        TASKS_64 TASKS_64
    }
}

__attribute__((noinline)) static void many_tasks(int n_threads) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    {
        count_region();
        for (int i = 0; i < 100000; i++) {
#pragma omp task
            count_task();
        }
    }
}

int main(int n_arguments, char **arguments) {
    REQUIRE(n_arguments == 4);
    const unsigned action = strcmp(arguments[3], "kill") == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
    const int late = strcmp(arguments[2], "late") == 0;
    if (late) many_tasks(2);
    forbid(arguments[1], action);
    many_constructs();
    many_tasks(2);
    many_tasks(4); /* with threads that have no log yet */
    REQUIRE(n_tasks_run == 128 + (late ? 300000 : 200000));
    print_facts();
    fflush(stdout);
    if (strcmp(arguments[1], "open") == 0 || strcmp(arguments[1], "most") == 0)
        _exit(0); /* libomp opens a file at its end */
    return 0;
}
