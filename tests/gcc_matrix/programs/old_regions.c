// SPDX-License-Identifier: Apache-2.0
// The regions of gcc before 4.9: a call starts the team, the caller executes its share, and another call ends the team.
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>

extern void GOMP_parallel_start(void (*)(void *), void *, unsigned);
extern void GOMP_parallel_loop_static_start(void (*)(void *), void *, unsigned, long, long, long, long);
extern void GOMP_parallel_loop_dynamic_start(void (*)(void *), void *, unsigned, long, long, long, long);
extern void GOMP_parallel_loop_guided_start(void (*)(void *), void *, unsigned, long, long, long, long);
extern void GOMP_parallel_loop_runtime_start(void (*)(void *), void *, unsigned, long, long, long);
extern void GOMP_parallel_sections_start(void (*)(void *), void *, unsigned, unsigned);
extern void GOMP_parallel_end(void);
extern bool GOMP_loop_static_next(long *, long *);
extern bool GOMP_loop_dynamic_next(long *, long *);
extern bool GOMP_loop_guided_next(long *, long *);
extern bool GOMP_loop_runtime_next(long *, long *);
extern void GOMP_loop_end_nowait(void);
extern unsigned GOMP_sections_next(void);
extern void GOMP_sections_end_nowait(void);

static void add(long *to, long value) { __atomic_add_fetch(to, value, __ATOMIC_RELAXED); }

static void region(void *data) { add(data, omp_get_thread_num() + 100 * omp_get_num_threads()); }

#define SHARE(kind)                                                                                                    \
    static void kind##_share(void *data) {                                                                             \
        long from, to;                                                                                                 \
        while (GOMP_loop_##kind##_next(&from, &to))                                                                    \
            for (long i = from; i < to; i++) add(data, i *i);                                                          \
        GOMP_loop_end_nowait();                                                                                        \
    }
SHARE(static)
SHARE(dynamic)
SHARE(guided)
SHARE(runtime)

static void sections(void *data) {
    for (unsigned section; (section = GOMP_sections_next());) add(data, section == 1 ? 1 : section == 2 ? 10 : 100);
    GOMP_sections_end_nowait();
}

int main(void) {
    long sum = 0;
    GOMP_parallel_start(region, &sum, 0);
    region(&sum);
    GOMP_parallel_end();
    printf("region %ld\n", sum);
#define LOOP(kind, ...)                                                                                                \
    sum = 0;                                                                                                           \
    GOMP_parallel_loop_##kind##_start(kind##_share, &sum, 0, 0, 100, 1, ##__VA_ARGS__);                                \
    kind##_share(&sum);                                                                                                \
    GOMP_parallel_end();                                                                                               \
    printf(#kind " %ld\n", sum)
    LOOP(static, 0);
    LOOP(static, 7);
    LOOP(dynamic, 3);
    LOOP(guided, 2);
    LOOP(runtime);
    sum = 0;
    GOMP_parallel_sections_start(sections, &sum, 0, 3);
    sections(&sum);
    GOMP_parallel_end();
    printf("sections %ld\n", sum);
    return 0;
}
