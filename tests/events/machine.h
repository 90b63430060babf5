// SPDX-License-Identifier: Apache-2.0
// A synthetic OpenMP machine that generates a sequence of events. Its threads act at random.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "steps.h"

namespace ompass::events {

inline constexpr int kExplicitBarrier = 3, kLastBarrier = 9; // kinds of waits
constexpr bool is_barrier(int kind) { return kind == kExplicitBarrier || kind == kLastBarrier; }

// A runtime's order and completeness of events, where the specification leaves a choice.
struct Style {
    bool begins_threads, ends_threads, reports_initial;
    bool ends_region_first; // parallel_end precedes the end of the primary's implicit task
    bool ends_workers_late; // workers report the end of their implicit task after the region
    bool names_region_at_end; // the end of an implicit task names its region
    bool ends_worker_waits; // workers report the end of a region's last barrier, unless they end late
    bool names_prior, names_next; // false: null as the prior task at a start, or as the next task at an end
    bool chains; // a completed task names a fresh task as the next one
    bool switches_stacks; // a thread may continue a task below other suspended tasks before it runs ready tasks
    bool reports_sync_regions;
    bool joins_ends; // ompt_scope_beginend for constructs that do nothing
    bool free_agents;
    bool hides_last_parts; // see end_elsewhere()
    bool codes_everywhere; // false: loops, acquired locks and workers at the last barrier have no address
};

struct MadeTask {
    int32_t cell;
    int parent, region, group;
    bool undeferred = false, untied = false, detached = false, dependent = false, free_agent = false, fulfilled = false;
    bool started = false, code_ended = false, over = false;
    int n_predecessors = 0; // predecessors that are not over
    std::vector<int> successors{};
    uint32_t last_step = 0; // its latest event, which its next event must follow
    std::vector<uint32_t> before{}; // events that ended its predecessors
};

struct Waited { // the tasks of a taskwait, taskgroup or barrier
    int n_left = 0;
    std::vector<uint32_t> ends{};
};

struct Barrier {
    int n_arrived = 0;
    std::vector<uint32_t> arrivals{};
};

struct MadeRegion {
    int32_t cell = kNull;
    uint32_t code = 0, begin_step = 0, end_step = 0;
    int n_barriers = 1; // including the last one
    std::vector<int> team{}; // numbers of its threads; the primary first
    std::vector<Barrier> barriers{};
    Waited tasks{};
    std::deque<int> ready{}; // tasks that may start or continue
    bool ended = false;
};

struct Frame {
    enum Kind : uint8_t { kInitial, kImplicit, kExplicit } kind = kInitial;
    int task = 0; // number of the task
    int region = 0;
    int member = 0; // thread number in the team, of an implicit task
    int waits_for = 0; // kind of the wait; 0: none
    int barrier = 0; // number of barriers that the implicit task has reached
    int group = -1; // open taskgroup; -1: none
    int work = 0; // kind of the open worksharing construct; 0: none
    int lock = 0, lock_kind = 0; // number of the held lock plus 1; 0: none
};

struct MadeThread {
    std::vector<Frame> frames{};
    std::vector<Frame> aside{}; // suspended on stacks of their own
    int joining = -1, member = 0; // region that the thread will join (-1: none), and the thread's number there
    int left_region = -1; // left region whose implicit task has no reported end yet; -1: none
    int32_t left_cell = kNull;
    bool begun = false;
};

class Machine {
public:
    Machine(uint64_t seed, Order order);
    Sequence run();

private:
    // ---- chance
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    bool chance(uint32_t percent) { return below(100) < percent; }
    Style random_style();
    int number(std::initializer_list<int> known, std::initializer_list<int> unknown);

    // ---- events
    uint32_t add(Step step);
    int32_t new_cell() { return static_cast<int32_t>(made_.n_cells++); }
    uint32_t code() { return 1 + below(12); }
    int group_of(const Frame &frame) const;
    int32_t cell_of(const Frame &frame) const { return tasks_[static_cast<size_t>(frame.task)].cell; }
    uint32_t schedule(int thread, int32_t prior, int status, int32_t next, std::vector<uint32_t> after = {});
    uint32_t wait_event(int thread, int kind, int endpoint, uint32_t code, std::vector<uint32_t> after = {});
    void begin_thread(int thread);

    // ---- actions of a thread; true if it acted
    bool act(int thread);
    bool act_idle(int thread);
    bool act_waiting(int thread);
    void act_running(int thread);
    void join(int thread);
    void report_left(int thread);
    void create(int thread);
    void create_undeferred(int thread, uint32_t flags);
    void wait_for_dependences(int thread);
    bool run_ready(int thread, int status);
    void run_as_free_agent(int thread, int region, int task);
    void begin_wait(int thread, int kind);
    bool try_to_end_wait(int thread);
    void arrive(int thread);
    void leave_barrier(int thread);
    void leave_region(int thread);
    void begin_region(int thread);
    bool end_elsewhere(int thread);
    void end_task(int thread);
    void suspend(int thread);
    bool continue_aside(int thread);
    void continue_own(int thread, int32_t prior);
    void discard_ready(int thread);
    bool fulfil_any(int thread);
    void do_work(int thread);
    void do_lock(int thread);
    void end_work(int thread);
    void finish_task(int task, uint32_t step);
    bool may_run(const Frame &frame, int task) const;
    int take_ready(int region, const Frame *frame, bool fresh);
    bool may_end_wait(const Frame &frame);

    std::mt19937_64 random_;
    const bool unknown_;
    Style style_{};
    Sequence made_;
    std::vector<MadeTask> tasks_;
    std::vector<Waited> children_; // by task
    std::vector<Waited> groups_;
    std::vector<MadeRegion> regions_;
    std::vector<MadeThread> threads_;
    std::vector<uint32_t> lock_steps_; // step of each lock's last release; 0: none
    std::vector<bool> lock_held_;
    std::vector<int> detached_; // tasks that await only their event
    int level_ = 0;
    bool finishing_ = false;
};

} // namespace ompass::events
