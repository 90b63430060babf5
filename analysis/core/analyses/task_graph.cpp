// SPDX-License-Identifier: Apache-2.0
// Observes all threads in order of time, and applies each event to the chains of tasks.
#include "task_graph.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "events/ordered_walk.h"
#include "task_graph_chains.h"
#include "task_graph_groups.h"

namespace ompass {

namespace {

class GraphBuilder : public WalkObserver {
public:
    struct FrameData {
        uint32_t chain = 0; // chain that the task's work extends
        uint32_t own = 0;   // chain for the task's waits; an undeferred task gets it with its first deferred child
        uint32_t group = 0;
    };
    struct PartData {
        GraphRegion *region = nullptr;
    };
    struct ThreadData {
        uint64_t counted_until = 0;  // end of the work that chains contain
        uint64_t dispatch_ticks = 0; // time for which the starting task was ready and the thread ran nothing
    };
    using Walk = ThreadWalk<GraphBuilder>;
    using Frame = Walk::Frame;
    using Part = Walk::Part;

    GraphBuilder(const RunFiles &run, const TaskGraphOptions &options, TaskGraph &graph)
        : options_(options), graph_(graph), chains_(run), groups_(options.depth, graph.groups) {}

    // Keeps the end of a task that has successors.
    void keep_end_of(uint64_t task) { ends_.try_emplace(task); }

    // ---------------------------------------------------------------- order

    bool is_met(Walk &walk, Precondition needed) {
        switch (needed.kind) {
        case Precondition::kStartable: {
            if (!chains_.find(needed.id)) return false;
            const auto waits_for = predecessors_.find(needed.id);
            return waits_for == predecessors_.end() || std::ranges::all_of(waits_for->second, [&](uint64_t before) {
                       const auto end = ends_.find(before);
                       return end == ends_.end() || end->second.known;
                   });
        }
        case Precondition::kCreated: return chains_.find(needed.id) != 0;
        case Precondition::kDetached: {
            const uint32_t chain = chains_.find(needed.id);
            return chain && chains_[chain].detached;
        }
        case Precondition::kChildrenEnded: {
            const uint32_t own = walk.current().data.own;
            return !own || chains_[own].n_children == 0;
        }
        case Precondition::kBarrierOver: {
            const GraphRegion *region = walk.part().data.region;
            const uint32_t number = walk.part().n_barriers;
            return !region || number == 0 || number > region->barriers.size() || region->barriers[number - 1].closed;
        }
        case Precondition::kRegionBegun: return regions_.contains(needed.id);
        case Precondition::kNone: break;
        }
        return true;
    }
    void out_of_order() { graph_.n_out_of_order++; }
    void ends_at(uint64_t end) { end_ = end; }
    uint64_t end_of_run() const { return end_; }
    uint64_t created_at(uint64_t task) {
        const uint32_t chain = chains_.find(task);
        return chain ? chains_[chain].created : 0;
    }
    const RecordedRegion &region(uint64_t id) const {
        const auto found = regions_.find(id);
        return found == regions_.end() ? kUnknownRegion : found->second->recorded;
    }

    // ---------------------------------------------------------------- state intervals

    void began_thread(Walk &walk) {
        const uint32_t chain = chains_.make(0, 0, 0, nullptr);
        chains_[chain].thread = walk.thread();
        walk.current().data = {chain, chain, 0};
    }
    void state_interval(Walk &walk, format::State state, uint64_t begin, uint64_t end, uint32_t) {
        // An MPI call or a target construct keeps its task on its thread, so it counts as work.
        if (state == format::State::kWork || state >= format::State::kMpi) worked(walk, begin, end);
        if (state == format::State::kCreate) chain_of(walk).now.burdened += end - begin;
        if (state == format::State::kSchedule) walk.data.dispatch_ticks = end - begin;
    }

    // ---------------------------------------------------------------- tasks

