// SPDX-License-Identifier: Apache-2.0
// Extracts the task program of a trace: observes all threads in order of time and notes the operations of each task.
//
// Untimed begins and ends of undeferred tasks cut the time between two clock readings into pieces. Each piece gets an
// equal share of that time.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "depend_clauses.h"
#include "events/ordered_walk.h"
#include "recorded_locks.h"
#include "task_program.h"

namespace ompass::simulation {

namespace {

constexpr uint32_t kOmptUntied = 0x10000000;
constexpr uint32_t kUnknownTask = 0; // the number of the program, which no task creates

// A task that is not complete yet.
struct Draft {
    uint32_t task = 0;
    bool serialised = false; // ran at once in a team of one, whose trace may lack its waits
    bool locks = false; // has a kLock
    std::unique_ptr<SiblingClauses> clauses; // depend clauses of its children; null: none
    std::vector<Operation> operations;
};

struct SeenRegion {
    uint32_t number = 0; // in TaskProgram::regions, unless nested
    uint32_t draft = 0; // draft of the task that entered it
    bool nested = false;
    RecordedRegion recorded;
    std::vector<std::pair<uint32_t, uint32_t>> team; // thread, implicit task
};

class Extractor : public WalkObserver {
public:
    struct FrameData {
        uint32_t draft = 0; // draft to which its operations are added
        uint16_t construct = 0;
        bool own = false; // true if the draft belongs to this task alone
    };
    struct PartData {
        SeenRegion *region = nullptr;
        uint32_t n_open = 0, n_sections = 0; // open loops, sections and singles; open sections
    };
    struct Piece {
        uint32_t draft, operation, weight;
    };
    struct ThreadData {
        uint64_t counted_until = 0; // work before this time is in the drafts
        std::vector<Piece> pieces; // pieces of the open state interval
        std::vector<uint32_t> ended; // drafts of ended tasks with such pieces
        uint32_t created_in = 0, created_as = 0; // draft of the last creation; 1 + index of its operation there, or 0
        uint32_t created_last = kUnknownTask; // the last deferred task that the thread created
        uint64_t next_priority = 0; // of the undeferred task that begins next
        uint64_t preempted_in_creation = 0; // ticks in the last interval of creation
        uint64_t preempted_in_wait = 0; // ticks in the last interval of a wait, or for a lock
        uint64_t taskloop_iterations = 0; // iterations of the current taskloop, until its first task is created
    };
    using Walk = ThreadWalk<Extractor>;
    using Frame = Walk::Frame;
    using Part = Walk::Part;

    Extractor(const RunFiles &run, TaskProgram &program)
        : run_(run), program_(program), clock_(*run.process), task_of_(run),
          construct_of_(run.definitions.size(), kNoConstruct),
          knows_clauses_(run.process->version >= format::kFirstWithDependClauses) {
        program_.operations.push_back(Operation::of(OpKind::kEnd)); // for tasks that never ran
        program_.tasks.emplace_back();
        program_.constructs.push_back(0);
        drafts_.emplace_back();
        if (!construct_of_.empty()) construct_of_[0] = 0;
        names_waits_ = std::ranges::any_of(run.definitions, [](const auto &definition) {
            return definition.kind == format::DefinitionKind::kWait &&
                   (definition.flags == format::kTaskwait || definition.flags == format::kTaskgroup);
        });
    }

    // ---------------------------------------------------------------- order

    bool is_met(Walk &, Precondition needed) {
        switch (needed.kind) {
        case Precondition::kStartable:
        case Precondition::kCreated: return task(needed.id) != kUnknownTask;
        case Precondition::kRegionBegun: return seen_.contains(needed.id);
        default: return true; // the simulation determines when waits end
        }
    }
    void out_of_order() { program_.n_out_of_order++; }
    void ends_at(uint64_t end) { end_ = end; }
    uint64_t end_of_run() const { return end_; }
    const RecordedRegion &region(uint64_t id) const {
        const auto found = seen_.find(id);
        return found == seen_.end() ? kUnknownRegion : found->second.recorded;
    }

