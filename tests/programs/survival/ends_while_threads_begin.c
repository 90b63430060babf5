// SPDX-License-Identifier: Apache-2.0
/*
 * Recording ends while the threads of the team begin: this program delays their calls of perf_event_open, and the first
 * thread does not wait for them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int n_late;

long syscall(long number, ...) {
    static long (*real)(long, ...);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    long words[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) words[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_perf_event_open && real(SYS_gettid) != getpid()) {
        __atomic_add_fetch(&n_late, 1, __ATOMIC_RELAXED);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int main(void) {
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 0) {
        for (int i = 0; i < 100 && !__atomic_load_n(&n_late, __ATOMIC_RELAXED); i++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        omp_control_tool(omp_control_tool_end, 0, NULL);
    }
    printf("%d calls were late\n", n_late);
    return n_late == 0;
}
