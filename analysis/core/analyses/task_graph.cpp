// SPDX-License-Identifier: Apache-2.0
// Takes the events of all threads of a trace in order of time, and holds back those that depend on another thread's
// (a start on its creation, the end of a wait on what it waited for) until that has been seen, so that clocks of two
// CPUs may differ a little. What an event does is task_graph_events.h's.
// Memory: four bytes per deferred task, some 250 per task that is created and not completed, and the steps of chains.
#include "task_graph.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

#include "events/decoder.h"
#include "task_graph_events.h"

namespace ompass {

namespace {

class Replay {
public:
    Replay(const RunFiles &run, const TaskGraphOptions &options, TaskGraph &graph)
        : run_(run), events_(run, options, graph), graph_(graph) {}

    Problem build() {
        if (Problem problem = find_predecessors()) return problem;
        begin_cursors();
        while (!queue_.empty()) {
            const size_t i = queue_.top().second;
            queue_.pop();
            Cursor &cursor = cursors_[i];
            const uint64_t limit = queue_.empty() ? ~0ull : queue_.top().first;
            bool more = true;
            while (more && cursor.record.time <= limit) {
                if (!events_.ready(cursor)) break;
                events_.apply(cursor);
                more = cursor.advance();
                if (!held_.empty()) let_go();
            }
            if (cursor.decoder.problem()) return cursor.decoder.problem();
            if (more && cursor.record.time <= limit)
                held_.push_back(i);
            else if (more)
                queue_.emplace(cursor.record.time, i);
            while (queue_.empty() && !held_.empty()) force_one();
        }
        const uint64_t end = std::max<uint64_t>(run_.process->end_ticks, 0);
        for (Cursor &cursor : cursors_) events_.end_thread(cursor, end);
        events_.finish();
        return {};
    }

private:
    // Ends of tasks that others depend on are kept; which these are is known from the whole trace only.
    Problem find_predecessors() {
        for (const ThreadFile &thread : run_.threads) {
            EventDecoder decoder(thread);
            EventRecord record{};
            while (decoder.next(record))
                if (record.kind == format::kDependence) events_.keep_end_of(record.words[1]);
            if (decoder.problem()) return decoder.problem();
        }
        return {};
    }

    void begin_cursors() {
        for (uint32_t i = 0; i < run_.threads.size(); i++) {
            if (!run_.threads[i].header) continue;
            Cursor &cursor = cursors_.emplace_back(run_.threads[i]);
            cursor.index = i;
            events_.begin_thread(cursor);
            if (cursor.advance()) queue_.emplace(cursor.record.time, cursors_.size() - 1);
        }
    }

    void let_go() { // into the queue again: they look for themselves
        std::vector<size_t> still;
        for (const size_t i : held_) {
            if (events_.ready(cursors_[i]))
                queue_.emplace(cursors_[i].record.time, i);
            else
                still.push_back(i);
        }
        held_.swap(still);
    }

    // Nobody can go on: the log lacks something (a pause, a limit), so the earliest event is taken as it is.
    void force_one() {
        const auto first = std::min_element(held_.begin(), held_.end(), [&](size_t a, size_t b) {
            return cursors_[a].record.time < cursors_[b].record.time;
        });
        const size_t i = *first;
        held_.erase(first);
        graph_.n_out_of_order++;
        events_.apply(cursors_[i]);
        if (cursors_[i].advance()) queue_.emplace(cursors_[i].record.time, i);
        let_go();
    }

    const RunFiles &run_;
    GraphEvents events_;
    TaskGraph &graph_;
    std::deque<Cursor> cursors_;
    using Next = std::pair<uint64_t, size_t>; // time, cursor
    std::priority_queue<Next, std::vector<Next>, std::greater<>> queue_;
    std::vector<size_t> held_; // cursors whose next event depends on what has not been seen
};

} // namespace

Problem build_task_graph(const RunFiles &run, const TaskGraphOptions &options, TaskGraph &graph) {
    const bool any = std::any_of(run.threads.begin(), run.threads.end(),
                                 [](const ThreadFile &thread) { return !thread.events.empty(); });
    if (!any) return {run.directory, 0, "has no trace: it was recorded in profile mode (use --mode trace)"};
    return Replay(run, options, graph).build();
}

} // namespace ompass
