// SPDX-License-Identifier: Apache-2.0
#include "rank_steps.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "events/walker.h"

namespace ompass {

namespace {

class StepReader : public IndexedObserver {
public:
    using Walk = ThreadWalk<StepReader>;

    StepReader(const RunFiles &run, const TraceIndex &known, RankSteps &steps)
        : IndexedObserver(known), run_(run), clock_(*run.process), steps_(steps) {}

    void began_thread(Walk &walk) {
        is_main_ = walk.thread() == 0; // threads that the program created may be initial threads, too
        mark_ = run_.process->start_ticks;
        const format::ThreadHeader *header = run_.threads[walk.thread()].header;
        if (header && header->n_dropped) note("the trace lacks events of thread " + std::to_string(walk.thread()));
    }
    void ended_thread(Walk &walk) {
        if (is_main_ && walk.part().id == 0) run_to(end_of_run());
    }

    // ---------------------------------------------------------------- time

    // Adds a thread's time in a region. Leaves out MPI calls, because they are separate steps, and waits, because they
    // depend on other threads. The steps do not include the other threads of nested regions, so waits there count.
    void state_interval(Walk &walk, format::State state, uint64_t begin, uint64_t end, uint32_t) {
        if (!is_recorded(walk) || walk.part().id == 0 || begin >= end) return;
        const bool is_wait = state == format::State::kIdle || state == format::State::kSync;
        if (state == format::State::kMpi || (is_wait && walk.part().level <= 1)) return;
        run(lane(walk), clock_.ns(end - begin));
        note_end(walk, end);
    }
    void began_region(Walk &walk, auto &part) {
        if (!is_main_ || part.level != 1) return;
        run_to(walk.now());
        begin_ = walk.now();
    }
    void ended_region(Walk &walk, auto &part, uint32_t) {
        if (!is_main_ || part.level != 1) return;
        RankRegion &region = region_of(part.id);
        region.ns = clock_.ns(walk.now() - std::min(begin_, walk.now()));
        ends_[part.id].region = walk.now();
        steps_.main.push_back({RankStep::kRegion, number_of_[part.id]});
        mark_ = walk.now();
    }

    // ---------------------------------------------------------------- calls

    void began_call(Walk &walk, const OpenCall &call) {
        const Definition &definition = run_.definitions[call.construct];
        if (definition.kind != format::DefinitionKind::kMpi) return;
        open_ = {};
        open_.function = definition.name;
        open_.begin_ns = run_.process->start_epoch_ns + clock_.since_start(walk.now());
    }
    void took_message(Walk &, const format::Message &message) {
        open_.messages.push_back(message);
        has_message_ = true;
    }
    void took_request(Walk &, uint64_t request, bool is_new) {
        if (is_new) {
            open_.new_request = request;
            open_.is_nonblocking = true;
        } else {
            open_.requests.push_back(request);
        }
        has_message_ = true;
    }
    void ended_call(Walk &walk, const OpenCall &call) {
        const Definition &definition = run_.definitions[call.construct];
        if (definition.kind != format::DefinitionKind::kMpi) return;
        const bool had_message = std::exchange(has_message_, false);
        if (definition.name.starts_with("MPI_Init") || definition.name == "MPI_Finalize") {
            run_to(call.begin); // without the call
            mark_ = walk.now();
            return;
        }
        if (!had_message) return add_unknown(definition);
        if (walk.part().level > 1) return note("MPI calls in nested regions are not replayed");
        if (!is_recorded(walk)) return note("threads outside of the first thread's regions call MPI");
        const uint64_t number = steps_.calls.size();
        if (walk.part().id == 0) {
            run_to(call.begin);
            steps_.main.push_back({RankStep::kCall, number});
            mark_ = walk.now();
        } else {
            lane(walk).push_back({RankStep::kCall, number});
            calls_in_.try_emplace(walk.part().id);
            note_end(walk, walk.now());
        }
        steps_.calls.push_back(std::move(open_));
    }

