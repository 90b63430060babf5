// SPDX-License-Identifier: Apache-2.0
// Counts light tasks in the tool's counters (omp_ext_tool.h) instead of reporting them, where the tool does not time
// tasks. Task::seen of a counted task points to its counter; the first reported event replaces the pointer by the
// tool's data. Only the thread that runs the current task calls these functions.
//
// While Worker::counters is set, the current task is one that the tool knows and does not time, or a counted task on
// top of such a task. All these tasks began in unreported waits, or in teams of one.
#pragma once

#include "scheduler/team.h"
#include "tools/observer.h"

namespace omp_ext {

inline constexpr uintptr_t kCounted = 1; // flag in Task::seen

inline bool is_counted(const Task &task) { return reinterpret_cast<uintptr_t>(task.seen) & kCounted; }

inline omp_ext_counter &counter_of(const Task &task) {
    return *reinterpret_cast<omp_ext_counter *>(reinterpret_cast<uintptr_t>(task.seen) - kCounted);
}

inline bool is_counting(const omp_ext_counters &counters) {
    return __atomic_load_n(counters.now, __ATOMIC_RELAXED) == counters.then;
}

// Appends the begin or end of an undeferred task.
inline void append(const omp_ext_counters &counters, uint32_t code) {
    *counters.is_mixed = 1;
    if (counters.order && !omp_ext_append(counters.order, code)) counters.order->append(code);
}

// Counts the creation of a light task without dependences. Returns false if the caller must report it.
inline bool count_creation(const Worker &worker, Task &task) {
    const omp_ext_counters *counters = worker.counters;
    if (!counters || (task.flags & ~kDestructors) || task.domain != worker.domain || !is_light(task)) return false;
    omp_ext_counter *counter = counters->by_code[omp_ext_place_of(task.code)];
    if (!counter || counter->code != task.code || !is_counting(*counters)) return false;
    if (is_alone(worker)) { // a team of one runs it now
        if (*counter->n_undeferred_left <= 1 || (counters->order && !counter->begin)) return false;
        --*counter->n_undeferred_left;
        append(*counters, counter->begin);
        task.flags |= kInline;
    } else {
        if (counter->n_left == 0) return false;
        ++*counter->n_created;
        ++*counters->n_created;
    }
    task.seen = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(counter) | kCounted);
    task.counted_at = *counters->time;
    return true;
}

// Counts the begin of a counted task. Returns false if the caller must report it, for example on another thread.
inline bool count_begin(Worker &worker, const Task &task) {
    if (task.flags & kInline) return true;
    if (!(worker.next_start_flags & OMP_EXT_AT_HAND) || !worker.counters || !is_counting(*worker.counters))
        return false;
    omp_ext_counter &counter = counter_of(task);
    if (counter.n_left <= 1 || task.creator != worker.number) return false;
    counter.n_left--;
    worker.next_start_flags = 0;
    return true;
}

// Counts the end of a counted task. Returns false if the caller must report it.
inline bool count_end(const Worker &worker, const Task &task) {
    omp_ext_counters &counters = *worker.counters;
    if (!is_counting(counters)) return false;
    ++*counters.n_ended;
    if (task.flags & kInline) {
        append(counters, counters.order ? counters.order->end : 0);
        return true;
    }
    ++*counter_of(task).n_ended;
    ++*counters.n_ended_at_home;
    return true;
}

// Counts the end of an unreported wait.
inline void count_wait(const Worker &worker) {
    if (is_counting(*worker.counters)) ++*worker.counters->n_waits;
}

// Turns a counted task into a reported one: stores the tool's data in it.
void show_to_tool(const Worker &worker, Task &task);

// Reports the begin of a counted task. The caller then reports an event of the task.
void report_counted(const Worker &worker, Task &task);
inline void report(const Worker &worker, Task &task) {
    if (__builtin_expect(is_counted(task), 0)) report_counted(worker, task);
}
inline void report_current(const Worker &worker) { report(worker, *worker.current); }

} // namespace omp_ext
