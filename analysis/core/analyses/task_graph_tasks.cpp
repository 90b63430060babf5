// SPDX-License-Identifier: Apache-2.0
// What tasks do to the chains: creation, dependences, start, end; undeferred tasks are part of the task that runs them.
#include "task_graph_events.h"

#include <algorithm>

namespace ompass {

uint32_t GraphEvents::group_of_task(Cursor &cursor, uint32_t construct) {
    const uint32_t parent = cursor.stack.back().group;
    if (cursor.cached_parent != parent || cursor.cached_construct != construct) {
        cursor.cached_group = groups_.intern(parent, construct);
        cursor.cached_parent = parent;
        cursor.cached_construct = construct;
    }
    return cursor.cached_group;
}

uint64_t GraphEvents::next_id(Cursor &cursor) {
    return static_cast<uint64_t>(cursor.index) << format::kThreadShift | ++cursor.counter;
}

// The chain on which waits of the current task are kept.
uint32_t GraphEvents::own_chain(Cursor &cursor) {
    Frame &frame = cursor.stack.back();
    if (!frame.own) {
        frame.own = chains_.make(0, 0, frame.group, cursor.parts.back().region);
        size_t below = cursor.stack.size() - 1;
        while (below > 0 && !cursor.stack[below - 1].own) below--;
        const uint32_t parent = below > 0 ? cursor.stack[below - 1].own : cursor.stack.front().chain;
        chains_.adopt(frame.own, parent);
        chains_[parent].n_children--; // nobody waits for an undeferred task
        chains_[frame.own].orphan = true;
    }
    return frame.own;
}

// A chain has come to its end, at `end`: whoever waits for it will see that.
void GraphEvents::complete_chain(uint32_t place, const Point &end) {
    Chain &chain = chains_[place];
    if (chain.complete) return;
    chain.complete = true;
    uint32_t above = chain.parent;
    if (above && !chain.orphan) {
        Chain &parent = chains_[above];
        parent.n_children -= parent.n_children > 0;
        if (!parent.complete) chains_.raise(parent.children, end);
    }
    while (above && chains_[above].complete) above = chains_[above].parent;
    if (above != chain.parent) { // completed ancestors need not be kept for this one any longer
        if (above) chains_[above].refs++;
        const uint32_t before = chain.parent;
        chain.parent = above;
        chains_.release(before);
    }
    if (above) {
        chains_.raise(chains_[above].descendants, end);
        chains_.raise(chains_[above].descendants, chains_[place].descendants);
    }
    if (chains_[place].region) chains_.raise(chains_[place].region->latest, end);
    if (chains_[place].id) {
        const auto kept = ends_.find(chains_[place].id);
        if (kept != ends_.end()) {
            chains_.raise(kept->second.point, end);
            kept->second.known = true;
        }
    }
    note_task(place);
    chains_.release(place);
}

void GraphEvents::finish_deferred(uint32_t place, const Point &end, uint64_t time) {
    completed_at_ = time;
    Region *region = chains_[place].region;
    const Point held = chains_.copy(end);
    complete_chain(place, held);
    Point given = held;
    chains_.drop(given);
    if (!region || region->n_unfinished == 0) return;
    region->n_unfinished--;
    if (region->n_unfinished == 0) close_barriers(*region);
}

void GraphEvents::note_task(uint32_t place) {
    const Chain &chain = chains_[place];
    if (!chain.id || !chain.started) return;
    TaskGroup &group = graph_.groups[chain.group];
    group.max_ticks = std::max(group.max_ticks, chain.worked);
    if (std::find(options_.expanded.begin(), options_.expanded.end(), chain.group) == options_.expanded.end() ||
        graph_.tasks.size() >= options_.max_tasks)
        return;
    graph_.tasks.push_back({chain.id, chain.parent_id, chain.group, chain.thread, chain.created, chain.started,
                            completed_at_, chain.worked, 0});
}

// Ticks in which a thread had nothing to run although the task that it now starts was ready.
uint64_t GraphEvents::dispatch_ticks(const Cursor &cursor, uint64_t ready, uint64_t now) const {
    return cursor.open == Open::kGap && now > cursor.mark ? now - std::clamp(ready, cursor.mark, now) : 0;
}

void GraphEvents::create(Cursor &cursor) {
    const uint64_t began = cursor.creation_began();
    if (began > cursor.mark) close_work(cursor, began);
    const uint64_t id = next_id(cursor);
    const uint32_t group = group_of_task(cursor, cursor.record.argument);
    Region *region = cursor.parts.back().region;
    const uint32_t parent = own_chain(cursor);
    const uint32_t child = chains_.make(id, cursor.record.argument, group, region);
    chains_.adopt(child, parent);
    chains_[child].created = began;
    chains_[child].now = chains_.copy(chains_[cursor.stack.back().chain].now);
    chains_.remember(cursor.index, cursor.counter, child);
    if (region) region->n_unfinished++;
    graph_.n_deferred++;
    cursor.created = child;
}

void GraphEvents::create_span(Cursor &cursor, uint64_t ticks) {
    const uint64_t now = cursor.record.time;
    close_work(cursor, now - std::min(ticks, now));
    cursor.mark = now;
    cursor.open = Open::kWork;
    chains_[cursor.stack.back().chain].now.burdened += ticks;
    if (!cursor.created) return;
    Chain &child = chains_[cursor.created];
    if (child.started == 0) child.now.burdened += ticks;
    graph_.groups[child.group].create_ticks += ticks;
    cursor.created = 0;
}

void GraphEvents::depend(Cursor &cursor) {
    const uint64_t before = cursor.record.words[1], after = cursor.record.words[2];
    const uint32_t chain = chains_.find(after);
    if (!chain || chains_[chain].started) return;
    graph_.n_dependences++;
    predecessors_[after].push_back(before);
    EndOfTask &end = ends_[before];
    if (const uint32_t other = chains_.find(before)) end.group = chains_[other].group;
    dependences_[{end.group, chains_[chain].group}]++;
}

void GraphEvents::start(Cursor &cursor, uint64_t id, uint64_t now) {
    uint32_t chain = chains_.find(id);
    if (!chain) { // never created, as far as the trace tells
        chain = chains_.make(0, cursor.record.argument, 0, cursor.parts.back().region);
        chains_[chain].now = chains_.copy(chains_[cursor.stack.back().chain].now);
    }
    const bool waited = cursor.record.kind == format::kStartReady;
    const uint64_t ready_time = waited ? now - std::min(cursor.record.words[2], now) : chains_[chain].created;
    const uint64_t dispatch = dispatch_ticks(cursor, ready_time, now);
    close_work(cursor, now);
    const auto waits_for = predecessors_.find(id);
    if (waits_for != predecessors_.end()) {
        for (const uint64_t before : waits_for->second) chains_.raise(chains_[chain].now, ends_[before].point);
        predecessors_.erase(waits_for);
    }
    Chain &started = chains_[chain];
    started.now.burdened += dispatch;
    started.started = std::max<uint64_t>(now, 1);
    started.thread = cursor.index;
    TaskGroup &group = graph_.groups[started.group];
    group.n_tasks++;
    group.dispatch_ticks += dispatch;
    group.n_other_thread += (id >> format::kThreadShift) != cursor.index;
    cursor.stack.push_back({chain, chain, started.group, false, false});
    set_open(cursor, now);
}

void GraphEvents::begin_inline(Cursor &cursor, uint32_t construct) {
    const uint32_t group = group_of_task(cursor, construct);
    graph_.n_undeferred++;
    graph_.groups[group].n_undeferred++;
    const uint32_t chain = cursor.stack.back().chain;
    cursor.stack.push_back({chain, 0, group, true, false});
}

void GraphEvents::end_inline(Cursor &cursor) {
    const Frame &frame = cursor.stack.back();
    if (!frame.is_inline) return;
    if (frame.own) {
        const Point end = chains_.copy(chains_[frame.chain].now);
        complete_chain(frame.own, end);
        Point given = end;
        chains_.drop(given);
    }
    cursor.stack.pop_back();
}

void GraphEvents::unfold(Cursor &cursor, uint64_t word) {
    for (unsigned i = 0; i < format::kInlineOpsPerWord; i++) {
        const unsigned op = format::inline_op(word, i);
        if (op == 0) return;
        if (op == format::kInlineOpEnd)
            end_inline(cursor);
        else if (op - format::kInlineOpBegin < cursor.codes.size())
            begin_inline(cursor, cursor.codes[op - format::kInlineOpBegin]);
    }
}

bool GraphEvents::return_to(Cursor &cursor, uint64_t id) {
    size_t place = cursor.stack.size();
    while (place > 0 && (cursor.stack[place - 1].is_inline || chains_[cursor.stack[place - 1].chain].id != id)) place--;
    if (place == 0) return false;
    cursor.stack.resize(place);
    return true;
}

void GraphEvents::go_on_with(Cursor &cursor, uint64_t id) {
    if (return_to(cursor, id)) return;
    const uint32_t chain = chains_.find(id);
    if (chain) cursor.stack.push_back({chain, chain, chains_[chain].group, false, false});
}

void GraphEvents::complete(Cursor &cursor, uint64_t now) {
    close_work(cursor, now);
    if (cursor.stack.size() < 2) return;
    const Frame frame = cursor.stack.back();
    cursor.stack.pop_back();
    if (frame.is_inline) { // detached: the rest of its life is its event's
        if (frame.own) chains_.release(frame.own);
    } else if (cursor.record.argument == format::kStatusDetach) {
        chains_[frame.chain].detached = true;
    } else {
        finish_deferred(frame.chain, chains_[frame.chain].now, now);
    }
    set_open(cursor, now);
}

void GraphEvents::fulfill(Cursor &cursor) {
    const uint32_t chain = chains_.find(cursor.record.words[1]);
    if (!chain) return;
    close_work(cursor, cursor.record.time);
    chains_.raise(chains_[chain].now, chains_[cursor.stack.back().chain].now);
    finish_deferred(chain, chains_[chain].now, cursor.record.time);
}

} // namespace ompass
