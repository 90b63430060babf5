// SPDX-License-Identifier: Apache-2.0
// Tasks of all kinds with private data of 40,000 bytes, whose memory the runtime returns to the system when they end.
// The test's settings unmap it at once, so a use of an ended task ends the process.
//
// Prints FACTS tasks=N; exits with 1 if the sum of all tasks is wrong.
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { kBytes = 40000, kTasks = 60, kRounds = 3, kDepth = 5 };

typedef struct {
    char bytes[kBytes];
} Data;

static long n_run, sum;
static Data data;
static char address[kTasks];

static void use(const Data *own) {
    long here = 0;
    for (int i = 0; i < kBytes; i += 100) here += own->bytes[i];
#pragma omp atomic
    sum += here;
#pragma omp atomic
    n_run++;
}

static void tree(int depth, int waits) { // without waits, tasks end before their children
    for (int i = 0; i < 2; i++) {
#pragma omp task firstprivate(data, depth, waits)
        {
            if (depth > 1) tree(depth - 1, waits);
            use(&data);
        }
    }
    if (waits) {
#pragma omp taskwait
    }
}

static void plain(void) {
    for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(data)
        use(&data);
    }
}

static void untied(void) {
    for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(data) untied
        {
            use(&data);
#pragma omp task firstprivate(data)
            use(&data);
#pragma omp taskyield
        }
    }
}

static void undeferred(void) {
    for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(data) if (i % 2) final(i % 3 == 0)
        {
            use(&data);
#pragma omp task firstprivate(data)
            use(&data);
        }
    }
}

static void dependent(void) {
    for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(data) depend(inout : address[i % 4]) depend(in : address[i % 7])
        use(&data);
    }
}

static void grouped(void) {
#pragma omp taskgroup
    {
        tree(3, 0);
#pragma omp taskloop firstprivate(data) grainsize(1) nogroup
        for (int i = 0; i < kTasks; i++) use(&data);
    }
}

static void detached(void) {
#ifdef HAS_DETACH
    for (int i = 0; i < kTasks; i++) {
        omp_event_handle_t event = 0;
#pragma omp task firstprivate(data) detach(event)
        {
            use(&data);
            if (i % 2) omp_fulfill_event(event);
        }
        if (i % 2 == 0) omp_fulfill_event(event);
    }
#endif
}

// Another thread fulfils each event while the task's thread ends the task.
static void fulfilled_at_end(void) {
#ifdef HAS_DETACH
    for (int i = 0; i < kTasks / 3; i++) {
        static long n_ready;
        omp_event_handle_t event = 0;
        const long before = n_ready;
#pragma omp task firstprivate(data) detach(event)
        {
            use(&data);
#pragma omp atomic update
            n_ready++;
        }
        for (long ready = before; ready == before && omp_get_num_threads() > 1;) {
            sched_yield();
#pragma omp atomic read
            ready = n_ready;
        }
        omp_fulfill_event(event);
    }
#endif
}

static void trees(void) { tree(kDepth, 0); }
static void waiting_trees(void) { tree(kDepth, 1); }

static void cancelled(void) { // if OMP_CANCELLATION is set
#pragma omp taskgroup
    for (int i = 0; i < kTasks; i++) {
#pragma omp task firstprivate(data)
        {
            use(&data);
            if (i == kTasks / 2) {
#pragma omp cancel taskgroup
            }
        }
    }
}

int main(void) {
    static void (*const kinds[])(void) = {plain,   trees,     waiting_trees, untied,           undeferred,
                                          grouped, dependent, detached,      fulfilled_at_end, cancelled};
    memset(data.bytes, 1, kBytes);
    for (int round = 0; round < kRounds; round++) {
        for (unsigned kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
#pragma omp parallel num_threads(4)
#pragma omp single
            kinds[kind]();
        }
    }
    printf("FACTS tasks=%ld\n", n_run);
    return sum != n_run * (kBytes / 100);
}
