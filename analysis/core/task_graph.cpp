// SPDX-License-Identifier: Apache-2.0
// Replays the threads of a trace together, in order of time, and keeps for every live task the chain that leads to it.
// An event that depends on another thread's (a start on its creation, the end of a wait on what it waited for) is held
// back until that has been seen, so that clocks of two CPUs may differ a little.
// Memory: four bytes per deferred task, some 250 per task that is created and not completed, and the steps of chains.
#include "task_graph.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>

#include "critical_path.h"
#include "event_decoder.h"

namespace ompass {

namespace {

// A moment in the graph: how long the longest chain to it is. Owns a reference to the chain's last step.
struct Point {
    uint64_t span = 0;
    uint64_t burdened = 0; // its own maximum: another chain's, perhaps
    uint32_t step = 0;
};

struct Barrier {
    Point latest; // of the members that have arrived, and of all tasks once it is closed
    uint32_t n_arrived = 0;
    bool closed = false;
};

struct Region {
    uint32_t construct = 0, group = 0, team_size = 0;
    uint32_t n_inside = 0;     // members between their begin and their end
    uint64_t n_unfinished = 0; // deferred tasks
    uint32_t n_closed = 0;     // barriers
    bool ended = false;
    Point begin;
    Point latest; // of everything that has ended in it
    std::vector<Barrier> barriers;
};

// A task that is under way, or whose children are.
struct Chain {
    uint64_t id = 0, parent_id = 0;
    uint32_t construct = 0, group = 0, thread = 0;
    uint32_t parent = 0;     // the nearest ancestor whose chain is kept; 0: none
    uint32_t refs = 1;       // its own, until it completes, and its children's
    uint32_t n_children = 0; // direct, not completed
    bool complete = false, orphan = false, detached = false;
    Region *region = nullptr; // null: outside of every region
    Point now;
    Point children;    // latest of the direct children that have completed
    Point descendants; // latest of all descendants that have completed
    uint64_t created = 0, started = 0, worked = 0;
};

struct Frame {
    uint32_t chain = 0; // whose work it is
    uint32_t own = 0;   // for waits: of an undeferred task, made when it creates a deferred one
    uint32_t group = 0;
    bool is_inline = false, waiting = false;
};

struct Part {
    Region *region = nullptr;
    uint64_t id = 0;
    uint32_t n_barriers = 0;
    bool primary = false;
};

enum class Open { kNone, kWork, kGap };

// One thread's log, with the next event at hand.
struct Cursor {
    explicit Cursor(const ThreadFile &file) : decoder(file) {}

    EventDecoder decoder;
    EventRecord record{};
    std::deque<EventRecord> ahead;
    uint32_t index = 0;
    uint64_t counter = 0; // of ids
    uint64_t mark = 0;
    Open open = Open::kNone;
    std::vector<Frame> stack;
    std::vector<Part> parts;
    std::vector<uint32_t> codes;
    const uint64_t *search_end = nullptr; // of search_bracket(); null: not searched
    uint64_t bracket_begin = 0;           // ~0: no bracket
    uint32_t created = 0; // the child whose creation was told last, until its span is
    uint32_t cached_parent = ~0u, cached_construct = ~0u, cached_group = 0;

    bool advance() {
        if (ahead.empty()) return decoder.next(record);
        record = ahead.front();
        ahead.pop_front();
        if (record.words == search_end) search_end = nullptr;
        return true;
    }

    // The moment at which the creation of `record` began: that of its bracket, whose end is told some records on; a
    // taskloop's bracket holds all its creations. What was found holds for all creations up to where the search ended.
    uint64_t creation_began() {
        if (!search_end) search_bracket();
        return std::min(bracket_begin, record.time);
    }

