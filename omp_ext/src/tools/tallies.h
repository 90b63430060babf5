// SPDX-License-Identifier: Apache-2.0
// Tasks of which the tool is not told, since it would read no clock for them: what it counts is counted here, by its own
// counters (omp_ext_tool.h). Such a task has its tally in the place of what stands for it in the tool, until something is to
// be told of it. Called by the thread that runs the current task.
//
// While `tallies` of a member is set, its current task is one that the tool knows and does not time, or a tallied one on top of
// that, all of them begun in waits of which the tool was not told, or in teams of one.
#pragma once

#include "scheduler/team.h"
#include "tools/observer.h"

namespace omp_ext {

inline constexpr uintptr_t kTallied = 1; // in Task::seen

inline bool is_tallied(const Task &task) { return reinterpret_cast<uintptr_t>(task.seen) & kTallied; }

inline omp_ext_tally &tally_of(const Task &task) {
    return *reinterpret_cast<omp_ext_tally *>(reinterpret_cast<uintptr_t>(task.seen) - kTallied);
}

inline bool are_counted(const omp_ext_tallies &tallies) {
    return __atomic_load_n(tallies.now, __ATOMIC_RELAXED) == tallies.then;
}

// An undeferred task begins or ends.
inline void append(const omp_ext_tallies &tallies, uint32_t what) {
    *tallies.is_mixed = 1;
    if (tallies.order && !omp_ext_append(tallies.order, what)) tallies.order->append(what);
}

// A light task that the current one creates, without dependences: if it needs only be counted, counts its creation.
inline bool tally_creation(const Member &member, Task &task) {
    const omp_ext_tallies *tallies = member.tallies;
    if (!tallies || (task.flags & ~kDestructors) || task.domain != member.domain || !is_light(task)) return false;
    omp_ext_tally *tally = tallies->by_code[omp_ext_place_of(task.code)];
    if (!tally || tally->code != task.code || !are_counted(*tallies)) return false;
    if (member.brim == 0) { // in a team of one, to be run now
        if (*tally->n_undeferred_left <= 1 || (tallies->order && !tally->begin)) return false;
        --*tally->n_undeferred_left;
        append(*tallies, tally->begin);
        task.flags |= kInline;
    } else {
        if (tally->n_left == 0) return false;
        ++*tally->n_created;
        ++*tallies->n_created;
    }
    task.seen = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(tally) | kTallied);
    task.tallied_at = *tallies->time;
    return true;
}

// A task begins that was tallied when it was created: is it still no more than that? Not on another thread.
inline bool tally_begin(Member &member, const Task &task) {
    if (task.flags & kInline) return true;
    if (!(member.how_found & OMP_EXT_AT_HAND) || !member.tallies || !are_counted(*member.tallies)) return false;
    omp_ext_tally &tally = tally_of(task);
    if (tally.n_left <= 1 || task.creator != member.number) return false;
    tally.n_left--;
    member.how_found = 0;
    return true;
}

// A tallied task ended as it began; false: the tool is to be told.
inline bool tally_end(const Member &member, const Task &task) {
    omp_ext_tallies &tallies = *member.tallies;
    if (!are_counted(tallies)) return false;
    ++*tallies.n_ended;
    if (task.flags & kInline) {
        append(tallies, tallies.order ? tallies.order->end : 0);
        return true;
    }
    ++*tally_of(task).n_ended;
    ++*tallies.n_ended_at_home;
    return true;
}

// A wait is over of which nothing was told.
inline void tally_wait(const Member &member) {
    if (are_counted(*member.tallies)) ++*member.tallies->n_waits;
}

// A tallied task that has not begun is from now on one of which the tool is told.
void let_be_seen(const Member &member, Task &task);

// To be called before anything is told that this task does, the current one or the one that was.
void tell_of_tallied(const Member &member, Task &task);
inline void tell_of(const Member &member, Task &task) {
    if (__builtin_expect(is_tallied(task), 0)) tell_of_tallied(member, task);
}
inline void tell_of_current(const Member &member) { tell_of(member, *member.current); }

} // namespace omp_ext