    // ---------------------------------------------------------------- state intervals

    void state_interval(Walk &walk, format::State state, uint64_t begin, uint64_t end, uint32_t) {
        if (state == format::State::kWork) worked(walk, begin, end);
        if (state == format::State::kMpi || state == format::State::kOffload) called(walk, begin, end);
        if (state == format::State::kCreate) walk.data.preempted_in_creation = walk.off_cpu(begin, end).preempted;
        if (state == format::State::kSync) walk.data.preempted_in_wait = walk.off_cpu(begin, end).preempted;
    }
    void got_lock(Walk &walk, uint32_t, uint64_t asked) {
        if (!is_simulated(walk)) return;
        Draft &draft = draft_of(walk.current());
        const uint64_t ns = ns_between(asked, walk.now());
        if (walk.lock()) {
            const uint64_t preempted_ns = clock_.ns(walk.data.preempted_in_wait);
            const uint32_t lock = locks_.acquired(walk.lock(), number_of(walk.wait_place()), walk.thread(), asked,
                                                  walk.now(), preempted_ns);
            draft.operations.push_back(Operation::of(OpKind::kLock, lock, kAcquire));
            draft.locks = true;
        } else if (ns) {
            program_.blocked_ns += ns;
            draft.operations.push_back(Operation::of(OpKind::kBlocked, ns, number_of(walk.wait_place())));
        }
    }
    void released_lock(Walk &walk, uint32_t lock) {
        const std::optional<uint32_t> number = locks_.released(lock, walk.thread(), walk.now());
        if (!number || !is_simulated(walk)) return;
        mark(walk, Operation::of(OpKind::kLock, *number, kRelease));
        draft_of(walk.current()).locks = true;
    }

    // ---------------------------------------------------------------- tasks

