// SPDX-License-Identifier: Apache-2.0
// What every event of a trace does to the chains of tasks: the rules by which work, span and groups come about.
// The order in which the events of all threads are taken is task_graph.cpp's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "task_graph_chains.h"
#include "task_graph_cursor.h"
#include "task_graph_groups.h"

namespace ompass {

class GraphEvents {
public:
    GraphEvents(const RunFiles &run, const TaskGraphOptions &options, TaskGraph &graph)
        : options_(options), graph_(graph), chains_(run.threads.size()), groups_(options.depth, graph.groups) {}

    // A thread before its first event.
    void begin_thread(Cursor &cursor);

    // The end of this task is asked for by tasks that depend on it.
    void keep_end_of(uint64_t task) { ends_.try_emplace(task); }

    // Whether all that the cursor's event depends on has been seen.
    bool ready(Cursor &cursor);

    void apply(Cursor &cursor);

    // A thread after its last event; `end_ticks`: of the run, 0 when that is not known.
    void end_thread(Cursor &cursor, uint64_t end_ticks);

    // Everything that was summed goes into the graph, with the critical path.
    void finish();

private:
    // Tasks: task_graph_tasks.cpp
    uint32_t group_of_task(Cursor &cursor, uint32_t construct);
    uint64_t next_id(Cursor &cursor);
    uint32_t own_chain(Cursor &cursor);
    void complete_chain(uint32_t place, const Point &end);
    void finish_deferred(uint32_t place, const Point &end, uint64_t time);
    void note_task(uint32_t place);
    uint64_t dispatch_ticks(const Cursor &cursor, uint64_t ready, uint64_t now) const;
    void create(Cursor &cursor);
    void create_span(Cursor &cursor, uint64_t ticks);
    void depend(Cursor &cursor);
    void start(Cursor &cursor, uint64_t id, uint64_t now);
    void begin_inline(Cursor &cursor, uint32_t construct);
    void end_inline(Cursor &cursor);
    void unfold(Cursor &cursor, uint64_t word);
    bool return_to(Cursor &cursor, uint64_t id);
    void go_on_with(Cursor &cursor, uint64_t id);
    void complete(Cursor &cursor, uint64_t now);
    void fulfill(Cursor &cursor);

    // Waits and regions: task_graph_waits.cpp
    void begin_wait(Cursor &cursor);
    void close_barriers(Region &region);
    void end_wait(Cursor &cursor, bool barrier);
    Region &new_region(uint64_t id);
    void begin_region(Cursor &cursor);
    void begin_implicit(Cursor &cursor);
    void end_implicit(Cursor &cursor, bool primary);
    void leave(Cursor &cursor);
    void forget_region(const Part &part);
    void end_region(Cursor &cursor);

    void list_critical_path();

    void close_work(Cursor &cursor, uint64_t now) {
        if (cursor.open != Open::kWork) {
            cursor.mark = now;
            return;
        }
        if (now <= cursor.mark) return;
        const uint64_t ticks = now - cursor.mark;
        cursor.mark = now;
        Chain &chain = chains_[cursor.stack.back().chain];
        chain.now.span += ticks;
        chain.now.burdened += ticks;
        chain.now.step =
            chains_.steps().extend(chain.now.step, chain.id, ticks, chain.group, cursor.index, chain.started);
        chain.worked += ticks;
        graph_.groups[chain.group].work_ticks += ticks;
    }

    void set_open(Cursor &cursor, uint64_t now) {
        cursor.mark = now;
        cursor.open = cursor.stack.back().waiting ? Open::kGap : Open::kWork;
    }

    struct EndOfTask {
        Point point;
        uint32_t group = 0;
        bool known = false;
    };

    const TaskGraphOptions &options_;
    TaskGraph &graph_;
    Chains chains_;
    GroupTree groups_;
    std::unordered_map<uint64_t, Region *> regions_; // by id
    std::deque<Region> region_storage_; // kept, so that no pointer of a damaged trace dangles
    std::vector<Region *> free_regions_;
    std::unordered_map<uint64_t, EndOfTask> ends_; // of tasks that others depend on
    std::unordered_map<uint64_t, std::vector<uint64_t>> predecessors_;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> dependences_;
    Point last_; // the latest of all that has ended for good
    uint64_t completed_at_ = 0;
};

} // namespace ompass
