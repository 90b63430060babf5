// SPDX-License-Identifier: Apache-2.0
/*
 * An OMPT tool that checks the life cycle of tasks. Each task is created once, by a task that is not complete. A thread
 * switches from the task that it runs to a created, incomplete task that runs nowhere else. A task completes once, and
 * no later event names it. Prints the first five faults and, at the end, the counts. Does not check tasks of `taskwait
 * depend`, for which runtimes deviate from the standard.
 */
#include <omp-tools.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum State { kCreated = 1, kRunning, kSuspended, kDetached, kComplete };

struct Task {
    _Atomic int state;
    int is_explicit;
};

static atomic_long n_created, n_completed, n_cancelled, n_faults, n_waits;
static _Thread_local struct Task *current;

static void fault(const char *format, ...) {
    if (atomic_fetch_add(&n_faults, 1) >= 5) return;
    va_list arguments;
    va_start(arguments, format);
    fputs("life_cycle_checker: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static struct Task *task_of(ompt_data_t *data) { return data ? data->ptr : NULL; }

static struct Task *make(ompt_data_t *data, int state, int is_explicit) {
    struct Task *task = malloc(sizeof *task); // never freed, so late events are detected
    atomic_init(&task->state, state);
    task->is_explicit = is_explicit;
    data->ptr = task;
    return task;
}

static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *data, unsigned size,
                             unsigned index, int flags) {
    (void)parallel, (void)size, (void)index, (void)flags;
    if (endpoint == ompt_scope_begin)
        current = make(data, kRunning, 0);
    else
        current = NULL; // the next begin, or the task around the region, sets it again
}

static void on_create(ompt_data_t *parent_data, const ompt_frame_t *frame, ompt_data_t *data, int flags,
                      int has_dependences, const void *address) {
    (void)frame, (void)has_dependences;
    if (flags & ompt_task_taskwait) return;
    struct Task *parent = task_of(parent_data);
    if (data->ptr) fault("a task was created twice");
    if (!parent) fault("a task without a known parent");
    if (parent && atomic_load(&parent->state) == kComplete) fault("a task of a parent that is complete");
    if (!(flags & (ompt_task_explicit | ompt_task_target))) fault("a task that is not explicit");
    if (!address) fault("a task created nowhere");
    make(data, kCreated, 1);
    atomic_fetch_add(&n_created, 1);
}

// Sets the state of a task that the thread leaves. Checks that the task ran, and on this thread.
static void leave(struct Task *task, int state) {
    const int before = atomic_exchange(&task->state, state);
    if (before == kCreated && state == kComplete) return; // cancelled before it began
    if (before == kComplete) fault("a task continues after its completion");
    if (before != kRunning) fault("a task is left that does not run");
    if (current && current != task) fault("a thread leaves a task that it does not run");
}

static void on_schedule(ompt_data_t *prior_data, ompt_task_status_t status, ompt_data_t *next_data) {
    struct Task *prior = task_of(prior_data), *next = task_of(next_data);
    switch (status) {
    case ompt_task_switch:
    case ompt_task_yield:
        if (prior) leave(prior, kSuspended);
        break;
    case ompt_task_complete:
    case ompt_task_cancel:
        if (!prior) return;
        leave(prior, kComplete);
        if (!prior->is_explicit) fault("an implicit task completes like an explicit one");
        atomic_fetch_add(status == ompt_task_cancel ? &n_cancelled : &n_completed, 1);
        break;
    case ompt_task_detach:
        if (prior) leave(prior, kDetached);
        break;
    case ompt_task_late_fulfill:
        if (prior && atomic_exchange(&prior->state, kComplete) == kComplete) fault("a complete task is fulfilled");
        atomic_fetch_add(&n_completed, 1);
        return;
    default: return;
    }
    if (!next) return;
    const int before = atomic_exchange(&next->state, kRunning);
    if (before == kRunning && next != current) fault("a task runs twice at the same time");
    if (before == kComplete) fault("a complete task runs again");
    current = next;
}

static void on_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                    const void *address) {
    (void)kind, (void)parallel, (void)task, (void)address;
    if (endpoint == ompt_scope_begin) atomic_fetch_add(&n_waits, 1);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    (void)device, (void)data;
    const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    set(ompt_callback_implicit_task, (ompt_callback_t)on_implicit_task);
    set(ompt_callback_task_create, (ompt_callback_t)on_create);
    set(ompt_callback_task_schedule, (ompt_callback_t)on_schedule);
    set(ompt_callback_sync_region_wait, (ompt_callback_t)on_wait);
    return 1;
}

static void finalize(ompt_data_t *data) {
    (void)data;
    fprintf(stderr, "life_cycle_checker: created %ld, completed %ld, cancelled %ld, faults %ld\n",
            atomic_load(&n_created), atomic_load(&n_completed), atomic_load(&n_cancelled), atomic_load(&n_faults));
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    return &result;
}
