// SPDX-License-Identifier: Apache-2.0
// Measures the times of an OpenMP runtime's operations, and prints `name ns` lines. `ompass calibrate` builds and runs
// this program. Each figure is the lowest decile of many rounds, so rounds that other programs disturb do not count.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRounds = 100, kTasks = 128 }; // fewer tasks than libomp's queues hold

static double rounds[kRounds];
// On separate cache lines: a thread that polls one variable must not slow down the others.
static volatile int go __attribute__((aligned(64))), done __attribute__((aligned(64)));
static volatile double started __attribute__((aligned(64)));

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int compare(const void *one, const void *other) {
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double lowest_decile(void) {
    qsort(rounds, kRounds, sizeof *rounds, compare);
    return rounds[kRounds / 10];
}

static void create_tasks(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp task
        __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
    }
}

// Measures the times to create a task, to run a task, and to create and await a single task, on one thread while the
// other thread is busy.
static void measure_own(double *create, double *run, double *pair) {
    static double created[kRounds], ran[kRounds], paired[kRounds];
    for (int r = 0; r < kRounds; r++) {
        go = 0;
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num()) {
            while (!go) {}
        } else {
            double begin = now_ns();
            create_tasks(kTasks);
            created[r] = (now_ns() - begin) / kTasks;
            begin = now_ns();
#pragma omp taskwait
            ran[r] = (now_ns() - begin) / kTasks;
            begin = now_ns();
            for (int i = 0; i < kTasks; i++) {
                create_tasks(1);
#pragma omp taskwait
            }
            paired[r] = (now_ns() - begin) / kTasks;
            go = 1;
        }
    }
    double *const from[] = {created, ran, paired}, *const to[] = {create, run, pair};
    for (int k = 0; k < 3; k++) {
        for (int r = 0; r < kRounds; r++) rounds[r] = from[k][r];
        *to[k] = lowest_decile();
    }
}

// Returns the time to create a task with two dependences.
static double measure_depend(void) {
    static char one[kTasks], other[kTasks]; // only their addresses are used
    for (int r = 0; r < kRounds; r++) {
        go = 0;
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num()) {
            while (!go) {}
        } else {
            const double begin = now_ns();
            for (int i = 0; i < kTasks; i++) {
#pragma omp task depend(inout : one[i], other[i])
                __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
            }
            rounds[r] = (now_ns() - begin) / kTasks;
#pragma omp taskwait
            go = 1;
        }
    }
    return lowest_decile();
}

// Returns the time to create a task while the other threads of a team steal tasks.
static double measure_contended(int n) {
    for (int r = 0; r < kRounds; r++) {
#pragma omp parallel num_threads(n)
        if (omp_get_thread_num() == 0) {
            const double until = now_ns() + 20000; // the other threads have begun to look for tasks
            while (now_ns() < until) {}
            const double begin = now_ns();
            create_tasks(kTasks);
            rounds[r] = (now_ns() - begin) / kTasks;
        }
    }
    return lowest_decile();
}

// Returns the time to take a task that another thread created.
static double measure_steal(void) {
    static volatile double first, last;
    for (int r = 0; r < kRounds; r++) {
        done = 0;
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0) {
            for (int i = 0; i < kTasks; i++) {
#pragma omp task
                {
                    const int before = __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
                    if (before == 0) first = now_ns();
                    if (before == kTasks - 1) last = now_ns();
                }
            }
            while (done < kTasks) {}
        }
        rounds[r] = (last - first) / (kTasks - 1);
    }
    return lowest_decile();
}

// Returns the time from a creation to the start of the task on an idle thread.
static double measure_wake(void) {
    for (int r = 0; r < kRounds; r++) {
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0) {
            const double until = now_ns() + 5000;
            while (now_ns() < until) {}
            started = 0;
            const double begin = now_ns();
#pragma omp task
            started = now_ns();
            while (started == 0) {}
            rounds[r] = started - begin;
        }
    }
    return lowest_decile();
}

