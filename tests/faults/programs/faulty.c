// SPDX-License-Identifier: Apache-2.0
/*
 * Runs tasks of every kind, and makes a fault at a moment that depends on the seed:
 *   faulty SEED FAULT PLACE PROGRESS [PLUGIN]
 * PLACE is where the fault happens: in a `task`, in the `serial` part between two regions, or in a `thread` that OpenMP
 * does not know, while a task waits for that thread. The program's output depends only on its arguments.
 *
 * PROGRESS is a file with one struct progress, which survives the process. At any moment:
 *   n_certain <= completed tasks in the recording <= n_started
 * A task of depth 0 is certain when its thread begins the next task: it has no task scheduling point, and the runtime
 * reports its end and the next task's start to the tool before it calls the next body. All other tasks are certain when
 * their region has ended.
 */
#include "../../programs/facts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    kStatus = 7,
    kRounds = 30,
    kMoments = 5000,
    kManyRegions = 10000,
    kManyThreads = 60,
    kExits = 4,
    kEvery = 150,
    kAtOnce = 3
};

/* gcc 12's omp.h lacks omp_control_tool_t and the function. The function is weak, because libgomp 12 lacks it, too. */
enum command { kStart = 1, kPause = 2, kFlush = 3, kEnd = 4 };
__attribute__((weak)) int omp_control_tool(int command, int modifier, void *argument);

struct progress {
    long n_started, n_certain;
    long n_regions_started, n_regions_ended;
    long n_faults;
};

static struct progress *progress;
static unsigned seed, round_number;
static long moment;
static const char *fault, *place, *plugin;
static unsigned long sum;
static long is_ending; /* 1: the program calls exit(); the recording may lack all later events */
static _Thread_local unsigned leaf_of_round; /* 1 + the round of the last task of depth 0 on this thread; 0: none */

static unsigned draw(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int is(const char *name) { return strcmp(fault, name) == 0; }
static int is_at(const char *name) { return strcmp(place, name) == 0; }

static void count_bodies(long n) { add_long(&progress->n_started, n); }

/* Forks a child, which calls `run` unless it is null, and waits until the child ends. */
static void fork_child(void (*run)(void)) {
    const pid_t child = fork();
    if (child == 0) {
        if (run) run();
        _exit(0);
    }
    REQUIRE(child > 0 && waitpid(child, NULL, 0) == child);
}

static void become_another_program(void) { execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL); }

static void run_tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 10; i++) {
#pragma omp task
        spin_ns(100);
    }
}

static void vfork_child(void) {
    const pid_t child = vfork();
    if (child == 0) {
        if (seed % 2) execl("/bin/true", "true", (char *)NULL);
        _exit(0);
    }
    REQUIRE(child > 0 && waitpid(child, NULL, 0) == child);
}

/* Loads a library, lets it run tasks, and unloads it. */
static void use_plugin(void) {
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library);
    void (*run)(void (*)(long)) = (void (*)(void (*)(long)))dlsym(library, "run_plugin");
    REQUIRE(run);
    run(count_bodies);
    REQUIRE(dlclose(library) == 0);
}

static void control_tool(enum command command) {
    if (omp_control_tool) omp_control_tool(command, 0, NULL);
}

static void control(void) {
    unsigned random = seed + (unsigned)load_long(&progress->n_faults) * 2654435761u;
    control_tool((enum command)(kStart + draw(&random) % 3));
}

static void *do_fault(void *unused) {
    add_long(&progress->n_faults, 1);
    if (is("kill")) raise(SIGKILL);
    if (is("term")) kill(getpid(), SIGTERM);
    if (is("segv")) *(volatile int *)8 = 1;
    if (is("abort")) abort();
    if (is("_exit")) _exit(kStatus);
    if (is("quick_exit")) quick_exit(kStatus);
    if (is("exit") || is("exits")) {
        store_long(&is_ending, 1);
        exit(kStatus);
    }
    if (is("exec")) become_another_program();
    if (is("fork")) fork_child(seed % 2 ? run_tasks : NULL);
    if (is("fork-exec")) fork_child(become_another_program);
    if (is("vfork")) vfork_child();
    if (is("dlclose")) use_plugin();
    if (is("pauses")) control();
    if (is("end")) control_tool(kEnd);
    return unused;
}

static int repeats(void) { return is("fork") || is("fork-exec") || is("vfork") || is("dlclose") || is("pauses"); }