    // Removes the lanes of regions without calls, and computes leaving_ns of the others. Called at the end.
    void complete() {
        if (run_.window_begin) note("a trace of the last part of a run lacks the first messages");
        for (RankRegion &region : steps_.regions)
            if (const auto [end, steps] = ends_[region.id]; calls_in_.contains(region.id))
                region.leaving_ns = clock_.ns(end - std::min(steps, end));
            else
                region.lanes.clear();
    }

private:
    void note(const std::string &why) {
        if (steps_.unknown.empty()) steps_.unknown = why;
    }
    // Returns the id of the region whose lane gets the thread's steps. Nested regions are part of the outermost one.
    static uint64_t region_of_lane(Walk &walk) { return walk.outermost_part().id; }
    // True if the steps include the thread's current part. The walk reads the first thread first, so its regions are
    // known when the other threads follow.
    bool is_recorded(Walk &walk) const { return is_main_ || number_of_.contains(region_of_lane(walk)); }
    void note_end(Walk &walk, uint64_t end) {
        uint64_t &last = ends_[region_of_lane(walk)].steps;
        last = std::max(last, end);
    }
    void run_to(uint64_t end) {
        run(steps_.main, clock_.ns(end - std::min(mark_, end)));
        mark_ = end;
    }
    // Refuses the replay because of a call without messages, unless the call is harmless: calls that set up MPI or
    // communicators, and MPI_Iprobe. Outside of regions, the time of a harmless call counts as running.
    void add_unknown(const Definition &definition) {
        const bool is_harmless =
            definition.flags == static_cast<uint32_t>(format::MpiClass::kOther) || definition.name == "MPI_Iprobe";
        if (!is_harmless) note("traces have no messages of " + definition.name);
    }
    RankRegion &region_of(uint64_t id) {
        const auto [found, is_new] = number_of_.try_emplace(id, steps_.regions.size());
        if (is_new) steps_.regions.emplace_back().id = id;
        return steps_.regions[found->second];
    }
    RankLane &lane(Walk &walk) {
        RankRegion &region = region_of(region_of_lane(walk));
        auto &lanes = lanes_of_[region_of_lane(walk)];
        const auto [found, is_new] = lanes.try_emplace(walk.thread(), region.lanes.size());
        if (is_new) region.lanes.emplace_back();
        return region.lanes[found->second];
    }
    static void run(RankLane &lane, uint64_t ns) {
        if (!lane.empty() && lane.back().kind == RankStep::kRun)
            lane.back().value += ns;
        else
            lane.push_back({RankStep::kRun, ns});
    }

    const RunFiles &run_;
    RunClock clock_;
    RankSteps &steps_;
    bool is_main_ = false, has_message_ = false;
    uint64_t mark_ = 0, begin_ = 0; // end of the last step of the first thread; begin of its region
    RankCall open_{};
    std::unordered_map<uint64_t, size_t> number_of_; // regions by id
    std::unordered_map<uint64_t, std::map<uint32_t, size_t>> lanes_of_;
    std::unordered_map<uint64_t, bool> calls_in_; // regions whose threads call MPI
    struct Ends {
        uint64_t region = 0, steps = 0; // of the region, and of the last step of its threads
    };
    std::unordered_map<uint64_t, Ends> ends_; // by region
};

} // namespace

Problem read_rank_steps(const RunFiles &run, uint32_t rank, RankSteps &steps) {
    steps.rank = rank;
    if (Problem problem = lacks_trace(run)) return problem;
    if (run.process->version < format::kFirstWithMessages) {
        steps.unknown = "the trace has an old format without records of messages";
        return {};
    }
    TraceIndex index;
    index.creations = TraceIndex::Creations::kEarliest;
    if (Problem problem = read_trace_index(run, index)) return problem;
    StepReader reader(run, index, steps);
    if (Problem problem = walk_threads(run, reader)) return problem;
    reader.complete();
    return {};
}

} // namespace ompass