    void search_bracket() {
        constexpr size_t kFurthest = 4096;
        bracket_begin = ~0ull;
        for (size_t i = 0;; i++) {
            if (i == ahead.size()) {
                EventRecord next{};
                if (!decoder.next(next)) break;
                ahead.push_back(next);
            }
            const EventRecord &next = ahead[i];
            search_end = next.words;
            switch (next.kind) {
            case format::kCpu:
            case format::kDependence:
            case format::kDomain:
            case format::kPlaced:
            case format::kInlineCode:
            case format::kCreate:
                if (i < kFurthest) continue;
                return;
            case format::kCreateSpan: bracket_begin = next.time - std::min<uint64_t>(next.argument, next.time); return;
            case format::kCreateSpanLong: bracket_begin = next.time - std::min(next.words[1], next.time); return;
            default: return;
            }
        }
    }
};

class Builder {
public:
    Builder(const RunFiles &run, const TaskGraphOptions &options, TaskGraph &graph)
        : run_(run), options_(options), graph_(graph), chain_of_(run.threads.size()) {
        chains_.emplace_back(); // 0 stands for none
        graph_.groups.emplace_back();
        children_.emplace_back();
    }

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
                if (!ready(cursor)) break;
                apply(cursor);
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
        finish();
        return {};
    }

private:
    // -------------------------------------------------------- before the replay

    // Ends of tasks that others depend on are kept; which these are is known from the whole trace only.
    Problem find_predecessors() {
        for (const ThreadFile &thread : run_.threads) {
            EventDecoder decoder(thread);
            EventRecord record{};
            while (decoder.next(record))
                if (record.kind == format::kDependence) ends_.try_emplace(record.words[1]);
            if (decoder.problem()) return decoder.problem();
        }
        return {};
    }

    void begin_cursors() {
        for (uint32_t i = 0; i < run_.threads.size(); i++) {
            if (!run_.threads[i].header) continue;
            Cursor &cursor = cursors_.emplace_back(run_.threads[i]);
            cursor.index = i;
            cursor.parts.push_back({});
            cursor.stack.push_back({new_chain(0, 0, 0, nullptr), 0, 0, false, false});
            cursor.stack.back().own = cursor.stack.back().chain;
            chains_[cursor.stack.back().chain].thread = i;
            if (cursor.advance()) queue_.emplace(cursor.record.time, cursors_.size() - 1);
        }
    }

    // -------------------------------------------------------- points

    Point copy(const Point &point) { return {point.span, point.burdened, steps_.share(point.step)}; }
    void drop(Point &point) {
        steps_.release(point.step);
        point = {};
    }
    void raise(Point &point, const Point &other) {
        point.burdened = std::max(point.burdened, other.burdened);
        if (other.span <= point.span) return;
        steps_.share(other.step);
        steps_.release(point.step);
        point.span = other.span;
        point.step = other.step;
    }

    // -------------------------------------------------------- groups

    uint32_t intern(uint32_t parent, uint32_t construct, bool is_region = false) {
        if (!is_region && graph_.groups[parent].depth >= options_.depth + 1) { // folded into the level of the parent
            if (graph_.groups[parent].construct == construct) {
                graph_.groups[parent].folded = true;
                return parent;
            }
            const uint32_t above = graph_.groups[parent].parent;
            const uint32_t group = child_group(above, construct);
            graph_.groups[group].folded = true;
            return group;
        }
        return child_group(parent, construct);
    }

    uint32_t child_group(uint32_t parent, uint32_t construct) {
        for (const auto &[known, group] : children_[parent])
            if (known == construct) return group;
        const auto group = static_cast<uint32_t>(graph_.groups.size());
        children_[parent].emplace_back(construct, group);
        children_.emplace_back();
        TaskGroup made;
        made.parent = parent;
        made.construct = construct;
        made.depth = graph_.groups[parent].depth + 1;
        graph_.groups.push_back(made);
        return group;
    }

    uint32_t group_of_task(Cursor &cursor, uint32_t construct) {
        const uint32_t parent = cursor.stack.back().group;
        if (cursor.cached_parent != parent || cursor.cached_construct != construct) {
            cursor.cached_group = intern(parent, construct);
            cursor.cached_parent = parent;
            cursor.cached_construct = construct;
        }
        return cursor.cached_group;
    }