/* True if the fault is due when `number` tasks have begun. */
static int is_due(long number) {
    if (repeats()) return number % kEvery == moment % kEvery;
    return is("exits") ? number >= moment && number < moment + kExits : number == moment;
}

static void fault_in_task(long number) {
    if (is_at("serial") || !is_due(number)) return;
    if (is_at("task")) {
        do_fault(NULL);
        return;
    }
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, do_fault, NULL) == 0);
    pthread_join(thread, NULL);
}

static void begin_task(void) {
    if (leaf_of_round == 1 + round_number && !load_long(&is_ending)) add_long(&progress->n_certain, 1);
    leaf_of_round = 0;
    fault_in_task(add_long(&progress->n_started, 1));
}

static void work(int depth, unsigned random) {
    begin_task();
    if (depth == 0) {
        __atomic_fetch_add(&sum, random, __ATOMIC_RELAXED);
        leaf_of_round = 1 + round_number;
        return;
    }
    switch (draw(&random) % 5) {
    case 0:
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 3; i++) work(depth - 1, random + (unsigned)i);
        break;
    case 1:
#pragma omp task if (0)
        work(depth - 1, random + 1);
        break;
    case 2: {
        int order = 0;
#pragma omp task depend(inout : order) shared(order)
        work(depth - 1, random + 2);
#pragma omp task depend(inout : order) shared(order)
        work(depth - 1, random + 3);
#pragma omp taskwait
        break;
    }
    case 3:
#pragma omp task untied
        work(0, random + 4);
        break;
    default:
#pragma omp taskgroup
        for (unsigned i = 0; i < 4; i++) {
#pragma omp task
            work(depth - 1, random + i);
        }
    }
}

static void note_ended_regions(void) {
    if (load_long(&is_ending)) return;
    store_long(&progress->n_regions_ended, load_long(&progress->n_regions_started));
    store_long(&progress->n_certain, load_long(&progress->n_started));
}

/* Runs one region with tasks. No other region may run at the same time. */
static void run_region(unsigned number, int n_tasks, int depth) {
    round_number = number;
    add_long(&progress->n_regions_started, 1);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n_tasks; i++) {
#pragma omp task firstprivate(i)
        work(depth, seed + number * 64 + (unsigned)i);
    }
    note_ended_regions();
}

static void *short_thread(void *number) {
    if ((size_t)number % kAtOnce) return NULL;
    add_long(&progress->n_regions_started, 1);
#pragma omp parallel num_threads(1)
#pragma omp single
    for (int i = 0; i < 3; i++) {
#pragma omp task
        count_bodies(1);
    }
    return NULL;
}

/*
 * Runs many short threads, a few at a time. Only one of these few has a region, because libomp itself fails if several
 * new threads begin regions at once.
 */
static void run_short_threads(void) {
    pthread_t threads[kAtOnce];
    for (size_t i = 0; i < kManyThreads; i += kAtOnce) {
        for (size_t j = 0; j < kAtOnce; j++)
            REQUIRE(pthread_create(&threads[j], NULL, short_thread, (void *)(i + j)) == 0);
        for (size_t j = 0; j < kAtOnce; j++) pthread_join(threads[j], NULL);
    }
    note_ended_regions();
}

static void say(unsigned number) {
    char line[64];
    const int length = snprintf(line, sizeof line, "region %u: %lu\n", number, sum);
    REQUIRE(write(STDOUT_FILENO, line, (size_t)length) == length);
}

static void fault_between_regions(long before, long after) {
    if (!is_at("serial")) return;
    for (long number = before + 1; number <= after; number++)
        if (is_due(number)) {
            do_fault(NULL);
            return;
        }
}

int main(int argc, char **argv) {
    REQUIRE(argc >= 5);
    seed = (unsigned)strtoul(argv[1], NULL, 10);
    fault = argv[2], place = argv[3], plugin = argv[5];
    unsigned random = seed;
    moment = 1 + draw(&random) % kMoments;
    const int file = open(argv[4], O_RDWR);
    REQUIRE(file >= 0);
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(progress != MAP_FAILED);
    close(file);
    for (unsigned i = 0; i < kRounds; i++) {
        const long before = load_long(&progress->n_started);
        run_region(i, 8, 4);
        say(i);
        fault_between_regions(before, load_long(&progress->n_started));
        if (is("threads")) run_short_threads();
    }
    for (unsigned i = 0; is("regions") && i < kManyRegions; i++) run_region(kRounds + i, 1, 0);
    say(kRounds);
    return is("exit") || is("exec") ? 3 : 0;
}
