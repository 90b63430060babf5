// SPDX-License-Identifier: Apache-2.0
// The replay's second layer: explicit tasks, deferred and undeferred, from their creation to their end.
#pragma once

#include "replay_stretches.h"

namespace ompass {

class TaskReplay : public StretchReplay {
protected:
    TaskReplay(ReplayRun &shared, size_t index, ThreadAccount &account) : StretchReplay(shared, index, account) {
        codes_.reserve(format::kInlineCodes);
    }

    void charge_span(uint32_t construct) {
        slot(construct).create_ticks += span_.ticks;
        slot(construct).create_weight += span_.weight;
        span_ = {};
    }

    Task *begin_inline(uint32_t construct) {
        Task *frame = current_->frame;
        Task *task = push(0, construct);
        task->is_inline = true;
        task->frame = frame;
        slot(construct).n_undeferred++;
        if (span_.ticks) charge_span(construct); // told just before: the creation of this task
        if (construct >= since_timed_.size()) since_timed_.resize(shared_.files.definitions.size());
        since_timed_[construct]++;
        return task;
    }

    bool end_inline() {
        if (!current_->is_inline) return false;
        slot(current_->construct).n_completed++;
        region().n_tasks++;
        if (!current_->timed) tell_undeferred(*current_, 0, 0);
        return pop() != nullptr;
    }

    bool apply_inline_ops(uint64_t word) {
        dirty_ = true;
        for (unsigned i = 0; i < format::kInlineOpsPerWord; i++) {
            const unsigned op = format::inline_op(word, i);
            if (op == 0) return true;
            if (op == format::kInlineOpEnd) {
                if (!end_inline()) return false;
            } else {
                if (op - format::kInlineOpBegin >= codes_.size()) return false;
                begin_inline(codes_[op - format::kInlineOpBegin]);
            }
        }
        return true;
    }

    void begin_sample(uint32_t weight) {
        sampling_ = weight > 1;
        sample_weight_ = weight;
    }

    void start(const EventRecord &record, uint64_t ready) {
        close_before_task(ready, record.time);
        ConstructSlot &construct = slot(record.argument);
        const uint64_t waited = record.time > ready ? record.time - ready : 0;
        construct.n_ready++;
        construct.ready_ticks += waited;
        construct.ready_max_ticks = std::max(construct.ready_max_ticks, waited);
        const uint64_t id = record.words[1] & format::kIdMask;
        construct.n_other_thread += (id >> format::kThreadShift) != index_;
        construct.n_other_core += (record.words[1] & format::kOtherCore) != 0;
        construct.n_other_domain += (record.words[1] & format::kOtherDomain) != 0;
        if (shared_.observer) shared_.observer->started(thread(), id, record.argument, ready, record.time);
        Task *task = push(id, record.argument);
        task->ready = std::min(ready, record.time);
        task->start = record.time;
        if (domain_) task->domain = count_domains();
        open_ = Open::kWork;
    }

    // Tasks that the extension did not hold cannot be told from those that it placed here: it holds all or none.
    int32_t count_domains() {
        const uint32_t home = placed_ ? (placed_ - 1) >> 1 : domain_ - 1;
        region().domain = domain_;
        region().n_from_domain[std::min(home, format::kDomainCounts - 1)]++;
        region().n_rescued += placed_ ? (placed_ - 1) & 1 : 0;
        placed_ = 0;
        return static_cast<int32_t>(home);
    }

    // Takes off the stack what lies above the task with this id: it has been queued again, and will be resumed somewhere.
    bool return_to(uint64_t id) {
        const Task *found = current_;
        while (found && found->id != id) found = found->below;
        if (!found) return false;
        while (current_ != found) {
            ReplayRun::Earlier &earlier = shared_.earlier[current_->id];
            earlier.worked += current_->worked;
            if (!current_->resumed) earlier.ready = current_->ready, earlier.start = current_->start;
            pop();
        }
        return true;
    }

    void resume(const EventRecord &record) {
        close_before_task(record.time - std::min(record.words[2] >> 1, record.time), record.time);
        if (!return_to(record.words[1])) push(record.words[1], record.argument)->resumed = true;
        current_->waiting = record.words[2] & 1;
        if (current_->waiting && (waits_.empty() || waits_.back().task != current_)) begin_wait(0, record.time);
        enter_current(record.time);
    }

    bool complete(const EventRecord &record) {
        close_open(record.time);
        Task *task = current_;
        if (task->construct == 0) return false;
        if (task->resumed)
            shared_.pieced_together.push_back({index_, task->construct, task->id, task->worked, record.time});
        else if (!task->is_inline) // else detached: its own time is known, its duration is not
            count_duration(slot(task->construct), task->worked, 1);
        if (task->is_inline)
            tell_undeferred(*task, record.time, task->frame->worked - task->worked);
        else if (shared_.observer && !task->resumed)
            shared_.observer->completed({thread(), task->construct, task->id, 0, shared_.index.created_at(task->id),
                                         task->ready, task->start, record.time, task->worked, true});
        if (record.argument != format::kStatusDetach) {
            slot(task->construct).n_completed++;
            region().n_tasks++;
        }
        if (!pop()) return false;
        enter_current(record.time);
        return true;
    }

    std::vector<uint32_t> codes_;
    std::vector<uint32_t> since_timed_;
    uint32_t created_ = 0; // construct of the last deferred creation, until its span is told
    struct {
        uint64_t ticks, weight;
    } span_ = {}; // a creation that is not yet charged to a construct
    uint32_t domain_ = 0; // 1 + the argument of the last such event; 0: none
    uint32_t placed_ = 0; // the same of the task that starts next
};

} // namespace ompass