    // -------------------------------------------------------- chains

    uint32_t new_chain(uint64_t id, uint32_t construct, uint32_t group, Region *region) {
        uint32_t chain;
        if (free_chains_.empty()) {
            chain = static_cast<uint32_t>(chains_.size());
            chains_.emplace_back();
        } else {
            chain = free_chains_.back();
            free_chains_.pop_back();
            chains_[chain] = {};
        }
        chains_[chain].id = id;
        chains_[chain].construct = construct;
        chains_[chain].group = group;
        chains_[chain].region = region;
        return chain;
    }

    void adopt(uint32_t chain, uint32_t parent) {
        chains_[chain].parent = parent;
        chains_[chain].parent_id = chains_[parent].id;
        chains_[parent].refs++;
        chains_[parent].n_children++;
    }

    void release_chain(uint32_t chain) {
        while (chain && --chains_[chain].refs == 0) {
            Chain &gone = chains_[chain];
            drop(gone.now);
            drop(gone.children);
            drop(gone.descendants);
            if (gone.id) forget(gone.id);
            const uint32_t parent = gone.parent;
            free_chains_.push_back(chain);
            chain = parent;
        }
    }

    uint32_t *entry_of(uint64_t id) {
        const uint64_t thread = id >> format::kThreadShift, counter = id & ((1ull << format::kThreadShift) - 1);
        if (thread >= chain_of_.size() || counter >= chain_of_[thread].size()) return nullptr;
        return &chain_of_[thread][counter];
    }
    uint32_t find(uint64_t id) {
        const uint32_t *entry = entry_of(id);
        return entry ? *entry : 0;
    }
    void forget(uint64_t id) {
        if (uint32_t *entry = entry_of(id)) *entry = 0;
    }
    void remember(Cursor &cursor, uint32_t chain) { // ids count up: the next one is the next entry
        std::vector<uint32_t> &known = chain_of_[cursor.index];
        if (known.size() <= cursor.counter) known.resize(cursor.counter + 1);
        known[cursor.counter] = chain;
    }
    uint64_t next_id(Cursor &cursor) {
        return static_cast<uint64_t>(cursor.index) << format::kThreadShift | ++cursor.counter;
    }

    // The chain on which waits of the current task are kept.
    uint32_t own_chain(Cursor &cursor) {
        Frame &frame = cursor.stack.back();
        if (!frame.own) {
            frame.own = new_chain(0, 0, frame.group, cursor.parts.back().region);
            size_t below = cursor.stack.size() - 1;
            while (below > 0 && !cursor.stack[below - 1].own) below--;
            const uint32_t parent = below > 0 ? cursor.stack[below - 1].own : cursor.stack.front().chain;
            adopt(frame.own, parent);
            chains_[parent].n_children--; // nobody waits for an undeferred task
            chains_[frame.own].orphan = true;
        }
        return frame.own;
    }

    // A chain has come to its end, at `end`: whoever waits for it will see that.
    void complete_chain(uint32_t place, const Point &end) {
        Chain &chain = chains_[place];
        if (chain.complete) return;
        chain.complete = true;
        uint32_t above = chain.parent;
        if (above && !chain.orphan) {
            Chain &parent = chains_[above];
            parent.n_children -= parent.n_children > 0;
            if (!parent.complete) raise(parent.children, end);
        }
        while (above && chains_[above].complete) above = chains_[above].parent;
        if (above != chain.parent) { // completed ancestors need not be kept for this one any longer
            if (above) chains_[above].refs++;
            const uint32_t before = chain.parent;
            chain.parent = above;
            release_chain(before);
        }
        if (above) {
            raise(chains_[above].descendants, end);
            raise(chains_[above].descendants, chains_[place].descendants);
        }
        if (chains_[place].region) raise(chains_[place].region->latest, end);
        if (chains_[place].id) {
            const auto kept = ends_.find(chains_[place].id);
            if (kept != ends_.end()) {
                raise(kept->second.point, end);
                kept->second.known = true;
            }
        }
        note_task(place);
        release_chain(place);
    }