    void created(Walk &walk, uint64_t id, uint32_t construct) {
        const CreationTime creation = walk.date_creation();
        if (walk.activity() == Activity::kWork) worked(walk, walk.mark(), creation.begin);
        give_draft(walk, walk.current());
        walk.data.created_last = create(walk, walk.current(), construct, 0);
        remember(id, walk.data.created_last);
        program_.n_deferred++;
        program_.n_unknown_dependences += is_alone(walk) && !knows_clauses_;
        if (const uint64_t n = std::exchange(walk.data.taskloop_iterations, 0))
            program_.taskloop_iterations[number_of(construct)] += n;
    }
    void creation_cost(Walk &walk, uint64_t, uint32_t, uint64_t ticks, uint32_t) {
        if (!walk.data.created_as) return;
        Operation &made = drafts_[walk.data.created_in].operations[walk.data.created_as - 1];
        ticks -= std::min(ticks, walk.data.preempted_in_creation);
        made = Operation::create(made.task(), clock_.ns(ticks));
    }
    void depends(Walk &, uint64_t before, uint64_t after) {
        const uint32_t first = task(before), second = task(after);
        if (first == kUnknownTask || second == kUnknownTask) return;
        // check_program() refuses a dependence on a later task, which an incomplete trace may have.
        if (first < second || program_.n_out_of_order == 0) program_.dependences.push_back({first, second});
    }
    void depends_on(Walk &walk, uint64_t address, uint32_t type) {
        Draft &creator = draft_of(walk.current());
        const uint32_t task = walk.data.created_last;
        if (task == kUnknownTask || program_.tasks[task].creator != owner(creator)) return;
        if (is_alone(walk) && !(program_.tasks[task].flags & ProgramTask::kDependent)) {
            program_.tasks[task].flags |= ProgramTask::kDependent;
            program_.n_dependent_alone++;
        }
        if (!creator.clauses) creator.clauses = std::make_unique<SiblingClauses>();
        creator.clauses->add(task, address, type,
                             [&](uint32_t before) { program_.dependences.push_back({before, task}); });
    }
    void has_priority(Walk &walk, uint64_t priority, bool is_of_next) {
        if (is_of_next) {
            walk.data.next_priority = priority;
            return;
        }
        const uint32_t task = walk.data.created_last;
        if (task != kUnknownTask) priorities_[task] = priority;
    }
    void began_undeferred(Walk &walk, Frame &frame) {
        if (!frame.timed) cut(walk, frame.below());
        frame.data = {frame.below().data.draft, number_of(frame.construct), false};
        walk.data.created_as = 0;
        const uint64_t priority = std::exchange(walk.data.next_priority, 0);
        if (!is_alone(walk) || run_.definitions[frame.construct].flags & format::kIfClauseFalse) return;
        // A team of one runs all tasks at once. A larger team is assumed to defer this task, unless the program's if
        // clause is false.
        give_draft(walk, frame.below());
        give_draft(walk, frame, ProgramTask::kSerialised);
        draft_of(frame).serialised = true;
        if (priority) priorities_[draft_of(frame).task] = priority;
        program_.n_serialised++;
    }
    void ended_undeferred(Walk &walk, Frame &frame) {
        if (!frame.timed) cut(walk, frame);
        if (frame.data.own) end(walk, frame.data.draft);
    }
    void started(Walk &, Frame &frame, bool, uint64_t) {
        const uint32_t place = task(frame.id);
        frame.data = {frame.below().data.draft, number_of(frame.construct), place != kUnknownTask};
        if (place == kUnknownTask) return;
        frame.data.draft = new_draft(place);
        program_.tasks[place].home = static_cast<int16_t>(frame.home);
        if (frame.home >= 0) program_.n_domains = std::max(program_.n_domains, static_cast<uint32_t>(frame.home) + 1);
    }
    void suspended(Walk &, Frame &frame) {
        if (frame.id) suspended_[frame.id] = frame.data;
    }
    void resumed(Walk &, Frame &frame, bool here) {
        const auto found = suspended_.find(frame.id);
        if (found != suspended_.end()) {
            frame.data = found->second;
            suspended_.erase(found);
        } else if (!here) {
            frame.data = {frame.below().data.draft, number_of(frame.construct), false};
        }
    }
    void completed(Walk &walk, Frame &frame, bool detached) {
        program_.n_detached += detached;
        if (!frame.data.own) return;
        if (detached) {
            draft_of(frame).operations.push_back(Operation::of(OpKind::kDetached));
            detached_[draft_of(frame).task] = {walk.now(), kNotFulfilled};
        }
        end(walk, frame.data.draft);
    }
    void fulfilled(Walk &walk, uint64_t id, uint32_t, uint64_t, bool) {
        const auto found = detached_.find(task(id));
        if (found != detached_.end()) found->second.fulfilled = std::max(walk.now(), found->second.ended);
    }

    // ---------------------------------------------------------------- waits and regions

