// SPDX-License-Identifier: Apache-2.0
// Replaces taskwaits with the dependences that declared data require.
#include <algorithm>
#include <map>
#include <utility>

#include "rewriting.h"
#include "transform.h"

namespace ompass::simulation {

namespace {

// The last tasks that touched each byte. Tasks of one phase may touch the same data without waiting for each other.
class LastUsers {
public:
    // Calls depends(other) for each task of an earlier phase for which `task`, in this phase, must wait.
    template <typename Depends>
    void touch(const DataAccess &access, uint32_t task, uint32_t phase, Depends depends) {
        const uint64_t end = access.address + access.bytes;
        cut(access.address);
        cut(end);
        for (uint64_t begin = access.address; begin < end;) {
            auto found = ranges_.lower_bound(begin);
            if (found == ranges_.end() || found->first >= end) {
                ranges_[begin].end = end;
            } else if (found->first > begin) {
                ranges_[begin].end = found->first;
            }
            Range &range = ranges_[begin];
            begin = range.end;
            range.begin_phase(phase);
            for (const uint32_t writer : range.before.writers) depends(writer);
            if (access.write)
                for (const uint32_t reader : range.before.readers) depends(reader);
            std::vector<uint32_t> &users = access.write ? range.now.writers : range.now.readers;
            if (users.empty() || users.back() != task) users.push_back(task);
        }
    }

private:
    struct Users {
        std::vector<uint32_t> writers, readers;
    };
    struct Range {
        uint64_t end = 0;
        uint32_t phase = 0;
        Users before, now; // before: tasks of earlier phases for which tasks of this phase must wait
        void begin_phase(uint32_t next) {
            if (phase == next) return;
            phase = next;
            if (!now.writers.empty())
                before = std::move(now);
            else
                before.readers.insert(before.readers.end(), now.readers.begin(), now.readers.end());
            now = {};
        }
    };
    void cut(uint64_t at) {
        auto next = ranges_.upper_bound(at);
        if (next == ranges_.begin()) return;
        auto &[begin, range] = *std::prev(next);
        if (begin == at || range.end <= at) return;
        Range rest = range;
        range.end = at;
        ranges_[at] = std::move(rest);
    }
    std::map<uint64_t, Range> ranges_; // by first byte
};

// Returns the accesses of each descendant of the construct's tasks, by task. Each list includes the accesses of the
// task's own descendants.
std::vector<std::vector<uint32_t>> accesses_below(const TaskProgram &program, uint16_t construct) {
    std::vector<bool> below(program.tasks.size());
    for (uint32_t task = 1; task < program.tasks.size(); task++) {
        const ProgramTask &one = program.tasks[task];
        below[task] = !(one.flags & ProgramTask::kImplicit) &&
                      (below[one.creator] || program.tasks[one.creator].construct == construct);
    }
    std::vector<std::vector<uint32_t>> touched(program.tasks.size());
    for (auto task = static_cast<uint32_t>(program.tasks.size()); task-- > 1;) {
        if (!below[task]) continue;
        for (uint32_t op = program.tasks[task].first_op; program.operations[op].kind() != OpKind::kEnd; op++)
            if (program.operations[op].kind() == OpKind::kAccess)
                touched[task].push_back(static_cast<uint32_t>(program.operations[op].value()));
        if (!below[program.tasks[task].creator]) continue;
        std::vector<uint32_t> &above = touched[program.tasks[task].creator];
        above.insert(above.end(), touched[task].begin(), touched[task].end());
    }
    return touched;
}

} // namespace

TaskProgram depend_on_data(const TaskProgram &program, uint16_t construct) {
    const std::vector<std::vector<uint32_t>> touched = accesses_below(program, construct);
    std::vector<Dependence> added;
    TaskProgram made = rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        if (program.tasks[task].construct != construct) return;
        const auto is_wait = [](Operation operation) { return operation.kind() == OpKind::kTaskwait; };
        const auto last = std::ranges::find_if(operations.rbegin(), operations.rend(), is_wait);
        if (last == operations.rend()) return;
        const auto declares = [&](Operation operation) {
            return operation.kind() == OpKind::kCreate &&
                   !(program.tasks[operation.task()].flags & ProgramTask::kInline) &&
                   !touched[operation.task()].empty();
        };
        const auto last_wait = static_cast<size_t>(last.base() - operations.begin()) - 1;
        // True if up to the next wait the task only works and creates tasks that declare their data.
        const auto is_known = [&](size_t i) {
            for (; i < operations.size() && !is_wait(operations[i]); i++)
                if (!declares(operations[i]) && !operations[i].is_work()) return false;
            return true;
        };
        Operations kept;
        LastUsers users;
        uint32_t phase = 1;
        bool known = is_known(0);
        for (size_t i = 0; i < operations.size(); i++) {
            const Operation operation = operations[i];
            if (is_wait(operation)) {
                const bool known_before = std::exchange(known, is_known(i + 1));
                phase++;
                if (known && known_before && i < last_wait) continue;
                users = {};
            }
            kept.push_back(operation);
            if (!declares(operation)) continue;
            for (const uint32_t access : touched[operation.task()])
                users.touch(program.accesses[access], operation.task(), phase, [&](uint32_t before) {
                    if (before < operation.task()) added.push_back({before, operation.task()});
                });
        }
        operations.swap(kept);
    });
    made.dependences.insert(made.dependences.end(), added.begin(), added.end());
    sort_dependences(made.dependences);
    return made;
}

} // namespace ompass::simulation
