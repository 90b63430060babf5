// SPDX-License-Identifier: Apache-2.0
// Entry points for static and combined loops that earlier versions of gcc called. Today's gcc does not call them.
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>

typedef unsigned long long ull;
extern bool GOMP_loop_static_start(long, long, long, long, long *, long *);
extern bool GOMP_loop_static_next(long *, long *);
extern bool GOMP_loop_ull_static_start(bool, ull, ull, ull, ull, ull *, ull *);
extern bool GOMP_loop_ull_static_next(ull *, ull *);
extern void GOMP_loop_end(void);
extern void GOMP_loop_end_nowait(void);
extern void GOMP_parallel_loop_static(void (*)(void *), void *, unsigned, long, long, long, long, unsigned);
extern void GOMP_parallel_loop_dynamic(void (*)(void *), void *, unsigned, long, long, long, long, unsigned);
extern void GOMP_parallel_loop_guided(void (*)(void *), void *, unsigned, long, long, long, long, unsigned);
extern void GOMP_parallel_loop_runtime(void (*)(void *), void *, unsigned, long, long, long, unsigned);
extern bool GOMP_loop_dynamic_next(long *, long *);
extern bool GOMP_loop_guided_next(long *, long *);
extern bool GOMP_loop_runtime_next(long *, long *);

static int owner[60];

// Prints the thread of each iteration, or only whether it ran if the loop has chunks: LLVM's runtimes divide such a
// loop evenly.
static void show(const char *name, long chunk) {
    printf("%s:", name);
    for (int i = 0; i < 60; i++) {
        printf(" %d", chunk ? owner[i] >= 0 : owner[i]);
        owner[i] = -1;
    }
    putchar('\n');
}

#define SHARE(kind, owns)                                                                                              \
    static void kind##_share(void *data) {                                                                             \
        (void)data;                                                                                                    \
        long from, to;                                                                                                 \
        while (GOMP_loop_##kind##_next(&from, &to))                                                                    \
            for (long i = from; i < to; i++) owner[i] = (owns) ? omp_get_thread_num() : owner[i] + 2;                  \
        GOMP_loop_end_nowait();                                                                                        \
    }
SHARE(static, 1)
SHARE(dynamic, 0)
SHARE(guided, 0)
SHARE(runtime, 0)

static void upwards(long chunk) {
#pragma omp parallel
    {
        long from, to;
        if (GOMP_loop_static_start(0, 60, 1, chunk, &from, &to)) do {
                for (long i = from; i < to; i++) owner[i] = omp_get_thread_num();
            } while (GOMP_loop_static_next(&from, &to));
        GOMP_loop_end();
    }
    show("up", (long)chunk);
}

static void downwards(long chunk) {
#pragma omp parallel
    {
        long from, to;
        if (GOMP_loop_static_start(59, -1, -2, chunk, &from, &to)) do {
                for (long i = from; i > to; i -= 2) owner[i] = omp_get_thread_num();
            } while (GOMP_loop_static_next(&from, &to));
        GOMP_loop_end_nowait();
    }
    show("down", (long)chunk);
}

static void unsigned_bounds(ull chunk) {
    const ull base = ~0ull - 100;
#pragma omp parallel
    {
        ull from, to;
        if (GOMP_loop_ull_static_start(true, base, base + 60, 1, chunk, &from, &to)) do {
                for (ull i = from; i < to; i++) owner[i - base] = omp_get_thread_num();
            } while (GOMP_loop_ull_static_next(&from, &to));
        GOMP_loop_end();
    }
    show("ull up", (long)chunk);
#pragma omp parallel
    {
        ull from, to;
        if (GOMP_loop_ull_static_start(false, base + 59, base - 1, -1ull, chunk, &from, &to)) do {
                for (ull i = from; i > to; i--) owner[i - base] = omp_get_thread_num();
            } while (GOMP_loop_ull_static_next(&from, &to));
        GOMP_loop_end();
    }
    show("ull down", (long)chunk);
}

int main(void) {
    upwards(0);
    upwards(7);
    downwards(0);
    downwards(3);
    unsigned_bounds(0);
    unsigned_bounds(4);
    GOMP_parallel_loop_static(static_share, 0, 0, 0, 60, 1, 0, 0);
    show("combined", 0);
    GOMP_parallel_loop_static(static_share, 0, 0, 0, 60, 1, 8, 0);
    show("combined in chunks", 8);
    GOMP_parallel_loop_dynamic(dynamic_share, 0, 0, 0, 60, 1, 2, 0);
    show("dynamic", 0);
    GOMP_parallel_loop_guided(guided_share, 0, 0, 0, 60, 1, 2, 0);
    show("guided", 0);
    GOMP_parallel_loop_runtime(runtime_share, 0, 0, 0, 60, 1, 0);
    show("runtime", 0);
    return 0;
}