    void began_wait(Walk &walk, uint32_t kind) {
        if (!is_simulated(walk) || has_no_children(walk.current())) return;
        Draft &draft = draft_of(walk.current());
        const bool in_region = walk.part().id && walk.part().data.region && !walk.part().data.region->nested;
        OpKind operation = OpKind::kTaskwait;
        if (kind == format::kTaskgroup || (format::is_barrier(kind) && !in_region)) operation = OpKind::kGroupEnd;
        if (format::is_barrier(kind) && in_region) operation = OpKind::kBarrier;
        if (operation == OpKind::kGroupEnd) program_.tasks[owner(draft)].flags |= ProgramTask::kGrouped;
        program_.n_dependent_waits += kind == format::kTaskwaitDepend;
        draft.operations.push_back(Operation::of(operation, 0, number_of(walk.current().wait_place)));
    }
    // Adds a wait in a team of one, where the trace has the places of waits, but not their times.
    void named_wait(Walk &walk, uint32_t construct) {
        const uint32_t kind = run_.definitions[construct].flags;
        const bool is_group = kind == format::kTaskgroup;
        Frame &frame = walk.current();
        if (!is_alone(walk) || (kind != format::kTaskwait && !is_group) || has_no_children(frame)) return;
        Draft &draft = draft_of(frame);
        if (is_group) program_.tasks[owner(draft)].flags |= ProgramTask::kGrouped;
        cut(walk, frame);
        draft.operations.push_back(
            Operation::of(is_group ? OpKind::kGroupEnd : OpKind::kTaskwait, 0, number_of(construct)));
    }
    void began_region(Walk &walk, Part &part) {
        SeenRegion &seen = seen_[part.id];
        seen.recorded = {part.begin, 0, 0, part.construct, part.level, false};
        if (walk.is_waiting_helper()) return; // a region of the runtime
        seen.nested = part.outer().id != 0;
        seen.draft = walk.current().data.draft;
        part.data.region = &seen;
        if (seen.nested) return;
        seen.number = static_cast<uint32_t>(program_.regions.size());
        ProgramRegion &region = program_.regions.emplace_back();
        region.construct = number_of(part.construct);
        regions_.push_back(&seen);
        drafts_[seen.draft].operations.push_back(Operation::of(OpKind::kRegion, seen.number));
    }
    void joined_region(Walk &walk, Part &part) {
        const auto found = seen_.find(part.id);
        if (found != seen_.end() && !walk.is_waiting_helper()) part.data.region = &found->second;
    }
    void ended_region(Walk &walk, Part &part, uint32_t) {
        if (!part.data.region || part.data.region->nested) return;
        const uint64_t ns = ns_between(part.begin, walk.now());
        program_.regions_ns += ns;
        if (walk.thread() != 0) program_.other_regions_ns += ns;
    }
    void began_implicit(Walk &walk, Frame &frame) {
        SeenRegion *region = walk.part().data.region;
        frame.data = {};
        if (walk.part().id == 0 || !region) return; // the initial task
        frame.data = {0, number_of(region->recorded.construct), true};
        const uint32_t place = new_task(frame.data.construct, owner(drafts_[region->draft]), ProgramTask::kImplicit);
        program_.tasks[place].depth = 0;
        remember(frame.id, place);
        if (region->nested) {
            program_.tasks[place].flags |= ProgramTask::kInline | ProgramTask::kGrouped;
            program_.n_nested++;
            drafts_[region->draft].operations.push_back(Operation::create(place, 0));
        } else {
            region->team.emplace_back(walk.thread(), place);
            ProgramRegion &of_program = program_.regions[region->number];
            of_program.team_size = std::max(of_program.team_size, walk.part().team_size);
            program_.n_threads = std::max(program_.n_threads, walk.part().team_size);
        }
        frame.data.draft = new_draft(place);
    }
    void ended_implicit(Walk &walk, Frame &frame, bool) {
        if (frame.data.own) end(walk, frame.data.draft);
    }

    // ---------------------------------------------------------------- loops

    void began_loop(Walk &walk, const OpenLoop &loop, uint64_t n_iterations) {
        if (walk.activity() == Activity::kWork) worked(walk, walk.mark(), walk.now());
        walk.part().data.n_open++;
        walk.part().data.n_sections += run_.definitions[loop.construct].flags == format::kWorkSections;
        if (run_.definitions[loop.construct].flags == format::kWorkTaskloop) {
            walk.data.taskloop_iterations = n_iterations;
        } else if (is_part_of_loop(walk, loop)) {
            const uint16_t number = number_of(loop.construct);
            program_.loop_kinds[number] = run_.definitions[loop.construct].flags;
            mark(walk, Operation::of(OpKind::kLoopBegin, 0, number));
        }
    }
    void ended_loop(Walk &walk, const OpenLoop &loop, uint64_t n_chunks, uint64_t n_taken) {
        if (walk.activity() == Activity::kWork) worked(walk, walk.mark(), walk.now());
        PartData &part = walk.part().data;
        if (part.n_open) part.n_open--;
        if (part.n_sections && run_.definitions[loop.construct].flags == format::kWorkSections) part.n_sections--;
        if (run_.definitions[loop.construct].flags == format::kWorkTaskloop) {
            walk.data.taskloop_iterations = 0;
        } else if (is_part_of_loop(walk, loop)) {
            mark(walk, Operation::of(OpKind::kLoopEnd, n_chunks, number_of(loop.construct)));
            note_iterations(draft_of(walk.current()).operations, n_taken);
        }
    }