    void created(Walk &walk, uint64_t task, uint32_t construct) {
        const CreationTime creation = walk.date_creation();
        if (walk.activity() == Activity::kWork) worked(walk, walk.mark(), creation.begin);
        Frame &creator = walk.current();
        const uint32_t parent = own_chain(walk, creator);
        const uint32_t place =
            chains_.make(task, construct, groups_.intern(creator.data.group, construct), walk.part().data.region);
        chains_.adopt(place, parent);
        chains_.remember(task, place);
        Chain &child = chains_[place];
        child.created = creation.time;
        child.created_latest = creation.latest;
        child.now = chains_.copy(chain_of(walk).now);
        if (child.region) child.region->n_unfinished++;
        graph_.n_deferred++;
    }
    void creation_cost(Walk &, uint64_t task, uint32_t, uint64_t ticks, uint32_t) {
        const uint32_t place = task ? chains_.find(task) : 0;
        if (!place) return;
        Chain &child = chains_[place];
        if (child.started == 0) child.now.burdened += ticks;
        graph_.groups[child.group].create_ticks += ticks;
    }
    void depends(Walk &, uint64_t before, uint64_t after) {
        const uint32_t chain = chains_.find(after);
        if (!chain || chains_[chain].started) return;
        graph_.n_dependences++;
        predecessors_[after].push_back(before);
        EndOfTask &end = ends_[before];
        if (const uint32_t other = chains_.find(before)) end.group = chains_[other].group;
        dependences_[{end.group, chains_[chain].group}]++;
    }
    void began_undeferred(Walk &, Frame &task) {
        const uint32_t group = groups_.intern(task.below().data.group, task.construct);
        graph_.n_undeferred++;
        graph_.groups[group].n_undeferred++;
        task.data = {task.below().data.chain, 0, group};
    }
    void ended_undeferred(Walk &, Frame &task) {
        if (task.data.own) complete_chain(task.data.own, chains_[task.data.chain].now);
    }
    void started(Walk &walk, Frame &task, bool, uint64_t) {
        const uint32_t place = chain_or_new(walk, task);
        Chain &chain = chains_[place];
        const auto waits_for = predecessors_.find(task.id);
        if (waits_for != predecessors_.end()) {
            for (const uint64_t before : waits_for->second) chains_.raise(chain.now, ends_[before].point);
            predecessors_.erase(waits_for);
        }
        const uint64_t dispatch = std::exchange(walk.data.dispatch_ticks, 0);
        chain.now.burdened += dispatch;
        chain.started = std::max<uint64_t>(task.start, 1);
        chain.thread = walk.thread();
        GraphGroup &group = graph_.groups[chain.group];
        group.n_tasks++;
        group.dispatch_ticks += dispatch;
        group.n_other_thread += format::thread_of_id(task.id) != walk.thread();
        task.data = frame_of(place);
    }
    void resumed(Walk &walk, Frame &task, bool here) {
        walk.data.dispatch_ticks = 0;
        if (!here) task.data = frame_of(chain_or_new(walk, task));
    }
    void completed(Walk &walk, Frame &task, bool detached) {
        if (task.kind == Frame::kUndeferred) { // a detached task; an event completes it
            if (task.data.own) chains_.release(task.data.own);
        } else if (detached) {
            chains_[task.data.chain].detached = true;
        } else {
            finish_deferred(task.data.chain, walk.now());
        }
    }
    void discarded(Walk &walk, uint64_t task, uint32_t) {
        if (const uint32_t chain = chains_.find(task)) finish_deferred(chain, walk.now());
    }
    void fulfilled(Walk &walk, uint64_t task, uint32_t, uint64_t, bool) {
        const uint32_t chain = chains_.find(task);
        if (!chain) return;
        if (walk.activity() == Activity::kWork) worked(walk, walk.mark(), walk.now());
        chains_.raise(chains_[chain].now, chain_of(walk).now);
        finish_deferred(chain, walk.now());
    }

    // ---------------------------------------------------------------- waits and regions