    void finish_deferred(uint32_t place, const Point &end, uint64_t time) {
        completed_at_ = time;
        Region *region = chains_[place].region;
        const Point held = copy(end);
        complete_chain(place, held);
        Point given = held;
        drop(given);
        if (!region || region->n_unfinished == 0) return;
        region->n_unfinished--;
        if (region->n_unfinished == 0) close_barriers(*region);
    }

    void note_task(uint32_t place) {
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

    // -------------------------------------------------------- time

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
        chain.now.step = steps_.extend(chain.now.step, chain.id, ticks, chain.group, cursor.index, chain.started);
        chain.worked += ticks;
        graph_.groups[chain.group].work_ticks += ticks;
    }

    void set_open(Cursor &cursor, uint64_t now) {
        cursor.mark = now;
        cursor.open = cursor.stack.back().waiting ? Open::kGap : Open::kWork;
    }

    // Ticks in which a thread had nothing to run although the task that it now starts was ready.
    uint64_t dispatch_ticks(const Cursor &cursor, uint64_t ready, uint64_t now) const {
        return cursor.open == Open::kGap && now > cursor.mark ? now - std::clamp(ready, cursor.mark, now) : 0;
    }

    // -------------------------------------------------------- what has to be seen before an event

    bool ready(Cursor &cursor) {
        const EventRecord &record = cursor.record;
        switch (record.kind) {
        case format::kStart:
        case format::kStartReady: {
            const uint64_t id = record.words[1] & format::kIdMask;
            if (!find(id)) return false;
            const auto waits_for = predecessors_.find(id);
            if (waits_for == predecessors_.end()) return true;
            return std::all_of(waits_for->second.begin(), waits_for->second.end(), [&](uint64_t before) {
                const auto end = ends_.find(before);
                return end == ends_.end() || end->second.known;
            });
        }
        case format::kResume:
        case format::kDiscard: return find(record.words[1]) != 0; // untimed: may seem earlier than it was
        case format::kFulfill: {
            const uint32_t chain = find(record.words[1]);
            return chain && chains_[chain].detached;
        }
        case format::kWaitEnd: {
            const uint32_t own = cursor.stack.back().own;
            return record.argument != format::kTaskwait || !own || chains_[own].n_children == 0;
        }
        case format::kBarrierEnd: {
            const Part &part = cursor.parts.back();
            return !part.region || part.n_barriers == 0 || part.n_barriers > part.region->barriers.size() ||
                   part.region->barriers[part.n_barriers - 1].closed;
        }
        case format::kImplicitBegin: return record.words[1] == 0 || regions_.contains(record.words[1]);
        default: return true;
        }
    }