    // ---------------------------------------------------------------- kernels

    void began_kernel(Walk &walk, const OpenKernel &kernel) {
        mark_kernel(walk, OpKind::kKernelBegin, kernel.construct);
    }
    void accessed(Walk &walk, const OpenKernel &, uint64_t address, uint64_t bytes, bool write) {
        if (!is_simulated(walk) || bytes == 0 || address > ~uint64_t{0} - bytes) return;
        Draft &draft = draft_of(walk.current());
        draft.operations.push_back(Operation::of(OpKind::kAccess, program_.accesses.size()));
        program_.accesses.push_back({address, bytes, walk.thread(), write});
    }
    void ended_kernel(Walk &walk, const OpenKernel &kernel, uint32_t) {
        mark_kernel(walk, OpKind::kKernelEnd, kernel.construct);
    }

    void finish() {
        for (const uint32_t draft : open_drafts()) store(draft);
        for (const auto &[task, times] : detached_) date_event(task, times);
        locks_.describe(program_);
        note_priorities();
        for (const SeenRegion *seen : regions_) {
            ProgramRegion &region = program_.regions[seen->number];
            auto team = seen->team;
            std::ranges::sort(team);
            for (const auto &[thread, place] : team) region.implicit.push_back(place);
            region.team_size = std::max(region.team_size, static_cast<uint32_t>(region.implicit.size()));
        }
        sort_dependences(program_.dependences);
        const uint64_t begin = run_.process->start_ticks;
        program_.wall_ns = ns_between(begin, std::max(begin, end_));
    }

private:
    static constexpr uint16_t kNoConstruct = 0xffff;
    static constexpr uint64_t kNotFulfilled = 0;
    struct DetachedTimes {
        uint64_t ended, fulfilled; // ticks
    };

    // Numbers the priorities. Beyond the limit of ProgramTask::priority, neighbouring priorities share a number.
    void note_priorities() {
        std::vector<uint64_t> &values = program_.priorities;
        for (const auto &[task, priority] : priorities_) values.push_back(priority);
        std::ranges::sort(values);
        values.erase(std::ranges::unique(values).begin(), values.end());
        const size_t most = std::max<size_t>(values.size(), ProgramTask::kMostPriority - 1);
        std::map<uint16_t, uint8_t> of_taskloops;
        for (const auto &[task, priority] : priorities_) {
            const auto place = static_cast<size_t>(std::ranges::lower_bound(values, priority) - values.begin());
            ProgramTask &one = program_.tasks[task];
            one.priority = static_cast<uint8_t>(1 + place * (ProgramTask::kMostPriority - 1) / most);
            if (program_.taskloop_iterations.contains(one.construct)) of_taskloops[one.construct] = one.priority;
        }
        // The runtime creates many tasks of a large taskloop outside of the call that has the priority.
        if (of_taskloops.empty()) return;
        for (ProgramTask &one : program_.tasks)
            if (const auto found = of_taskloops.find(one.construct); found != of_taskloops.end() && !one.priority)
                one.priority = found->second;
    }