    void began_wait(Walk &walk, uint32_t kind) {
        GraphRegion *region = walk.part().data.region;
        if (!format::is_barrier(kind) || !region) return;
        const uint32_t number = walk.part().n_barriers;
        if (region->barriers.size() < number) region->barriers.resize(number);
        Barrier &barrier = region->barriers[number - 1];
        chains_.raise(barrier.latest, chain_of(walk).now);
        barrier.n_arrived++;
        close_barriers(*region);
    }
    void ended_wait(Walk &walk, uint32_t kind) {
        const FrameData task = walk.current().data;
        Point &point = chains_[task.chain].now;
        if (format::is_barrier(kind)) {
            GraphRegion *region = walk.part().data.region;
            const uint32_t number = walk.part().n_barriers;
            if (!region || number == 0 || number > region->barriers.size()) return;
            Barrier &passed = region->barriers[number - 1];
            if (!passed.closed) chains_.raise(passed.latest, region->latest);
            chains_.raise(point, passed.latest);
            return;
        }
        graph_.groups[task.group].n_waits++;
        graph_.n_taskgroup_ends += kind == format::kTaskgroup;
        graph_.n_dependent_waits += kind == format::kTaskwaitDepend;
        if (!task.own) return;
        const Chain &own = chains_[task.own];
        chains_.raise(point, own.children);
        if (kind == format::kTaskgroup) chains_.raise(point, own.descendants);
    }
    void began_region(Walk &walk, Part &part) {
        GraphRegion &region = new_region(part.id);
        region.recorded = {part.begin, 0, 0, part.construct, part.level, false};
        if (!walk.is_waiting_helper()) // otherwise the region belongs to the runtime
            region.group = groups_.intern(walk.current().data.group, part.construct, true);
        region.team_size = 1;
        region.begin = chains_.copy(chain_of(walk).now);
        region.latest = chains_.copy(region.begin);
        part.data.region = &region;
    }
    void joined_region(Walk &, Part &part) {
        const auto found = regions_.find(part.id);
        if (found != regions_.end()) part.data.region = found->second;
    }
    void began_implicit(Walk &walk, Frame &task) {
        GraphRegion *region = walk.part().data.region;
        const uint32_t group = region ? region->group : 0;
        const uint32_t place = chains_.make(task.id, region ? region->recorded.construct : 0, group, region);
        chains_.remember(task.id, place);
        Chain &made = chains_[place];
        made.now = chains_.copy(region ? region->begin : chains_[task.below().data.chain].now);
        made.created = made.created_latest = made.started = std::max<uint64_t>(task.start, 1);
        made.thread = walk.thread();
        graph_.groups[group].n_tasks += !walk.is_waiting_helper();
        task.data = {place, place, group};
        if (!region) return;
        region->team_size = walk.part().team_size;
        region->n_inside++;
    }
    void ended_implicit(Walk &walk, Frame &task, bool worker) {
        GraphRegion *region = walk.part().data.region;
        completed_at_ = walk.now();
        const Point &end = chains_[task.data.chain].now;
        if (!region) chains_.raise(chains_[task.below().data.chain].now, end); // an initial task: the thread continues
        complete_chain(task.data.chain, end);
        if (!region) return;
        region->n_inside -= region->n_inside > 0;
        if (worker) forget_region(*region);
    }
    void ended_region(Walk &walk, Part &part, uint32_t) {
        GraphRegion &region = *part.data.region;
        chains_.raise(chain_of(walk).now, region.latest);
        region.ended = true;
        region.recorded.end = walk.now();
        forget_region(region);
    }

