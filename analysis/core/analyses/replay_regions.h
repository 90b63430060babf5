// SPDX-License-Identifier: Apache-2.0
// The replay's third layer: regions, and the implicit tasks by which a thread takes part in them.
#pragma once

#include "replay_tasks.h"

namespace ompass {

class RegionReplay : public TaskReplay {
protected:
    using TaskReplay::TaskReplay;

    void push_part(uint64_t id, uint32_t construct, uint64_t begin, bool primary) {
        parts_.push_back({id, construct, begin, primary, part_, 1});
        part_ = &parts_.back();
    }

    void begin_region(const EventRecord &record) {
        close_open(record.time);
        next_id();
        push_part(record.words[1], record.argument, record.time, true);
        note_level(static_cast<uint32_t>(record.words[2]));
        open_ = Open::kFork;
    }

    bool end_region(const EventRecord &record) {
        if (!part_->primary || part_->id != record.words[1]) return false;
        close_open(record.time);
        const uint64_t duration = record.time - part_->begin;
        RegionSlot &ended = region();
        ended.n_instances++;
        ended.n_primary++;
        ended.wall_ticks += duration;
        ended.capacity_ticks += duration * record.argument;
        ended.max_team_size = std::max<uint64_t>(ended.max_team_size, record.argument);
        part_ = part_->outer;
        if (part_->id) region().nested_ticks += duration;
        enter_current(record.time);
        return true;
    }

    void note_level(uint32_t level) {
        if (region().level == 0) region().level = level;
    }

    void begin_implicit(const EventRecord &record) {
        const uint64_t id = record.words[1];
        if (id != 0 && part_->id != id) { // a worker joins
            const RecordedRegion &joined = shared_.index.region(id);
            if (joined.construct >= account_.regions.size()) return;
            push_part(id, joined.construct, joined.begin, false);
            region().n_instances++;
            note_level(joined.level);
            mark_ = joined.begin;
            close(State::kSync, record.time);
        } else {
            close_open(record.time);
        }
        part_->team_size = record.argument;
        push(next_id(), 0);
        enter_current(record.time);
    }

    void leave_region() {
        const RecordedRegion &left = shared_.index.region(part_->id);
        close_at_end(left.last_arrival, left.had_tasks, left.end ? left.end : std::max(mark_, shared_.end));
        part_ = part_->outer;
        open_ = Open::kNone;
    }

private:
    std::deque<RegionPart> parts_;
};

} // namespace ompass