    uint64_t ns_between(uint64_t begin, uint64_t end) const {
        return end > begin ? clock_.ns(end) - clock_.ns(begin) : 0;
    }
    Draft &draft_of(const Frame &frame) { return drafts_[frame.data.draft]; }
    // Returns the task of a draft. In a damaged trace, a task may continue after its end; the program then owns its
    // further operations.
    static uint32_t owner(const Draft &draft) { return draft.task == kStored ? 0 : draft.task; }
    // True in regions and, for the first thread, outside of them; false for waiting helper threads.
    static bool is_simulated(Walk &walk) { return (walk.part().id || walk.thread() == 0) && !walk.is_waiting_helper(); }
    // True in an implicit task outside of all constructs that divide work or give it to one thread.
    static bool is_own_work(Walk &walk) {
        const auto &region = walk.part().data;
        return walk.current().kind == Frame::kImplicit && region.region && !region.region->nested && !region.n_open;
    }
    static bool is_alone(Walk &walk) { return walk.part().id && walk.part().team_size == 1; }
    // True if the task is part of its creator's draft because it has created no deferred task. Its waits end at once.
    static bool has_no_children(const Frame &frame) { return frame.kind == Frame::kUndeferred && !frame.data.own; }

    // Sets the time from the end of a detached task to its event.
    void date_event(uint32_t task, DetachedTimes times) {
        if (times.fulfilled == kNotFulfilled) {
            program_.n_unfulfilled++;
            return;
        }
        const uint64_t ns = std::min(ns_between(times.ended, times.fulfilled), Operation::kMaxValue);
        program_.detached_ns += ns;
        for (uint32_t op = program_.tasks[task].first_op; program_.operations[op].kind() != OpKind::kEnd; op++)
            if (program_.operations[op].kind() == OpKind::kDetached)
                program_.operations[op] = Operation::of(OpKind::kDetached, ns);
    }

    // Returns the number of a construct in the program. Constructs beyond the limit of Operation share the last number.
    uint16_t number_of(uint32_t construct) {
        uint16_t &number = construct_of_[construct];
        if (number == kNoConstruct) {
            number = static_cast<uint16_t>(std::min<size_t>(program_.constructs.size(), kNoConstruct - 1));
            if (program_.constructs.size() == number) program_.constructs.push_back(construct);
        }
        return number;
    }

    // ---------------------------------------------------------------- work

    uint32_t add_work(uint32_t draft, uint16_t construct, uint64_t ns) {
        std::vector<Operation> &operations = drafts_[draft].operations;
        if (operations.empty() || operations.back().kind() != OpKind::kWork ||
            operations.back().construct() != construct)
            operations.push_back(Operation::of(OpKind::kWork, 0, construct));
        more_work(operations.back(), ns);
        return static_cast<uint32_t>(operations.size() - 1);
    }
    static void more_work(Operation &operation, uint64_t ns) {
        operation =
            Operation::of(OpKind::kWork, std::min(operation.value() + ns, Operation::kMaxValue), operation.construct());
    }

    void worked(Walk &walk, uint64_t begin, uint64_t end) {
        ThreadData &thread = walk.data;
        begin = std::max(begin, thread.counted_until);
        if (end <= begin) return;
        thread.counted_until = end;
        if (!is_simulated(walk)) return;
        const format::OffCpuTicks off_cpu = walk.off_cpu(begin, end);
        const uint64_t preempted = clock_.ns(off_cpu.preempted);
        uint64_t rest = ns_between(begin, end), n = 1;
        rest -= std::min(rest, preempted);
        const uint64_t blocked = std::min(rest, clock_.ns(off_cpu.blocked));
        rest -= blocked;
        program_.preempted_ns += preempted;
        program_.off_cpu_ns += blocked;
        for (const Piece &piece : thread.pieces) n += piece.weight;
        for (const Piece &piece : thread.pieces) {
            const uint64_t share = rest * piece.weight / n;
            more_work(drafts_[piece.draft].operations[piece.operation], share);
            rest -= share;
            n -= piece.weight;
        }
        thread.pieces.clear();
        const FrameData &frame = walk.current().data;
        add_work(frame.draft, frame.construct, rest);
        if (is_own_work(walk)) program_.own_ns += rest + blocked;
        if (walk.current().kind == Frame::kImplicit && walk.part().data.n_sections)
            program_.sections_ns += rest + blocked;
        if (blocked)
            drafts_[frame.draft].operations.push_back(Operation::of(OpKind::kOffCpu, blocked, frame.construct));
        for (const uint32_t draft : thread.ended) store(draft);
        thread.ended.clear();
    }