    void ended_thread(Walk &walk) {
        for (const Frame &frame : std::views::reverse(walk.frames()))
            chains_.raise(last_, chains_[frame.data.chain].now);
    }
    // Stores the sums and the critical path in the graph.
    void finish() {
        for (const auto &[id, region] : regions_) chains_.raise(last_, region->latest);
        graph_.outside_ticks = graph_.groups[0].work_ticks;
        for (const GraphGroup &group : graph_.groups) graph_.work_ticks += group.work_ticks;
        graph_.work_ticks -= graph_.outside_ticks;
        graph_.span_ticks = last_.span;
        graph_.burdened_ticks = last_.burdened;
        for (const auto &[pair, n] : dependences_) graph_.dependences.push_back({pair.first, pair.second, n});
        list_critical_path();
    }

private:
    void worked(Walk &walk, uint64_t begin, uint64_t end) {
        begin = std::max(begin, walk.data.counted_until);
        if (end <= begin || walk.is_waiting_helper()) return;
        walk.data.counted_until = end;
        const uint64_t preempted = walk.off_cpu(begin, end).preempted;
        const uint64_t ticks = end - begin - (options_.on_processors ? preempted : 0);
        Chain &chain = chain_of(walk);
        chain.now.span += ticks;
        chain.now.burdened += ticks;
        chain.now.step = chains_.steps().extend(chain.now.step, chain.id, ticks, preempted, chain.group, walk.thread(),
                                                chain.started);
        chain.worked += ticks;
        graph_.groups[chain.group].work_ticks += ticks;
        graph_.groups[chain.group].preempted_ticks += preempted;
    }
    struct EndOfTask {
        Point point;
        uint32_t group = 0;
        bool known = false;
    };

    Chain &chain_of(Walk &walk) { return chains_[walk.current().data.chain]; }
    FrameData frame_of(uint32_t chain) { return {chain, chain, chains_[chain].group}; }
    // Returns the chain of a starting or resuming task. A task of unknown creation continues the chain of its thread.
    uint32_t chain_or_new(Walk &walk, Frame &task) {
        if (const uint32_t known = chains_.find(task.id)) return known;
        const uint32_t chain = chains_.make(0, task.construct, 0, walk.part().data.region);
        chains_[chain].now = chains_.copy(chains_[task.below().data.chain].now);
        return chain;
    }
    // Returns the chain for the task's waits. Also makes such chains for the undeferred tasks around the task, because
    // a taskgroup in one of those tasks waits for tasks created here.
    uint32_t own_chain(Walk &walk, Frame &task) {
        Frame *around = &task;
        while (!around->data.own) around--;
        for (; around != &task; around++) {
            Frame &inner = around[1];
            inner.data.own = chains_.make(0, 0, inner.data.group, walk.part().data.region);
            chains_.adopt(inner.data.own, around->data.own);
            chains_[around->data.own].n_children--; // no wait joins an undeferred task
            chains_[inner.data.own].orphan = true;
        }
        return task.data.own;
    }
    // Completes a chain at `end`, and raises the chains that wait for it.
    void complete_chain(uint32_t place, const Point &end) {
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
        if (above != chain.parent) { // completed ancestors are no longer needed
            if (above) chains_[above].refs++;
            const uint32_t before = chain.parent;
            chain.parent = above;
            chains_.release(before);
        }
        if (above) {
            chains_.raise(chains_[above].descendants, end);
            chains_.raise(chains_[above].descendants, chain.descendants);
        }
        if (chain.region) chains_.raise(chain.region->latest, end);
        if (const auto kept = ends_.find(chain.id); chain.id && kept != ends_.end()) {
            chains_.raise(kept->second.point, end);
            kept->second.known = true;
        }
        note_task(chain);
        chains_.release(place);
    }
    void finish_deferred(uint32_t place, uint64_t time) {
        completed_at_ = time;
        GraphRegion *region = chains_[place].region;
        complete_chain(place, chains_[place].now);
        if (!region || region->n_unfinished == 0) return;
        region->n_unfinished--;
        if (region->n_unfinished == 0) close_barriers(*region);
    }
    void note_task(const Chain &chain) {
        if (!chain.id || !chain.started) return;
        GraphGroup &group = graph_.groups[chain.group];
        group.max_ticks = std::max(group.max_ticks, chain.worked);
        if (graph_.tasks.size() >= options_.max_tasks || !std::ranges::count(options_.expanded, chain.group)) return;
        graph_.tasks.push_back({chain.id, chain.parent_id, chain.group, chain.thread, chain.created,
                                chain.created_latest, chain.started, completed_at_, chain.worked, 0});
    }
    // Closes the barriers at which all threads have arrived, if all tasks are finished.
    void close_barriers(GraphRegion &region) {
        while (region.n_closed < region.barriers.size()) {
            Barrier &barrier = region.barriers[region.n_closed];
            if (barrier.n_arrived < region.team_size || region.n_unfinished) return;
            chains_.raise(barrier.latest, region.latest);
            barrier.closed = true;
            region.n_closed++;
        }
    }
    GraphRegion &new_region(uint64_t id) {
        GraphRegion *&region = regions_[id];
        if (region) return *region;
        if (free_regions_.empty()) free_regions_.push_back(&region_storage_.emplace_back());
        region = free_regions_.back();
        free_regions_.pop_back();
        *region = {};
        region->id = id;
        return *region;
    }
    void forget_region(GraphRegion &region) {
        if (!region.ended || region.n_inside > 0 || region.n_unfinished > 0) return;
        chains_.drop(region.begin);
        chains_.raise(last_, region.latest);
        chains_.drop(region.latest);
        for (Barrier &barrier : region.barriers) chains_.drop(barrier.latest);
        regions_.erase(region.id);
        free_regions_.push_back(&region);
    }
    void list_critical_path() {
        std::vector<StepPool::Step> path;
        for (uint32_t step = last_.step; step; step = chains_.steps()[step].previous) {
            const StepPool::Step &one = chains_.steps()[step];
            if (!path.empty() && path.back().task == one.task && path.back().group == one.group)
                path.back().ticks += one.ticks, path.back().preempted += one.preempted;
            else
                path.push_back(one);
        }
        std::ranges::reverse(path);
        graph_.n_steps = path.size();
        std::unordered_map<uint64_t, uint64_t> of_task;
        uint64_t begin = 0;
        for (const StepPool::Step &step : path) {
            graph_.groups[step.group].critical_ticks += step.ticks;
            graph_.groups[step.group].n_critical++;
            graph_.span_preempted_ticks += step.preempted;
            if (step.group == 0) graph_.span_outside_ticks += step.ticks;
            of_task[step.task] += step.ticks;
            if (graph_.critical.size() < options_.max_tasks)
                graph_.critical.push_back(
                    {step.task, step.group, step.thread, begin, step.ticks, step.preempted, step.start_time});
            begin += step.ticks;
        }
        OMPASS_ASSERT(begin == last_.span); // span of a chain == sum of ticks of its steps
        for (GraphTask &task : graph_.tasks) {
            const auto found = of_task.find(task.id);
            if (found != of_task.end()) task.critical_ticks = found->second;
        }
    }

