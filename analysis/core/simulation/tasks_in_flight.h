// SPDX-License-Identifier: Apache-2.0
// The created tasks that are incomplete or have incomplete children, and their taskgroups. A task or group is
// identified by its place in a pool; 0 is none.
#pragma once

#include <cstdint>
#include <vector>

#include "task_program.h"

namespace ompass::simulation {

inline constexpr uint32_t kNone = 0;

enum class Waits : uint8_t { kNo, kChildren, kGroup, kBarrier, kRegion };

struct alignas(64) LiveTask { // one cache line of the host
    uint32_t task = 0;
    uint32_t next_op = 0;
    uint32_t parent = kNone;
    uint32_t below = kNone; // task on top of which it runs
    uint32_t n_children = 0; // direct children that are not complete
    uint32_t refs = 0; // one until the task completes, and one per child
    uint32_t group = 0; // the taskgroup that it belongs to; 0: none
    uint32_t own_group = 0; // the taskgroup of its descendants
    uint32_t thread = 0; // the last thread that ran it
    uint32_t foreign_ancestor = kNone; // nearest ancestor on another thread; set at its start
    int32_t untraced = 0; // ns of recording that remain to subtract from its work; below 0: to add
    uint32_t next_ready = kNone; // the next task in the list Thread::ready
    uint64_t data_ns = 0; // recorded ns of its kernel's data that remain to subtract from its work
    uint16_t depth = 0;
    Waits waits = Waits::kNo;
    bool inlined : 1 = false, started : 1 = false, untied : 1 = false, serial : 1 = false, implicit : 1 = false;
    bool detached : 1 = false; // completes after its end
};

// The descendants that a kGroupEnd waits for. A group that is not empty counts as one member of the group around it.
struct Group {
    uint32_t n_unfinished = 0;
    uint32_t around = 0;
    uint32_t owner = kNone; // kNone: the group is closed, and is freed with its last member
};

template <typename T>
class Pool {
public:
    Pool() { items_.emplace_back(); } // place 0 is none
    T &operator[](uint32_t i) { return items_[i]; }
    const T &operator[](uint32_t i) const { return items_[i]; }
    uint32_t make() {
        if (free_.empty()) {
            items_.emplace_back();
            return static_cast<uint32_t>(items_.size() - 1);
        }
        const uint32_t place = free_.back();
        free_.pop_back();
        items_[place] = T{};
        return place;
    }
    void free(uint32_t place) { free_.push_back(place); }

private:
    std::vector<T> items_;
    std::vector<uint32_t> free_;
};

class TasksInFlight {
public:
    explicit TasksInFlight(const TaskProgram &program) : program_(program) {}

    // References are valid until the next task is made.
    LiveTask &operator[](uint32_t place) { return live_[place]; }
    const LiveTask &operator[](uint32_t place) const { return live_[place]; }

    uint32_t make(uint32_t task, uint32_t parent) {
        const uint32_t place = live_.make();
        LiveTask &made = live_[place];
        const ProgramTask &of_program = program_.tasks[task];
        made.refs = 1;
        made.task = task;
        made.next_op = of_program.first_op;
        made.parent = parent;
        made.depth = of_program.depth;
        made.untied = of_program.flags & ProgramTask::kUntied;
        if (parent) live_[parent].refs++;
        return place;
    }
    // Drops one reference to a task. Frees the task and its ancestors when they have no references.
    void release(uint32_t place) {
        while (place && --live_[place].refs == 0) {
            const uint32_t parent = live_[place].parent;
            live_.free(place);
            place = parent;
        }
    }

    void runs_on(uint32_t place, uint32_t thread) {
        LiveTask &task = live_[place];
        const LiveTask &parent = live_[task.parent];
        task.thread = thread;
        task.foreign_ancestor = parent.thread == thread ? parent.foreign_ancestor : task.parent;
    }
    // True if `task` is a descendant of `waiting`. Requires that `waiting` waits on the thread on which it began.
    bool is_descendant(const LiveTask &task, uint32_t waiting) const {
        const uint32_t depth = live_[waiting].depth, thread = live_[waiting].thread;
        uint32_t ancestor = task.parent;
        while (live_[ancestor].depth > depth)
            ancestor = live_[ancestor].thread == thread ? live_[ancestor].parent : live_[ancestor].foreign_ancestor;
        return ancestor == waiting;
    }

    // True if the wait of the task is over.
    bool is_over(const LiveTask &task) const {
        switch (task.waits) {
        case Waits::kChildren: return task.n_children == 0;
        case Waits::kGroup: return groups_[task.own_group].n_unfinished == 0;
        default: return false;
        }
    }

    void open_group(uint32_t place) {
        const uint32_t group = groups_.make();
        groups_[group] = {0, live_[place].group, place};
        live_[place].own_group = group;
    }
    void close_group(uint32_t group) {
        groups_[group].owner = kNone;
        if (groups_[group].n_unfinished == 0) groups_.free(group);
    }
    // Adds a task to the group of its creator.
    void enter_group(uint32_t place, uint32_t creator) {
        uint32_t group = live_[creator].own_group ? live_[creator].own_group : live_[creator].group;
        live_[place].group = group;
        while (group && groups_[group].n_unfinished++ == 0) group = groups_[group].around;
    }
    // Removes a member of a group. Calls over(place) for each task that waited only for this member.
    template <typename Over>
    void leave_group(uint32_t group, Over over) {
        while (group && --groups_[group].n_unfinished == 0) {
            const Group empty = groups_[group];
            if (!empty.owner)
                groups_.free(group);
            else if (live_[empty.owner].waits == Waits::kGroup)
                over(empty.owner);
            group = empty.around;
        }
    }
    bool has_members(uint32_t group) const { return groups_[group].n_unfinished != 0; }

private:
    const TaskProgram &program_;
    Pool<LiveTask> live_;
    Pool<Group> groups_;
};

} // namespace ompass::simulation