    // Adds the time of an MPI call or a target construct. The call keeps its task on its thread, as work does, but no
    // change of the program divides or moves the call.
    void called(Walk &walk, uint64_t begin, uint64_t end) {
        begin = std::max(begin, walk.data.counted_until);
        if (end <= begin) return;
        walk.data.counted_until = end;
        if (!is_simulated(walk)) return;
        const uint64_t ns = ns_between(begin, end);
        program_.called_ns += ns;
        drafts_[walk.current().data.draft].operations.push_back(Operation::of(OpKind::kBlocked, ns, kInCall));
    }

    // Adds the work up to now, then an operation.
    void mark(Walk &walk, Operation operation) {
        if (!is_simulated(walk)) return;
        if (walk.activity() == Activity::kWork) worked(walk, walk.mark(), walk.now());
        draft_of(walk.current()).operations.push_back(operation);
    }
    void mark_kernel(Walk &walk, OpKind kind, uint32_t construct) {
        mark(walk, Operation::of(kind, 0, number_of(construct)));
    }
    bool is_part_of_loop(Walk &walk, const OpenLoop &loop) const {
        return format::is_loop(run_.definitions[loop.construct].flags) && walk.current().kind == Frame::kImplicit &&
               walk.part().data.region && !walk.part().data.region->nested;
    }

    // Stores a number of iterations in the kLoopBegin of the loop that ends with the last operation.
    static void note_iterations(std::vector<Operation> &operations, uint64_t n_taken) {
        const auto begin =
            std::ranges::find(operations.rbegin(), operations.rend(), OpKind::kLoopBegin, &Operation::kind);
        if (begin != operations.rend()) *begin = Operation::of(OpKind::kLoopBegin, n_taken, begin->construct());
    }

    // Ends a piece of the frame's work, at a time that the trace lacks.
    void cut(Walk &walk, Frame &frame) {
        if (!is_simulated(walk)) return;
        const uint32_t operation = add_work(frame.data.draft, frame.data.construct, 0);
        std::vector<Piece> &pieces = walk.data.pieces;
        if (!pieces.empty() && pieces.back().draft == frame.data.draft && pieces.back().operation == operation)
            pieces.back().weight++;
        else
            pieces.push_back({frame.data.draft, operation, 1});
    }

    // ---------------------------------------------------------------- tasks and drafts

    uint32_t new_task(uint16_t construct, uint32_t creator, uint8_t flags) {
        ProgramTask task;
        task.creator = creator;
        task.construct = construct;
        task.depth = static_cast<uint16_t>(std::min<uint32_t>(program_.tasks[creator].depth + 1u, 0xffff));
        task.flags = flags;
        program_.tasks.push_back(task);
        return static_cast<uint32_t>(program_.tasks.size() - 1);
    }
    uint32_t create(Walk &walk, Frame &creator, uint32_t construct, uint8_t flags) {
        if (run_.definitions[construct].flags & kOmptUntied) flags |= ProgramTask::kUntied;
        Draft &draft = draft_of(creator);
        const uint32_t place = new_task(number_of(construct), owner(draft), flags);
        draft.operations.push_back(Operation::create(place, 0));
        walk.data.created_in = creator.data.draft;
        walk.data.created_as = static_cast<uint32_t>(draft.operations.size());
        return place;
    }
    // Makes tasks of the program from an undeferred task that creates tasks and from the undeferred tasks around it.
    void give_draft(Walk &walk, Frame &frame, uint8_t flags = ProgramTask::kInline) {
        if (frame.kind != Frame::kUndeferred || frame.data.own) return;
        give_draft(walk, frame.below(), flags);
        frame.data.draft = new_draft(create(walk, frame.below(), frame.construct, flags));
        frame.data.own = true;
    }