static double measure_inlined(void) {
    for (int r = 0; r < kRounds; r++) {
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0) {
            const double begin = now_ns();
            for (int i = 0; i < kTasks; i++) {
#pragma omp task if (0)
                __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
            }
            rounds[r] = (now_ns() - begin) / kTasks;
        }
    }
    return lowest_decile();
}

static double measure_barrier(int n) {
    for (int r = 0; r < kRounds; r++) {
#pragma omp parallel num_threads(n)
        {
#pragma omp barrier
            const double begin = now_ns();
            for (int i = 0; i < 20; i++) {
#pragma omp barrier
            }
            if (omp_get_thread_num() == 0) rounds[r] = (now_ns() - begin) / 20;
        }
    }
    return lowest_decile();
}

// Returns the time of a static loop with one empty iteration for each thread, without a barrier.
static double measure_loop(int n) {
    for (int r = 0; r < kRounds; r++) {
#pragma omp parallel num_threads(n)
        {
#pragma omp barrier
            const double begin = now_ns();
            for (int k = 0; k < 20; k++) {
#pragma omp for schedule(static) nowait
                for (int i = 0; i < n; i++) __asm__ volatile("");
            }
            if (omp_get_thread_num() == 0) rounds[r] = (now_ns() - begin) / 20;
        }
    }
    return lowest_decile();
}

static double measure_region(int n) {
    for (int r = 0; r < kRounds; r++) {
        const double begin = now_ns();
#pragma omp parallel num_threads(n)
        __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
        rounds[r] = now_ns() - begin;
    }
    return lowest_decile();
}

static double measure_lock(int n) {
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int r = 0; r < kRounds; r++) {
        const double begin = now_ns();
#pragma omp parallel num_threads(n)
        for (int i = 0; i < 50; i++) {
            omp_set_lock(&lock);
            omp_unset_lock(&lock);
        }
        rounds[r] = (now_ns() - begin) / (50 * n);
    }
    omp_destroy_lock(&lock);
    return lowest_decile();
}

// Returns the time to take a chunk of an empty loop, while all threads take chunks.
static double measure_chunk(int n) {
    enum { kChunks = 1000 };
    for (int r = 0; r < kRounds; r++) {
#pragma omp parallel num_threads(n)
        {
#pragma omp barrier
            const double begin = now_ns();
#pragma omp for schedule(dynamic, 1)
            for (int i = 0; i < kChunks * n; i++) __asm__ volatile("");
            if (omp_get_thread_num() == 0) rounds[r] = (now_ns() - begin) / kChunks;
        }
    }
    return lowest_decile();
}

// Runs empty tasks for a trace. One task creates them and waits for them. Its thread runs all of them, because any
// other thread is busy.
static void run_empty_tasks(int n) {
    for (int r = 0; r < kRounds; r++) {
        go = 0;
#pragma omp parallel num_threads(n)
        if (omp_get_thread_num()) {
            while (!go) {}
        } else {
#pragma omp task
            {
                for (int i = 0; i < kTasks; i++) {
#pragma omp task
                    {}
                }
#pragma omp taskwait
                go = 1;
            }
        }
    }
}

int main(int argc, char **argv) {
    if (argc > 2) {
        run_empty_tasks(atoi(argv[1]));
        return 0;
    }
    const int n = argc > 1 ? atoi(argv[1]) : omp_get_num_procs();
    double create, run, pair;
    measure_own(&create, &run, &pair);
    printf("create %f\nrun %f\npair %f\n", create, run, pair);
    printf("steal %f\nwake %f\ninlined %f\n", measure_steal(), measure_wake(), measure_inlined());
    printf("barrier %f\nregion %f\nlock %f\n", measure_barrier(n), measure_region(n), measure_lock(n));
    printf("chunk %f\nloop %f\n", measure_chunk(n), measure_loop(n));
    printf("depend %f\ncontended %f\n", measure_depend(), measure_contended(n));
    return 0;
}
