// SPDX-License-Identifier: Apache-2.0
// Tasks of which the tool is not told, since it would read no clock for them: what it counts is counted here, by its own
// counters (omp_ext_tool.h). Such a task has its counter in the place of what stands for it in the tool, until something is to
// be told of it. Called by the thread that runs the current task.
//
// While `counters` of a worker is set, its current task is one that the tool knows and does not time, or a counted one on top of
// that, all of them begun in waits of which the tool was not told, or in teams of one.
#pragma once

#include "scheduler/team.h"
#include "tools/observer.h"

namespace omp_ext {

inline constexpr uintptr_t kCounted = 1; // in Task::seen

inline bool is_counted(const Task &task) { return reinterpret_cast<uintptr_t>(task.seen) & kCounted; }

inline omp_ext_tally &counter_of(const Task &task) {
    return *reinterpret_cast<omp_ext_tally *>(reinterpret_cast<uintptr_t>(task.seen) - kCounted);
}

inline bool is_counting(const omp_ext_tallies &counters) {
    return __atomic_load_n(counters.now, __ATOMIC_RELAXED) == counters.then;
}

// An undeferred task begins or ends.
inline void append(const omp_ext_tallies &counters, uint32_t what) {
    *counters.is_mixed = 1;
    if (counters.order && !omp_ext_append(counters.order, what)) counters.order->append(what);
}

// A light task that the current one creates, without dependences: if it needs only be counted, counts its creation.
inline bool count_creation(const Worker &worker, Task &task) {
    const omp_ext_tallies *counters = worker.counters;
    if (!counters || (task.flags & ~kDestructors) || task.domain != worker.domain || !is_light(task)) return false;
    omp_ext_tally *counter = counters->by_code[omp_ext_place_of(task.code)];
    if (!counter || counter->code != task.code || !is_counting(*counters)) return false;
    if (worker.publish_threshold == 0) { // in a team of one, to be run now
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

// A task begins that was counted when it was created: is it still no more than that? Not on another thread.
inline bool count_begin(Worker &worker, const Task &task) {
    if (task.flags & kInline) return true;
    if (!(worker.next_start_flags & OMP_EXT_AT_HAND) || !worker.counters || !is_counting(*worker.counters))
        return false;
    omp_ext_tally &counter = counter_of(task);
    if (counter.n_left <= 1 || task.creator != worker.number) return false;
    counter.n_left--;
    worker.next_start_flags = 0;
    return true;
}

// A counted task ended as it began; false: the tool is to be told.
inline bool count_end(const Worker &worker, const Task &task) {
    omp_ext_tallies &counters = *worker.counters;
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

// A wait is over of which nothing was told.
inline void count_wait(const Worker &worker) {
    if (is_counting(*worker.counters)) ++*worker.counters->n_waits;
}

// A counted task that has not begun is from now on one of which the tool is told.
void show_to_tool(const Worker &worker, Task &task);

// To be called before anything is told that this task does, the current one or the one that was.
void report_counted(const Worker &worker, Task &task);
inline void report(const Worker &worker, Task &task) {
    if (__builtin_expect(is_counted(task), 0)) report_counted(worker, task);
}
inline void report_current(const Worker &worker) { report(worker, *worker.current); }

} // namespace omp_ext
