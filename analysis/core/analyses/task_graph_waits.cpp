// SPDX-License-Identifier: Apache-2.0
// What waits and parallel regions do to the chains: who goes on after whom at taskwaits, barriers and ends of regions.
#include "task_graph_events.h"

#include <algorithm>

namespace ompass {

void GraphEvents::begin_wait(Cursor &cursor) {
    close_work(cursor, cursor.record.time);
    cursor.stack.back().waiting = true;
    cursor.open = Open::kGap;
    Part &part = cursor.parts.back();
    if (!format::is_barrier(cursor.record.argument) || !part.region) return;
    Region &region = *part.region;
    const uint32_t number = part.n_barriers++;
    if (region.barriers.size() <= number) region.barriers.resize(number + 1);
    Barrier &barrier = region.barriers[number];
    chains_.raise(barrier.latest, chains_[cursor.stack.back().chain].now);
    barrier.n_arrived++;
    close_barriers(region);
}

// A barrier is over when all have come and no task is left.
void GraphEvents::close_barriers(Region &region) {
    while (region.n_closed < region.barriers.size()) {
        Barrier &barrier = region.barriers[region.n_closed];
        if (barrier.n_arrived < region.team_size || region.n_unfinished) return;
        chains_.raise(barrier.latest, region.latest);
        barrier.closed = true;
        region.n_closed++;
    }
}

void GraphEvents::end_wait(Cursor &cursor, bool barrier) {
    const uint64_t now = cursor.record.time;
    Frame &frame = cursor.stack.back();
    frame.waiting = false;
    set_open(cursor, now);
    Point &point = chains_[frame.chain].now;
    if (barrier) {
        const Part &part = cursor.parts.back();
        if (!part.region || part.n_barriers == 0 || part.n_barriers > part.region->barriers.size()) return;
        Barrier &passed = part.region->barriers[part.n_barriers - 1];
        if (!passed.closed) chains_.raise(passed.latest, part.region->latest);
        chains_.raise(point, passed.latest);
        return;
    }
    graph_.groups[frame.group].n_waits++;
    graph_.n_taskgroup_ends += cursor.record.argument == format::kTaskgroup;
    graph_.n_dependent_waits += cursor.record.argument == format::kTaskwaitDepend;
    if (!frame.own) return;
    const Chain &own = chains_[frame.own];
    chains_.raise(point, cursor.record.argument == format::kTaskgroup ? own.descendants : own.children);
    if (cursor.record.argument == format::kTaskgroup) chains_.raise(point, own.children);
}

Region &GraphEvents::new_region(uint64_t id) {
    Region *&region = regions_[id];
    if (region) return *region;
    if (free_regions_.empty()) {
        region = &region_storage_.emplace_back();
    } else {
        region = free_regions_.back();
        free_regions_.pop_back();
        *region = {};
    }
    return *region;
}

void GraphEvents::begin_region(Cursor &cursor) {
    const EventRecord &record = cursor.record;
    close_work(cursor, record.time);
    next_id(cursor);
    Region &region = new_region(record.words[1]);
    region.construct = record.argument;
    region.group = groups_.intern(cursor.stack.back().group, record.argument, true);
    region.team_size = 1;
    region.begin = chains_.copy(chains_[cursor.stack.back().chain].now);
    region.latest = chains_.copy(region.begin);
    cursor.parts.push_back({&region, record.words[1], 0, true});
    cursor.open = Open::kNone;
}

void GraphEvents::begin_implicit(Cursor &cursor) {
    const EventRecord &record = cursor.record;
    const uint64_t id = record.words[1];
    if (id != 0 && cursor.parts.back().id != id) { // a worker joins
        const auto found = regions_.find(id);
        if (found == regions_.end()) return;
        cursor.parts.push_back({found->second, id, 0, false});
    } else {
        close_work(cursor, record.time);
    }
    Region *region = cursor.parts.back().region;
    if (region) {
        region->team_size = record.argument;
        region->n_inside++;
    }
    const uint64_t task = next_id(cursor);
    const uint32_t group = region ? region->group : 0;
    const uint32_t chain = chains_.make(task, region ? region->construct : 0, group, region);
    chains_.remember(cursor.index, cursor.counter, chain);
    Chain &made = chains_[chain];
    made.now = chains_.copy(region ? region->begin : chains_[cursor.stack.back().chain].now);
    made.created = made.started = std::max<uint64_t>(record.time, 1);
    made.thread = cursor.index;
    graph_.groups[group].n_tasks++;
    cursor.stack.push_back({chain, chain, group, false, false});
    set_open(cursor, record.time);
}

void GraphEvents::end_implicit(Cursor &cursor, bool primary) {
    if (primary) close_work(cursor, cursor.record.time);
    while (cursor.stack.size() > 1 && cursor.stack.back().is_inline) cursor.stack.pop_back();
    if (cursor.stack.size() < 2) return;
    const uint32_t chain = cursor.stack.back().chain;
    cursor.stack.pop_back();
    Part &part = cursor.parts.back();
    completed_at_ = cursor.record.time;
    Point end = chains_.copy(chains_[chain].now);
    if (!part.region) chains_.raise(chains_[cursor.stack.back().chain].now, end); // an initial task: the thread goes on
    complete_chain(chain, end);
    chains_.drop(end);
    cursor.open = Open::kNone;
    if (part.region) part.region->n_inside -= part.region->n_inside > 0;
    if (!primary && part.region) leave(cursor);
}

void GraphEvents::leave(Cursor &cursor) {
    const Part part = cursor.parts.back();
    cursor.parts.pop_back();
    forget_region(part);
}

void GraphEvents::forget_region(const Part &part) {
    Region &region = *part.region;
    if (!region.ended || region.n_inside > 0 || region.n_unfinished > 0) return;
    chains_.drop(region.begin);
    chains_.raise(last_, region.latest);
    chains_.drop(region.latest);
    for (Barrier &barrier : region.barriers) chains_.drop(barrier.latest);
    regions_.erase(part.id);
    free_regions_.push_back(&region);
}

void GraphEvents::end_region(Cursor &cursor) {
    if (cursor.parts.size() < 2 || !cursor.parts.back().primary) return;
    const Part part = cursor.parts.back();
    cursor.parts.pop_back();
    Point &outer = chains_[cursor.stack.back().chain].now;
    chains_.raise(outer, part.region->latest);
    part.region->ended = true;
    forget_region(part);
    set_open(cursor, cursor.record.time);
}

} // namespace ompass
