// SPDX-License-Identifier: Apache-2.0
// Programs whose cost for each operation must not grow with the length of a chain. flat_cost.py runs them.
//
//     flat_cost KIND LENGTH OPERATIONS      prints {"kind": …, "length": …, "operations": …, "seconds": …}
//     flat_cost list                        prints one kind per line: name, longest length, meaning
//
// There are two families. Kinds whose name contains "_at_" or "_after_" build one chain of LENGTH and time OPERATIONS
// operations at its end. All other kinds build chains of LENGTH until these have OPERATIONS elements in total; each
// element counts as an operation. Slow kinds execute only a share of OPERATIONS.
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds; // processor time of the timed part: other programs may use the processors, too
static long n_done; // operations in the timed part
static int *memory; // addresses for depend clauses

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
static void begin_time(void) { seconds -= processor_seconds(); }
static void end_time(long n) {
    seconds += processor_seconds();
    n_done += n;
}

static void spend(void) { __asm__ volatile("" ::: "memory"); }

// ---------------------------------------------------------------- depth

static void chain_of_waits(long depth) {
    if (depth == 0) return;
#pragma omp task firstprivate(depth)
    chain_of_waits(depth - 1);
#pragma omp taskwait
}

static void chain_of_untied(long depth) {
    if (depth == 0) return;
#pragma omp task untied firstprivate(depth)
    chain_of_untied(depth - 1);
#pragma omp taskwait
}

static void chain_of_undeferred(long depth) {
    if (depth == 0) return;
#pragma omp task if (0) firstprivate(depth)
    chain_of_undeferred(depth - 1);
    spend();
}

static void chain_of_ended(long depth) { // each task ends before its child
    if (depth == 0) return;
#pragma omp task firstprivate(depth)
    chain_of_ended(depth - 1);
}

static void chain_of_groups(long depth) {
    if (depth == 0) return;
#pragma omp taskgroup
    chain_of_groups(depth - 1);
    spend();
}

static void chain_of_regions(long depth) {
    if (depth == 0) return;
#pragma omp parallel num_threads(1)
    chain_of_regions(depth - 1);
    spend();
}

static void depth(long length) { chain_of_waits(length); }
static void depth_untied(long length) { chain_of_untied(length); }
static void depth_undeferred(long length) { chain_of_undeferred(length); }
static void depth_groups(long length) { chain_of_groups(length); }
static void depth_regions(long length) { chain_of_regions(length); }
static void depth_ended(long length) {
#pragma omp taskgroup
    chain_of_ended(length);
}

// ---------------------------------------------------------------- children and dependences

static void children(long length) {
#pragma omp task
    {
        for (long i = 0; i < length; i++) {
#pragma omp task
            spend();
        }
#pragma omp taskwait
    }
#pragma omp taskwait
}

static void children_untied(long length) {
    for (long i = 0; i < length; i++) {
#pragma omp task untied
        {
            spend();
#pragma omp taskyield
            spend();
        }
    }
#pragma omp taskwait
}

static void group(long length) {
#pragma omp taskgroup
    for (long i = 0; i < length; i++) {
#pragma omp task
        spend();
    }
}

static void readers(long length) { // one writer, then readers, then one writer
#pragma omp task depend(out : memory[0])
    spend();
    for (long i = 0; i < length; i++) {
#pragma omp task depend(in : memory[0])
        spend();
    }
#pragma omp task depend(out : memory[0])
    spend();
#pragma omp taskwait
}

static void writers(long length) { // a chain on one address
    for (long i = 0; i < length; i++) {
#pragma omp task depend(inout : memory[0])
        spend();
    }
#pragma omp taskwait
}

static void addresses(long length) {
#pragma omp task
    {
        for (long i = 0; i < length; i++) {
#pragma omp task depend(out : memory[i])
            spend();
        }
#pragma omp taskwait
    }
#pragma omp taskwait
}

#ifdef EVENTS // separate, because the extension runs no light tasks in a program with events
static void events(long length) { // detached tasks, whose events are fulfilled after all have been created
    omp_event_handle_t *handles = malloc((size_t)length * sizeof *handles);
    for (long i = 0; i < length; i++) {
        omp_event_handle_t handle = {0};
#pragma omp task detach(handle)
        spend();
        handles[i] = handle;
    }
    for (long i = 0; i < length; i++) omp_fulfill_event(handles[i]);
#pragma omp taskwait
    free(handles);
}
#endif

// ---------------------------------------------------------------- locks, threads

static void locks(long length) { // one task holds them all
    omp_lock_t *all = malloc((size_t)length * sizeof *all);
    for (long i = 0; i < length; i++) omp_init_lock(&all[i]);
    for (long i = 0; i < length; i++) omp_set_lock(&all[i]);
    for (long i = length; i-- > 0;) omp_unset_lock(&all[i]);
    for (long i = 0; i < length; i++) omp_destroy_lock(&all[i]);
    free(all);
}