    void let_go() { // into the queue again: they look for themselves
        std::vector<size_t> still;
        for (const size_t i : held_) {
            if (ready(cursors_[i]))
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
        apply(cursors_[i]);
        if (cursors_[i].advance()) queue_.emplace(cursors_[i].record.time, i);
        let_go();
    }

    // -------------------------------------------------------- tasks

    void create(Cursor &cursor) {
        const uint64_t began = cursor.creation_began();
        if (began > cursor.mark) close_work(cursor, began);
        const uint64_t id = next_id(cursor);
        const uint32_t group = group_of_task(cursor, cursor.record.argument);
        Region *region = cursor.parts.back().region;
        const uint32_t parent = own_chain(cursor);
        const uint32_t child = new_chain(id, cursor.record.argument, group, region);
        adopt(child, parent);
        chains_[child].created = began;
        chains_[child].now = copy(chains_[cursor.stack.back().chain].now);
        remember(cursor, child);
        if (region) region->n_unfinished++;
        graph_.n_deferred++;
        cursor.created = child;
    }

    void create_span(Cursor &cursor, uint64_t ticks) {
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

    void depend(Cursor &cursor) {
        const uint64_t before = cursor.record.words[1], after = cursor.record.words[2];
        const uint32_t chain = find(after);
        if (!chain || chains_[chain].started) return;
        graph_.n_dependences++;
        predecessors_[after].push_back(before);
        EndOfTask &end = ends_[before];
        if (const uint32_t other = find(before)) end.group = chains_[other].group;
        dependences_[{end.group, chains_[chain].group}]++;
    }

    void start(Cursor &cursor, uint64_t id, uint64_t now) {
        uint32_t chain = find(id);
        if (!chain) { // never created, as far as the trace tells
            chain = new_chain(0, cursor.record.argument, 0, cursor.parts.back().region);
            chains_[chain].now = copy(chains_[cursor.stack.back().chain].now);
        }
        const bool waited = cursor.record.kind == format::kStartReady;
        const uint64_t ready_time = waited ? now - std::min(cursor.record.words[2], now) : chains_[chain].created;
        const uint64_t dispatch = dispatch_ticks(cursor, ready_time, now);
        close_work(cursor, now);
        const auto waits_for = predecessors_.find(id);
        if (waits_for != predecessors_.end()) {
            for (const uint64_t before : waits_for->second) raise(chains_[chain].now, ends_[before].point);
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

    void begin_inline(Cursor &cursor, uint32_t construct) {
        const uint32_t group = group_of_task(cursor, construct);
        graph_.n_undeferred++;
        graph_.groups[group].n_undeferred++;
        const uint32_t chain = cursor.stack.back().chain;
        cursor.stack.push_back({chain, 0, group, true, false});
    }

    void end_inline(Cursor &cursor) {
        const Frame &frame = cursor.stack.back();
        if (!frame.is_inline) return;
        if (frame.own) {
            const Point end = copy(chains_[frame.chain].now);
            complete_chain(frame.own, end);
            Point given = end;
            drop(given);
        }
        cursor.stack.pop_back();
    }

    void unfold(Cursor &cursor, uint64_t word) {
        for (unsigned i = 0; i < format::kInlineOpsPerWord; i++) {
            const unsigned op = format::inline_op(word, i);
            if (op == 0) return;
            if (op == format::kInlineOpEnd)
                end_inline(cursor);
            else if (op - format::kInlineOpBegin < cursor.codes.size())
                begin_inline(cursor, cursor.codes[op - format::kInlineOpBegin]);
        }
    }

    bool return_to(Cursor &cursor, uint64_t id) {
        size_t place = cursor.stack.size();
        while (place > 0 && (cursor.stack[place - 1].is_inline || chains_[cursor.stack[place - 1].chain].id != id))
            place--;
        if (place == 0) return false;
        cursor.stack.resize(place);
        return true;
    }

    void go_on_with(Cursor &cursor, uint64_t id) {
        if (return_to(cursor, id)) return;
        const uint32_t chain = find(id);
        if (chain) cursor.stack.push_back({chain, chain, chains_[chain].group, false, false});
    }

    void complete(Cursor &cursor, uint64_t now) {
        close_work(cursor, now);
        if (cursor.stack.size() < 2) return;
        const Frame frame = cursor.stack.back();
        cursor.stack.pop_back();
        if (frame.is_inline) { // detached: the rest of its life is its event's
            if (frame.own) release_chain(frame.own);
        } else if (cursor.record.argument == format::kStatusDetach) {
            chains_[frame.chain].detached = true;
        } else {
            finish_deferred(frame.chain, chains_[frame.chain].now, now);
        }
        set_open(cursor, now);
    }

    void fulfill(Cursor &cursor) {
        const uint32_t chain = find(cursor.record.words[1]);
        if (!chain) return;
        close_work(cursor, cursor.record.time);
        raise(chains_[chain].now, chains_[cursor.stack.back().chain].now);
        finish_deferred(chain, chains_[chain].now, cursor.record.time);
    }

    // -------------------------------------------------------- waits

    void begin_wait(Cursor &cursor) {
        close_work(cursor, cursor.record.time);
        cursor.stack.back().waiting = true;
        cursor.open = Open::kGap;
        Part &part = cursor.parts.back();
        if (!format::is_barrier(cursor.record.argument) || !part.region) return;
        Region &region = *part.region;
        const uint32_t number = part.n_barriers++;
        if (region.barriers.size() <= number) region.barriers.resize(number + 1);
        Barrier &barrier = region.barriers[number];
        raise(barrier.latest, chains_[cursor.stack.back().chain].now);
        barrier.n_arrived++;
        close_barriers(region);
    }

    // A barrier is over when all have come and no task is left.
    void close_barriers(Region &region) {
        while (region.n_closed < region.barriers.size()) {
            Barrier &barrier = region.barriers[region.n_closed];
            if (barrier.n_arrived < region.team_size || region.n_unfinished) return;
            raise(barrier.latest, region.latest);
            barrier.closed = true;
            region.n_closed++;
        }
    }

    void end_wait(Cursor &cursor, bool barrier) {
        const uint64_t now = cursor.record.time;
        Frame &frame = cursor.stack.back();
        frame.waiting = false;
        set_open(cursor, now);
        Point &point = chains_[frame.chain].now;
        if (barrier) {
            const Part &part = cursor.parts.back();
            if (!part.region || part.n_barriers == 0 || part.n_barriers > part.region->barriers.size()) return;
            Barrier &passed = part.region->barriers[part.n_barriers - 1];
            if (!passed.closed) raise(passed.latest, part.region->latest);
            raise(point, passed.latest);
            return;
        }
        graph_.groups[frame.group].n_waits++;
        graph_.n_taskgroup_ends += cursor.record.argument == format::kTaskgroup;
        graph_.n_dependent_waits += cursor.record.argument == format::kTaskwaitDepend;
        if (!frame.own) return;
        const Chain &own = chains_[frame.own];
        raise(point, cursor.record.argument == format::kTaskgroup ? own.descendants : own.children);
        if (cursor.record.argument == format::kTaskgroup) raise(point, own.children);
    }

    // -------------------------------------------------------- regions

    Region &new_region(uint64_t id) {
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

    void begin_region(Cursor &cursor) {
        const EventRecord &record = cursor.record;
        close_work(cursor, record.time);
        next_id(cursor);
        Region &region = new_region(record.words[1]);
        region.construct = record.argument;
        region.group = intern(cursor.stack.back().group, record.argument, true);
        region.team_size = 1;
        region.begin = copy(chains_[cursor.stack.back().chain].now);
        region.latest = copy(region.begin);
        cursor.parts.push_back({&region, record.words[1], 0, true});
        cursor.open = Open::kNone;
    }

    void begin_implicit(Cursor &cursor) {
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
        const uint32_t chain = new_chain(task, region ? region->construct : 0, group, region);
        remember(cursor, chain);
        Chain &made = chains_[chain];
        made.now = copy(region ? region->begin : chains_[cursor.stack.back().chain].now);
        made.created = made.started = std::max<uint64_t>(record.time, 1);
        made.thread = cursor.index;
        graph_.groups[group].n_tasks++;
        cursor.stack.push_back({chain, chain, group, false, false});
        set_open(cursor, record.time);
    }

    void end_implicit(Cursor &cursor, bool primary) {
        if (primary) close_work(cursor, cursor.record.time);
        while (cursor.stack.size() > 1 && cursor.stack.back().is_inline) cursor.stack.pop_back();
        if (cursor.stack.size() < 2) return;
        const uint32_t chain = cursor.stack.back().chain;
        cursor.stack.pop_back();
        Part &part = cursor.parts.back();
        completed_at_ = cursor.record.time;
        Point end = copy(chains_[chain].now);
        if (!part.region) raise(chains_[cursor.stack.back().chain].now, end); // an initial task: the thread goes on
        complete_chain(chain, end);
        drop(end);
        cursor.open = Open::kNone;
        if (part.region) part.region->n_inside -= part.region->n_inside > 0;
        if (!primary && part.region) leave(cursor);
    }

    void leave(Cursor &cursor) {
        const Part part = cursor.parts.back();
        cursor.parts.pop_back();
        forget_region(part);
    }

    void forget_region(const Part &part) {
        Region &region = *part.region;
        if (!region.ended || region.n_inside > 0 || region.n_unfinished > 0) return;
        drop(region.begin);
        raise(last_, region.latest);
        drop(region.latest);
        for (Barrier &barrier : region.barriers) drop(barrier.latest);
        regions_.erase(part.id);
        free_regions_.push_back(&region);
    }

    void end_region(Cursor &cursor) {
        if (cursor.parts.size() < 2 || !cursor.parts.back().primary) return;
        const Part part = cursor.parts.back();
        cursor.parts.pop_back();
        Point &outer = chains_[cursor.stack.back().chain].now;
        raise(outer, part.region->latest);
        part.region->ended = true;
        forget_region(part);
        set_open(cursor, cursor.record.time);
    }

    // -------------------------------------------------------- all events

    void apply(Cursor &cursor) {
        const EventRecord &record = cursor.record;
        switch (record.kind) {
        case format::kOutside:
            cursor.mark = record.time;
            cursor.open = cursor.index == 0 ? Open::kWork : Open::kNone;
            break;
        case format::kCreate: create(cursor); break;
        case format::kCreateSpan: create_span(cursor, record.argument); break;
        case format::kCreateSpanLong: create_span(cursor, record.words[1]); break;
        case format::kDependence: depend(cursor); break;
        case format::kInlineCode: cursor.codes.push_back(record.argument); break;
        case format::kInlineOps: unfold(cursor, record.words[0]); break;
        case format::kInlineBegin: begin_inline(cursor, record.argument); break;
        case format::kInlineBeginTimed:
            close_work(cursor, record.time);
            set_open(cursor, record.time);
            begin_inline(cursor, record.argument);
            break;
        case format::kInlineEndTimed:
            close_work(cursor, record.time);
            end_inline(cursor);
            break;
        case format::kStamp: close_work(cursor, record.time); break;
        case format::kStart:
        case format::kStartReady: start(cursor, record.words[1] & format::kIdMask, record.time); break;
        case format::kResume:
            close_work(cursor, record.time);
            go_on_with(cursor, record.words[1]);
            cursor.stack.back().waiting = record.words[2] & 1;
            set_open(cursor, record.time);
            break;
        case format::kComplete: complete(cursor, record.time); break;
        case format::kCompleteTo:
            complete(cursor, record.time);
            go_on_with(cursor, record.words[1]);
            set_open(cursor, record.time);
            break;
        case format::kDiscard:
            if (const uint32_t chain = find(record.words[1])) finish_deferred(chain, chains_[chain].now, record.time);
            break;
        case format::kFulfill: fulfill(cursor); break;
        case format::kWaitBegin: begin_wait(cursor); break;
        case format::kWaitEnd: end_wait(cursor, false); break;
        case format::kBarrierEnd: end_wait(cursor, true); break;
        case format::kMutexAcquire: close_work(cursor, record.time); break;
        case format::kMutexAcquired:
            cursor.mark = record.time; // waiting for a lock is no work
            break;
        case format::kRegionBegin: begin_region(cursor); break;
        case format::kRegionEnd: end_region(cursor); break;
        case format::kImplicitBegin: begin_implicit(cursor); break;
        case format::kImplicitEnd: end_implicit(cursor, false); break;
        case format::kImplicitLeave: end_implicit(cursor, true); break;
        case format::kResync:
            close_work(cursor, record.time);
            cursor.stack.back().waiting = record.argument != 0;
            set_open(cursor, record.time);
            break;
        default: break;
        }
        switch (record.kind) { // what may stand between a creation and its span
        case format::kCreate:
        case format::kCpu:
        case format::kDependence:
        case format::kDomain:
        case format::kPlaced:
        case format::kInlineCode: break;
        default: cursor.created = 0;
        }
    }

    // -------------------------------------------------------- at the end

    void finish() {
        const uint64_t end = std::max<uint64_t>(run_.process->end_ticks, 0);
        for (Cursor &cursor : cursors_) {
            if (cursor.open == Open::kWork && cursor.parts.size() == 1 && end > cursor.mark) close_work(cursor, end);
            for (const Frame &frame : cursor.stack) raise(last_, chains_[frame.chain].now);
        }
        for (const auto &[id, region] : regions_) raise(last_, region->latest);
        graph_.outside_ticks = graph_.groups[0].work_ticks;
        for (const TaskGroup &group : graph_.groups) graph_.work_ticks += group.work_ticks;
        graph_.work_ticks -= graph_.outside_ticks;
        graph_.span_ticks = last_.span;
        graph_.burdened_ticks = last_.burdened;
        for (const auto &[pair, n] : dependences_) graph_.dependences.push_back({pair.first, pair.second, n});
        list_critical_path();
    }

    void list_critical_path() {
        std::vector<StepPool::Step> path;
        for (uint32_t step = last_.step; step; step = steps_[step].previous) {
            const StepPool::Step &one = steps_[step];
            if (!path.empty() && path.back().task == one.task && path.back().group == one.group)
                path.back().ticks += one.ticks;
            else
                path.push_back(one);
        }
        std::reverse(path.begin(), path.end());
        graph_.n_steps = path.size();
        std::unordered_map<uint64_t, uint64_t> of_task;
        uint64_t begin = 0;
        for (const StepPool::Step &step : path) {
            graph_.groups[step.group].critical_ticks += step.ticks;
            graph_.groups[step.group].n_critical++;
            if (step.group == 0) graph_.span_outside_ticks += step.ticks;
            of_task[step.task] += step.ticks;
            if (graph_.critical.size() < options_.max_tasks)
                graph_.critical.push_back({step.task, step.group, step.thread, begin, step.ticks, step.start_time});
            begin += step.ticks;
        }
        for (GraphTask &task : graph_.tasks) {
            const auto found = of_task.find(task.id);
            if (found != of_task.end()) task.critical_ticks = found->second;
        }
    }

    struct EndOfTask {
        Point point;
        uint32_t group = 0;
        bool known = false;
    };

    const RunFiles &run_;
    const TaskGraphOptions &options_;
    TaskGraph &graph_;
    StepPool steps_;
    std::deque<Chain> chains_;
    std::vector<uint32_t> free_chains_;
    std::vector<std::vector<uint32_t>> chain_of_; // by thread and counter of the id; 0: not there (any more)
    std::unordered_map<uint64_t, Region *> regions_; // by id
    std::deque<Region> region_storage_; // kept, so that no pointer of a damaged trace dangles
    std::vector<Region *> free_regions_;
    std::unordered_map<uint64_t, EndOfTask> ends_; // of tasks that others depend on
    std::unordered_map<uint64_t, std::vector<uint64_t>> predecessors_;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> dependences_;
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> children_; // by group: construct, group
    std::deque<Cursor> cursors_;
    using Next = std::pair<uint64_t, size_t>; // time, cursor
    std::priority_queue<Next, std::vector<Next>, std::greater<>> queue_;
    std::vector<size_t> held_; // cursors whose next event depends on what has not been seen
    Point last_; // the latest of all that has ended for good
    uint64_t completed_at_ = 0;
};

} // namespace

Problem build_task_graph(const RunFiles &run, const TaskGraphOptions &options, TaskGraph &graph) {
    const bool any = std::any_of(run.threads.begin(), run.threads.end(),
                                 [](const ThreadFile &thread) { return !thread.events.empty(); });
    if (!any) return {run.directory, 0, "has no trace: it was recorded in profile mode (use --mode trace)"};
    return Builder(run, options, graph).build();
}

} // namespace ompass
