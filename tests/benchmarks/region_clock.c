// SPDX-License-Identifier: Apache-2.0
// An OMPT tool that only measures the time in the outermost parallel regions of the initial thread. At the end it
// writes the sum in ns to the file REGION_TIME_FILE.
#include <omp-tools.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int depth; // number of nested regions that the initial thread is in
static long long begin_ns, total_ns;
static _Thread_local int is_initial;

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void on_thread_begin(ompt_thread_t type, ompt_data_t *thread) {
    (void)thread;
    is_initial = type == ompt_thread_initial;
}

static void on_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned int n_threads,
                     int flags, const void *code) {
    (void)task, (void)frame, (void)parallel, (void)n_threads, (void)flags, (void)code;
    if (is_initial && depth++ == 0) begin_ns = now_ns();
}

static void on_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code) {
    (void)parallel, (void)task, (void)flags, (void)code;
    if (is_initial && --depth == 0) total_ns += now_ns() - begin_ns;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    (void)device, (void)data;
    const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    set(ompt_callback_thread_begin, (ompt_callback_t)on_thread_begin);
    set(ompt_callback_parallel_begin, (ompt_callback_t)on_begin);
    set(ompt_callback_parallel_end, (ompt_callback_t)on_end);
    return 1;
}

static void finalize(ompt_data_t *data) {
    (void)data;
    const char *path = getenv("REGION_TIME_FILE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%lld\n", total_ns);
    fclose(file);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int omp_version, const char *runtime_version) {
    (void)omp_version, (void)runtime_version;
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    return &result;
}