static void lock_nested(long length) {
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    for (long i = 0; i < length; i++) omp_set_nest_lock(&lock);
    for (long i = 0; i < length; i++) omp_unset_nest_lock(&lock);
    omp_destroy_nest_lock(&lock);
}

// Has no tasks, because libomp crashes if a thread ends after other threads ran its tasks.
static void *small_region(void *argument) {
#pragma omp parallel num_threads(2)
    spend();
    return argument;
}

static void threads(long length) { // one after another
    for (long i = 0; i < length; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, small_region, NULL) != 0) exit(3);
        pthread_join(thread, NULL);
    }
}

static void regions(long length) {
    for (long i = 0; i < length; i++) small_region(NULL);
}

// ---------------------------------------------------------------- operations that meet a long chain

static long n_operations;

static void some_tasks(void) {
    begin_time();
    for (long i = 0; i < n_operations / 10; i++) {
        for (int k = 0; k < 10; k++) {
#pragma omp task
            spend();
        }
#pragma omp taskwait
    }
    end_time(n_operations);
}

static void some_untied(void) {
    begin_time();
    for (long i = 0; i < n_operations / 10; i++) {
        for (int k = 0; k < 10; k++) {
#pragma omp task untied
            {
                spend();
#pragma omp taskyield
                spend();
            }
        }
#pragma omp taskwait
    }
    end_time(n_operations);
}

static void some_undeferred(void) {
    begin_time();
    for (long i = 0; i < n_operations; i++) {
#pragma omp task if (0)
        spend();
    }
    end_time(n_operations);
}

static void some_pauses(void) { // pauses and resumes the recording
    begin_time();
    for (long i = 0; i < n_operations; i++) {
        omp_control_tool(omp_control_tool_pause, 0, NULL);
        omp_control_tool(omp_control_tool_start, 0, NULL);
    }
    end_time(n_operations);
}

static void some_regions(void) {
    begin_time();
    for (long i = 0; i < n_operations; i++) {
#pragma omp parallel num_threads(1)
        spend();
    }
    end_time(n_operations);
}

static void at_depth(long depth, void (*operations)(void)) {
    if (depth == 0) return operations();
#pragma omp task firstprivate(depth)
    at_depth(depth - 1, operations);
#pragma omp taskwait
}

static void at_regions(long depth, void (*operations)(void)) {
    if (depth == 0) return operations();
#pragma omp parallel num_threads(1)
    at_regions(depth - 1, operations);
}

static void tasks_at_depth(long length) { at_depth(length, some_tasks); }
static void untied_at_depth(long length) { at_depth(length, some_untied); }
static void undeferred_at_depth(long length) { at_depth(length, some_undeferred); }
static void pauses_at_depth(long length) { at_depth(length, some_pauses); }
static void regions_at_regions(long length) { at_regions(length, some_regions); }

static void waits_after_readers(long length) {
    for (long i = 0; i < length; i++) {
#pragma omp task depend(in : memory[0])
        spend();
    }
    begin_time();
    for (long i = 0; i < n_operations; i++) {
#pragma omp task if (0) depend(inout : memory[0])
        spend();
    }
    end_time(n_operations);
#pragma omp taskwait
}

static void reading_waits_after_writers(long length) {
    for (long i = 0; i < length; i++) {
#pragma omp task depend(inout : memory[i])
        spend();
    }
    begin_time();
    for (long i = 0; i < n_operations; i++) {
#pragma omp task if (0) depend(in : memory[i % length])
        spend();
    }
    end_time(n_operations);
#pragma omp taskwait
}

static void tasks_after_children(long length) { // most children have ended
    for (long i = 0; i < length; i++) {
#pragma omp task
        spend();
    }
    some_tasks();
}

static void lock_at_locks(long length) { // one more lock, while many are held
    omp_lock_t *all = malloc((size_t)(length + 1) * sizeof *all);
    for (long i = 0; i <= length; i++) omp_init_lock(&all[i]);
    for (long i = 0; i < length; i++) omp_set_lock(&all[i]);
    begin_time();
    for (long i = 0; i < n_operations; i++) {
        omp_set_lock(&all[length]);
        omp_unset_lock(&all[length]);
    }
    end_time(n_operations);
    for (long i = 0; i < length; i++) omp_unset_lock(&all[i]);
    for (long i = 0; i <= length; i++) omp_destroy_lock(&all[i]);
    free(all);
}

static void regions_after_threads(long length) {
    threads(length);
    begin_time();
    for (long i = 0; i < n_operations; i++) small_region(NULL);
    end_time(n_operations);
}

// ---------------------------------------------------------------- the table

// Where a kind runs: in a task of a region of two threads, whose other thread sleeps (kAlone) or takes tasks (kShared),
// or outside of regions.
enum Place { kAlone, kShared, kOutside };