    const TaskGraphOptions &options_;
    TaskGraph &graph_;
    Chains chains_;
    GroupTree groups_;
    std::unordered_map<uint64_t, GraphRegion *> regions_; // by id
    std::deque<GraphRegion> region_storage_; // never freed, so a damaged trace leaves no dangling pointer
    std::vector<GraphRegion *> free_regions_;
    std::unordered_map<uint64_t, EndOfTask> ends_; // ends of tasks with successors, by id
    std::unordered_map<uint64_t, std::vector<uint64_t>> predecessors_;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> dependences_;
    Point last_; // latest end of all threads and regions
    uint64_t completed_at_ = 0, end_ = 0;
};

} // namespace

Problem build_task_graph(const RunFiles &run, const TaskGraphOptions &options, TaskGraph &graph) {
    if (Problem problem = lacks_trace(run)) return problem;
    if (Problem problem = lacks_begin(run)) return problem;
    GraphBuilder builder(run, options, graph);
    // Only the whole trace shows which tasks have successors.
    const auto keep_end = [&](uint64_t before, uint64_t) {
        builder.keep_end_of(before);
        return true;
    };
    if (Problem problem = for_each_dependence(run, keep_end)) return problem;
    OrderedWalk<GraphBuilder> walk(run, builder);
    if (Problem problem = walk.run()) return problem;
    builder.finish();
    return {};
}

} // namespace ompass
