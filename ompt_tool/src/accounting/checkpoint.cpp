// SPDX-License-Identifier: Apache-2.0
#include "accounting/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ompass {

namespace {

using format::CheckpointFrame, format::CheckpointHead, format::CheckpointOpen, format::CheckpointPart;

template <typename T>
void put(ThreadLog &log, const T &item) {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0);
    uint64_t words[sizeof(T) / sizeof(uint64_t)];
    memcpy(words, &item, sizeof item);
    for (const uint64_t word : words) log.checkpoint_word(word);
}

// Calls visit(region) for the regions that the thread is in, the innermost first.
template <typename Visit>
void for_each_region(const ThreadState &thread, Visit visit) {
    for (const EnteredRegion *region = thread.region; region != &thread.regions.outside; region = region->outer)
        visit(*region);
}

// Calls visit(task) for the tasks on the thread's stack, the innermost first.
template <typename Visit>
void for_each_task(const ThreadState &thread, Visit visit) {
    for (const TaskState *task = thread.current; task && task != &thread.base_task; task = task->below) visit(*task);
}

// Returns the position of the region whose implicit task this is, counted from 1 at the innermost region; 0: none.
uint32_t part_of(const ThreadState &thread, const TaskState &task) {
    uint32_t number = 0, found = 0;
    for_each_region(thread, [&](const EnteredRegion &region) {
        number++;
        if (region.implicit == &task) found = number;
    });
    return found;
}

CheckpointFrame frame_of(const ThreadState &thread, const TaskState &task) {
    CheckpointFrame frame = {};
    const bool is_implicit = task.flags & kImplicit, is_undeferred = task.flags & kInline;
    const bool waits = task.flags & kWaiting;
    frame.id = traced_id(task);
    frame.worked = task.worked;
    frame.construct = !is_implicit && task.local ? task.local->id : 0;
    frame.flags = (is_implicit ? format::kFrameImplicit : 0) | (is_undeferred ? format::kFrameUndeferred : 0) |
                  (is_undeferred && task.flags & kTimed ? format::kFrameTimed : 0) | (waits ? format::kFrameWaits : 0) |
                  (task.flags & kPart ? format::kFramePart : 0);
    if (waits) frame.wait_begin = task.wait_begin, frame.wait_place = task.wait->id;
    frame.weight = task.flags & kTimed ? task.weight : 1;
    frame.part = is_implicit ? part_of(thread, task) : 0;
    return frame;
}

CheckpointPart part_in(const EnteredRegion &region) {
    CheckpointPart part = {};
    part.id = region.instance->id;
    part.begin = region.begin;
    if (region.loop) {
        part.loop = region.loop->id;
        part.loop_end = region.loop_end;
        part.loop_ticks = region.loop_ticks;
    }
    part.construct = region.construct;
    part.level = region.level;
    part.team_size = region.instance->team_size;
    part.n_requested = region.n_requested;
    part.n_barriers = region.n_barriers;
    part.is_primary = region.primary;
    return part;
}

// Writes a slot: its id, a bitmap of its nonzero words, and the nonzero words.
void put_slot(ThreadLog &log, uint32_t id, const char *slot) {
    uint64_t words[format::kSlotWords], bits[2] = {};
    memcpy(words, slot, sizeof words);
    for (size_t i = 0; i < format::kSlotWords; i++) bits[i / 64] |= uint64_t{words[i] != 0} << i % 64;
    log.checkpoint_word(id);
    for (const uint64_t each : bits) log.checkpoint_word(each);
    for (const uint64_t word : words)
        if (word) log.checkpoint_word(word);
}

CheckpointHead head_of(const ThreadState &thread) {
    CheckpointHead head = {};
    thread.log.describe(head);
    head.n_ids = thread.task_counter;
    head.mark = thread.header->mark;
    head.open_state = thread.header->open_state;
    head.wait_place = thread.traced_wait;
    head.domain = thread.held.traced_domain;
    const bool is_created = thread.current->creating && thread.creation.reported;
    head.creation = is_created ? thread.creation.construct->id : 0;
    head.phase = thread.kernels.phase.construct;
    head.is_dirty = thread.work.dirty;
    if (thread.call.slot && thread.call.is_traced) {
        head.call = thread.call.slot->id;
        head.is_accounted_call = thread.call.is_accounted;
        head.call_begin = thread.call.begin;
        head.step_begin = thread.target.step_begin;
    }
    for_each_task(thread, [&](const TaskState &) { head.n_frames++; });
    for_each_region(thread, [&](const EnteredRegion &) { head.n_parts++; });
    head.n_kernels = thread.kernels.depth;
    head.n_loops = thread.loops.depth;
    thread.log.for_each_slot([&](uint32_t, const char *) { head.n_slots++; });
    head.pool_ticks = thread.header->pool_ticks;
    head.pool = thread.header->pool;
    return head;
}

// True if the thread has left a region without adding its last gap to a slot. It adds the gap when it enters the next
// region.
bool has_pending_part(const ThreadState &thread) {
    return std::ranges::any_of(thread.header->pending, [](const format::PendingPart &part) { return part.sequence; });
}

} // namespace

void write_checkpoint(ThreadState &thread) {
    if (has_pending_part(thread)) return thread.log.want_checkpoint(1);
    ThreadLog &log = thread.log;
    if (!log.begin_checkpoint()) return;
    const CheckpointHead head = head_of(thread);
    put(log, head);
    for (uint32_t i = 0; i < head.n_codes; i++) log.checkpoint_word(log.codes()[i]);
    for_each_task(thread, [&](const TaskState &task) { put(log, frame_of(thread, task)); });
    for_each_region(thread, [&](const EnteredRegion &region) { put(log, part_in(region)); });
    for (uint32_t i = 0; i < head.n_kernels; i++)
        put(log, CheckpointOpen{thread.kernels.open[i].begin, thread.kernels.open[i].construct, 0});
    for (uint32_t i = 0; i < head.n_loops; i++)
        put(log, CheckpointOpen{thread.loops.open[i].begin, thread.loops.open[i].loop->id, 0});
    log.for_each_slot([&](uint32_t id, const char *slot) { put_slot(log, id, slot); });
    log.end_checkpoint();
}

} // namespace ompass