static const struct Kind {
    const char *name;
    void (*run)(long length);
    enum Place place;
    long longest; // greatest length that runtimes and systems support
    long share; // divisor of the number of operations; above 1 if they are slow
    const char *meaning;
} kinds[] = {
#ifdef EVENTS
    {"events", events, kAlone, 100000, 1, "detached tasks with unfulfilled events"},
#endif
    {"depth", depth, kAlone, 100000, 1, "tasks, each in its parent's taskwait"},
    {"depth_untied", depth_untied, kAlone, 100000, 1, "untied tasks, each in its parent's taskwait"},
    {"depth_undeferred", depth_undeferred, kAlone, 100000, 1, "undeferred tasks inside each other"},
    {"depth_ended", depth_ended, kAlone, 100000, 1, "tasks that end before their only child"},
    {"depth_groups", depth_groups, kAlone, 100000, 1, "taskgroups inside each other"},
    {"depth_regions", depth_regions, kAlone, 10000, 10, "regions of one thread inside each other"},
    {"children", children, kAlone, 100000, 1, "children of one task"},
    {"children_untied", children_untied, kAlone, 100000, 1, "untied children of one task, of two parts each"},
    {"group", group, kAlone, 100000, 1, "tasks of one taskgroup"},
    {"readers", readers, kAlone, 100000, 1, "successors of one task, which are predecessors of another"},
    {"writers", writers, kAlone, 100000, 1, "tasks in a chain of dependences"},
    {"addresses", addresses, kAlone, 100000, 1, "addresses in depend clauses"},
    {"locks", locks, kAlone, 100000, 1, "locks that one task holds"},
    {"lock_nested", lock_nested, kAlone, 100000, 1, "times that a task holds a nested lock"},
    {"threads", threads, kOutside, 10000, 20, "threads that have ended"},
    {"regions", regions, kOutside, 100000, 5, "regions that have ended"},
    {"tasks_at_depth", tasks_at_depth, kAlone, 100000, 1, "tasks around a task with children"},
    {"untied_at_depth", untied_at_depth, kAlone, 100000, 1, "tasks around a task with untied children"},
    {"undeferred_at_depth", undeferred_at_depth, kAlone, 100000, 1, "tasks around undeferred tasks"},
    {"pauses_at_depth", pauses_at_depth, kAlone, 100000, 10, "tasks around a task that pauses the recording"},
    {"regions_at_regions", regions_at_regions, kAlone, 10000, 10, "regions of one thread around such regions"},
    {"waits_after_readers", waits_after_readers, kAlone, 100000, 1, "readers before waits for dependences"},
    {"reading_waits_after_writers", reading_waits_after_writers, kAlone, 100000, 1, "addresses before such waits"},
    {"tasks_after_children", tasks_after_children, kAlone, 100000, 1, "earlier children"},
    {"lock_at_locks", lock_at_locks, kAlone, 100000, 1, "locks held while another one is set and unset"},
    {"regions_after_threads", regions_after_threads, kOutside, 10000, 5, "ended threads before a region"},
};
enum { kKinds = sizeof kinds / sizeof *kinds };

static int times_itself(const struct Kind *kind) { return strstr(kind->name, "_at_") || strstr(kind->name, "_after_"); }

static void measure(const struct Kind *kind, long length) {
    if (times_itself(kind)) return kind->run(length);
    const long repetitions = n_operations > length ? n_operations / length : 1;
    kind->run(length); // the first run pays for new pages of stacks and tasks
    begin_time();
    for (long i = 0; i < repetitions; i++) kind->run(length);
    end_time(repetitions * length);
}

static int list_kinds(void) {
    for (int i = 0; i < kKinds; i++) printf("%s %ld %s\n", kinds[i].name, kinds[i].longest, kinds[i].meaning);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "list") == 0) return list_kinds();
    const struct Kind *kind = NULL;
    for (int i = 0; argc == 4 && i < kKinds; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0) kind = &kinds[i];
    const long length = kind ? atol(argv[2]) : 0;
    n_operations = kind ? atol(argv[3]) / kind->share : 0;
    if (length < 1 || n_operations < 10) {
        fprintf(stderr, "usage: flat_cost KIND LENGTH OPERATIONS | flat_cost list\n");
        return 2;
    }
    memory = calloc((size_t)length, sizeof *memory);
    small_region(NULL); // starts the runtime
    if (kind->place == kOutside) {
        measure(kind, length);
    } else {
        static sem_t is_over;
        sem_init(&is_over, 0, 0);
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0) {
#pragma omp task
            measure(kind, length);
#pragma omp taskwait
            sem_post(&is_over);
        } else if (kind->place == kAlone) {
            sem_wait(&is_over);
        }
    }
    printf("{\"kind\": \"%s\", \"length\": %ld, \"operations\": %ld, \"seconds\": %.9f}\n", kind->name, length, n_done,
           seconds);
    free(memory);
    return 0;
}
