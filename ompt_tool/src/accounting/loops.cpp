// SPDX-License-Identifier: Apache-2.0
// The events of loops and other constructs that share work.
#include "accounting/loops.h"

#include "log/process_log.h"

namespace ompass {

namespace {

void close_work_at(ThreadState &thread, uint64_t now) {
    const Works::Open &work = thread.works.open[--thread.works.depth];
    format::LoopSlot &loop = *work.loop;
    const uint64_t ticks = now - work.begin;
    thread.inside = now;
    loop.ticks += ticks;
    if (ticks > loop.max_ticks) loop.max_ticks = ticks;
    loop.n_chunks += work.n_chunks;
    loop.n_taken += work.n_taken;
    if (work.is_shared && thread.region->implicit == work.task) {
        thread.region->loop = &loop;
        thread.region->loop_end = now;
    }
    if (thread.tracing) thread.log.timed(format::kWorkEnd, loop.id, now, work.n_chunks, work.n_taken);
}

// Whoever gets a single and whoever does not are in the same construct.
uint32_t family(uint32_t work) { return work == format::kWorkOtherSingle ? format::kWorkSingle : work; }

} // namespace

void begin_work(ThreadState &thread, uint32_t work, uint64_t n_iterations, const void *address) {
    const uint64_t now = clock::now();
    const bool is_shared = format::is_shared(work);
    if (is_shared) end_unreported_works(thread, now);
    if (thread.works.depth == Works::kMaxDepth) return;
    const EnteredRegion &region = *thread.region;
    format::LoopSlot &loop = address || !region.instance
                                 ? thread.places.loop(address, family(work))
                                 : thread.places.loop_of(process_log::construct_at(format::DefinitionKind::kLoop,
                                                                                   region.construct, family(work)));
    thread.works.open[thread.works.depth++] = {&loop, thread.current, now, 0, 0, is_shared};
    const bool leads = !is_shared || region.primary || !region.instance;
    const bool has_iterations = family(work) != format::kWorkSingle && work != format::kWorkMasked;
    thread.inside = now;
    loop.n_entered++;
    loop.n_led += leads;
    loop.n_iterations += leads && has_iterations ? n_iterations : 0;
    if (thread.tracing) thread.log.timed(format::kWorkBegin, loop.id, now, has_iterations ? n_iterations : 0);
}

void end_work(ThreadState &thread, uint32_t work) {
    if (thread.works.depth == 0) return;
    const Works::Open &open = thread.works.open[thread.works.depth - 1];
    if (open.task == thread.current && open.is_shared == format::is_shared(work)) close_work_at(thread, clock::now());
}

void end_unreported_works(ThreadState &thread, uint64_t now) {
    while (thread.works.depth && thread.works.open[thread.works.depth - 1].task == thread.current)
        close_work_at(thread, now);
}

} // namespace ompass
