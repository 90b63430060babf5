// SPDX-License-Identifier: Apache-2.0
// Divides taskloops into chunks and creates their tasks, because the runtime would queue the chunks itself.
#include <algorithm>
#include <cstring>

#include "runtime/libomp_abi.h"
#include "runtime/loop_division.h"
#include "scheduler/scheduler.h"
#include "scheduler/throttle.h"

namespace omp_ext {

namespace {

uint64_t count_iterations(uint64_t lower, uint64_t upper, int64_t stride) {
    if (stride == 1) return upper - lower + 1;
    if (stride < 0) return (lower - upper) / (uint64_t{0} - static_cast<uint64_t>(stride)) + 1;
    return (upper - lower) / static_cast<uint64_t>(stride) + 1;
}

// The chunks of a loop that have not begun. Knows the places of their bounds in a task's block.
struct Chunks {
    const Division &division;
    const ptrdiff_t lower_offset, upper_offset;
    const uint64_t stride;
    uint64_t start;
    uint64_t n_begun = 0;

    bool are_left() const { return n_begun < division.n_chunks; }
    // Writes the bounds of the next chunk. Returns true if it is the last.
    bool begin(void *block) {
        const bool is_last = n_begun + 1 == division.n_chunks;
        const uint64_t size = is_last ? division.last_size : division.size + (n_begun < division.n_longer);
        const uint64_t end = start + (size - 1) * stride;
        auto *bytes = static_cast<char *>(block);
        *reinterpret_cast<uint64_t *>(bytes + lower_offset) = start;
        *reinterpret_cast<uint64_t *>(bytes + upper_offset) = end;
        start = end + stride;
        n_begun++;
        return is_last;
    }
};

// Copies the private variables of a task into tasks of the same construct.
class Privates {
public:
    explicit Privates(const Task &pattern)
        : from_(static_cast<const char *>(pattern.block) + sizeof(abi::Block)),
          bytes_(pattern.block_bytes - sizeof(abi::Block)) {}

    // Copies pieces of constant size, because there are few variables. The last piece overlaps the one before.
    void copy_to(const Task &task) const {
        char *to = static_cast<char *>(task.block) + sizeof(abi::Block);
        if (bytes_ < kPiece) {
            memcpy(to, from_, bytes_);
            return;
        }
        for (size_t i = 0; i < bytes_ - kPiece; i += kPiece) memcpy(to + i, from_ + i, kPiece);
        memcpy(to + bytes_ - kPiece, from_ + bytes_ - kPiece, kPiece);
    }

private:
    static constexpr size_t kPiece = 16;

    const char *from_;
    const size_t bytes_;
};

// Runs chunks on this thread, all in the block of `chunk`, as long as the scheduler prefers that to queueing.
void run_here(Worker &worker, const Task &pattern, Task &chunk, Chunks &chunks) {
    const Privates privates(pattern);
    const bool is_alone = worker.team->n_workers == 1;
    bool may_continue = true;
    uint32_t n_runs = 0;
    while (may_continue && chunks.are_left() && n_runs < UINT32_MAX) {
        const uint32_t most = is_alone ? UINT32_MAX - n_runs : std::max(worker.pace.batch, kPaceBatch);
        const uint64_t n_before = n_created(worker);
        uint32_t n = 0;
        {
            PlainExecution execution(worker, chunk);
            do {
                privates.copy_to(chunk);
                chunks.begin(chunk.block);
                chunk.child_domain = kNoDomain;
                chunk.has_short_children = false;
                execution.run();
                n++;
                // Tests few fields if the chunk created no tasks.
                may_continue = n_created(worker) == n_before ? !(chunk.flags || chunk.proxy) : is_free(chunk);
            } while (may_continue && n < most && chunks.are_left());
        }
        n_runs += n;
        if (is_alone || n < most) continue;
        note_runs(worker, pattern.code, n, n_created(worker) - n_before);
        may_continue = may_continue && worker.current->has_short_children;
    }
    end_repeated(worker, chunk, n_runs);
}

} // namespace

namespace abi {

void run_loop(Worker &worker, void *block, bool is_deferred, uint64_t *lower, uint64_t *upper, int64_t stride,
              int32_t schedule, uint64_t parameter, bool is_strict, void *duplicate_privates) {
    Task &pattern = *task_of(block);
    auto *copy_privates = reinterpret_cast<void (*)(void *copy, void *original, int32_t is_last)>(duplicate_privates);
    const uint64_t n_iterations = count_iterations(*lower, *upper, stride); // 0: upper == lower - 1
    Division division = {};
    if (n_iterations > 0) division = divide(n_iterations, schedule, parameter, is_strict, worker.team->n_workers);
    Chunks chunks{division, reinterpret_cast<char *>(lower) - static_cast<char *>(block),
                  reinterpret_cast<char *>(upper) - static_cast<char *>(block), static_cast<uint64_t>(stride), *lower};
    while (chunks.are_left()) {
        const bool runs_here = !copy_privates && may_repeat(worker, pattern);
        Task *chunk = duplicate(worker, pattern);
        if (runs_here && is_light(*chunk)) {
            run_here(worker, pattern, *chunk, chunks);
            continue;
        }
        const bool is_last = chunks.begin(chunk->block);
        if (copy_privates) copy_privates(chunk->block, block, is_last);
        if (is_deferred)
            submit(worker, *chunk);
        else
            submit_at_once(worker, *chunk);
    }
    discard(worker, pattern);
}

} // namespace abi

using namespace abi;

OMP_EXT_HOOK(void, __kmpc_taskloop,
             (void *location, int32_t thread, void *block, int32_t if_value, uint64_t *lower, uint64_t *upper,
              int64_t stride, int32_t nogroup, int32_t schedule, uint64_t parameter, void *duplicate_privates),
             (location, thread, block, if_value, lower, upper, stride, nogroup, schedule, parameter,
              duplicate_privates)) {
    Worker *worker = this_worker;
    if (!worker || !is_ours(block)) {
        if (worker) worker->current->flags |= kHasForeign;
        return real___kmpc_taskloop()(location, number_of_this_thread(thread), block, if_value, lower, upper, stride,
                                      nogroup, schedule, parameter, duplicate_privates);
    }
    if (!nogroup) __kmpc_taskgroup(location, thread);
    run_loop(*worker, block, if_value != 0, lower, upper, stride, schedule, parameter, false, duplicate_privates);
    if (!nogroup) __kmpc_end_taskgroup(location, thread);
}

OMP_EXT_HOOK(void, __kmpc_taskloop_5,
             (void *location, int32_t thread, void *block, int32_t if_value, uint64_t *lower, uint64_t *upper,
              int64_t stride, int32_t nogroup, int32_t schedule, uint64_t parameter, int32_t is_strict,
              void *duplicate_privates),
             (location, thread, block, if_value, lower, upper, stride, nogroup, schedule, parameter, is_strict,
              duplicate_privates)) {
    Worker *worker = this_worker;
    if (!worker || !is_ours(block)) {
        if (worker) worker->current->flags |= kHasForeign;
        return real___kmpc_taskloop_5()(location, number_of_this_thread(thread), block, if_value, lower, upper, stride,
                                        nogroup, schedule, parameter, is_strict, duplicate_privates);
    }
    if (!nogroup) __kmpc_taskgroup(location, thread);
    run_loop(*worker, block, if_value != 0, lower, upper, stride, schedule, parameter, is_strict != 0,
             duplicate_privates);
    if (!nogroup) __kmpc_end_taskgroup(location, thread);
}

} // namespace omp_ext