    uint32_t new_draft(uint32_t task) {
        uint32_t place;
        if (free_.empty()) {
            place = static_cast<uint32_t>(drafts_.size());
            drafts_.emplace_back();
        } else {
            place = free_.back();
            free_.pop_back();
        }
        drafts_[place].task = task;
        return place;
    }
    void end(Walk &walk, uint32_t draft) {
        if (draft == walk.data.created_in) walk.data.created_as = 0;
        if (walk.data.pieces.empty())
            store(draft);
        else
            walk.data.ended.push_back(draft);
    }
    void store(uint32_t place) {
        Draft &draft = drafts_[place];
        if (draft.task == kStored) return;
        if (std::exchange(draft.serialised, false) && !names_waits_) assume_wait(draft.operations);
        if (std::exchange(draft.locks, false)) pair_locks(draft.operations);
        ProgramTask &task = program_.tasks[draft.task];
        task.first_op = static_cast<uint32_t>(program_.operations.size());
        for (const Operation operation : draft.operations)
            if (operation.kind() != OpKind::kWork || operation.value()) program_.operations.push_back(operation);
        program_.operations.push_back(Operation::of(OpKind::kEnd));
        draft.operations.clear();
        draft.clauses.reset();
        if (draft.operations.capacity() > kKeptOperations) draft.operations.shrink_to_fit();
        draft.task = kStored;
        free_.push_back(place);
    }
    // Adds a taskwait after the last creation, if operations follow it. The trace of a team of one may lack all waits.
    void assume_wait(std::vector<Operation> &operations) {
        const auto last = std::ranges::find(operations.rbegin(), operations.rend(), OpKind::kCreate, &Operation::kind);
        if (last == operations.rbegin() || last == operations.rend()) return;
        operations.insert(last.base(), Operation::of(OpKind::kTaskwait));
        program_.n_supposed_waits++;
    }
    std::vector<uint32_t> open_drafts() const {
        std::vector<uint32_t> open;
        for (uint32_t i = 0; i < drafts_.size(); i++)
            if (drafts_[i].task != kStored) open.push_back(i);
        return open;
    }

    uint32_t task(uint64_t id) const { return task_of_[id]; } // kUnknownTask (0) if there is none
    void remember(uint64_t id, uint32_t place) { task_of_.set(id, place); }

    static constexpr uint32_t kStored = ~0u;
    static constexpr size_t kKeptOperations = 4096;

    const RunFiles &run_;
    TaskProgram &program_;
    const RunClock clock_;
    std::deque<Draft> drafts_; // 0: the program
    std::vector<uint32_t> free_;
    ById<uint32_t> task_of_;
    std::vector<uint16_t> construct_of_;
    std::unordered_map<uint64_t, SeenRegion> seen_;
    std::vector<const SeenRegion *> regions_; // by number
    std::unordered_map<uint64_t, FrameData> suspended_;
    RecordedLocks locks_{clock_};
    std::map<uint32_t, DetachedTimes> detached_; // by task
    std::unordered_map<uint32_t, uint64_t> priorities_; // by task
    uint64_t end_ = 0;
    const bool knows_clauses_;
    bool names_waits_ = false;
};

} // namespace

Problem extract_program(const RunFiles &run, TaskProgram &program) {
    if (Problem problem = lacks_trace(run)) return problem;
    if (Problem problem = lacks_begin(run)) return problem;
    program = {};
    Extractor extractor(run, program);
    OrderedWalk<Extractor> walk(run, extractor);
    if (Problem problem = walk.run()) return problem;
    extractor.finish();
    return {};
}

} // namespace ompass::simulation
