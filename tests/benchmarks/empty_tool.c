// SPDX-License-Identifier: Apache-2.0
// An OMPT tool that registers the callbacks of libompass.so and does nothing in them. It shows libomp's own cost of a
// tool. With COUNT_EVENTS it counts the calls and writes the counts as JSON to the file EVENT_COUNT_FILE; it is then
// too slow for measurements. With RECORD_EVENTS it keeps 16 bytes per event, with a clock reading, in a buffer of the
// thread: the least that a tracing tool must do.
#include <omp-tools.h>
#include <stddef.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

// The list must equal the list in ompt_tool/src/callbacks.cpp, without the callbacks that only traces need. overhead.py
// compares the two before it measures.
// X(result type, event, parameters)
#define FOR_EACH_CALLBACK(X)                                                                                           \
    X(void, thread_begin, ompt_thread_t type, ompt_data_t *thread)                                                     \
    X(void, thread_end, ompt_data_t *thread)                                                                           \
    X(void, parallel_begin, ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,                       \
      unsigned int n_threads, int flags, const void *code)                                                             \
    X(void, parallel_end, ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code)                       \
    X(void, implicit_task, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,                   \
      unsigned int n_threads, unsigned int index, int flags)                                                           \
    X(void, task_create, ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *created, int flags,                \
      int dependences, const void *code)                                                                               \
    X(void, task_schedule, ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next)                           \
    X(void, task_dependence, ompt_data_t *source, ompt_data_t *sink)                                                   \
    X(void, sync_region_wait, ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,          \
      ompt_data_t *task, const void *code)                                                                             \
    X(void, mutex_acquire, ompt_mutex_t kind, unsigned int hint, unsigned int implementation, ompt_wait_id_t wait,     \
      const void *code)                                                                                                \
    X(void, mutex_acquired, ompt_mutex_t kind, ompt_wait_id_t wait, const void *code)                                  \
    X(void, work, ompt_work_t work, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,          \
      uint64_t count, const void *code)                                                                                \
    X(void, masked, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, const void *code)        \
    X(void, dispatch, ompt_data_t *parallel, ompt_data_t *task, ompt_dispatch_t kind, ompt_data_t instance)            \
    X(int, control_tool, uint64_t command, uint64_t modifier, void *argument, const void *code)

#ifdef COUNT_EVENTS

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define DECLARE_COUNTER(type, event, ...) static atomic_ulong n_##event;
FOR_EACH_CALLBACK(DECLARE_COUNTER)
#define ON_CALL(event) atomic_fetch_add_explicit(&n_##event, 1, memory_order_relaxed)

static void write_counts(void) {
    const char *path = getenv("EVENT_COUNT_FILE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    const char *separator = "{";
#define WRITE_COUNTER(type, event, ...)                                                                                \
    fprintf(file, "%s\"" #event "\": %lu", separator, atomic_load(&n_##event));                                        \
    separator = ", ";
    FOR_EACH_CALLBACK(WRITE_COUNTER)
    fputs("}\n", file);
    fclose(file);
}

#elif defined RECORD_EVENTS

#include <stdlib.h>
#if defined __x86_64__
#include <x86intrin.h>
static uint64_t now(void) { return __rdtsc(); }
#else
#include <time.h>
static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
#endif

enum { N_KEPT = 1 << 16 }; // overwritten repeatedly, because the cost of a file is not measured
struct event {
    uint64_t time, kind;
};
static _Thread_local struct event *events;
static _Thread_local unsigned n_events;

static void keep(uint64_t kind) {
    if (!events) events = malloc(N_KEPT * sizeof *events);
    if (!events) return;
    struct event *const event = &events[n_events++ % N_KEPT];
    event->time = now();
    event->kind = kind;
}

#define ENUMERATE(type, event, ...) kind_##event,
enum kind { FOR_EACH_CALLBACK(ENUMERATE) };
#define ON_CALL(event) keep(kind_##event)

static void write_counts(void) {}

#else

#define ON_CALL(event) (void)0

static void write_counts(void) {}

#endif

// The result of a callback. Only control_tool has one, which omp_control_tool returns.
#define RESULT_void
#define RESULT_int 0
#define DEFINE_CALLBACK(type, event, ...)                                                                              \
    static type on_##event(__VA_ARGS__) {                                                                              \
        ON_CALL(event);                                                                                                \
        return RESULT_##type;                                                                                          \
    }
FOR_EACH_CALLBACK(DEFINE_CALLBACK)

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool) {
    const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    if (!set) return 0;
#define REGISTER_CALLBACK(type, event, ...) set(ompt_callback_##event, (ompt_callback_t)on_##event);
    FOR_EACH_CALLBACK(REGISTER_CALLBACK)
    return 1;
}

static void finalize(ompt_data_t *tool) { write_counts(); }

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    return &result;
}
