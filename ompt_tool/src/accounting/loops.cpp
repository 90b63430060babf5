// SPDX-License-Identifier: Apache-2.0
// The events of loops and other worksharing constructs.
#include "accounting/loops.h"

#include "accounting/calls.h"

namespace ompass {

namespace {

void close_loop(ThreadState &thread, uint64_t now) {
    const OpenLoops::Open &open = thread.loops.open[--thread.loops.depth];
    format::LoopSlot &loop = *open.loop;
    const uint64_t ticks = now - open.begin;
    thread.last_inner_event = now;
    loop.ticks += ticks;
    if (ticks > loop.max_ticks) loop.max_ticks = ticks;
    loop.n_chunks += open.n_chunks;
    loop.n_taken += open.n_taken;
    if (open.is_shared && thread.region->implicit == open.task) {
        thread.region->loop = &loop;
        thread.region->loop_end = now;
        thread.region->loop_ticks = ticks;
    }
    if (thread.tracing) thread.log.timed(format::kWorkEnd, loop.id, now, open.n_chunks, open.n_taken);
}

// Returns the kind of the construct. OMPT reports a `single` construct under two kinds: one on the thread that runs it,
// another on the other threads.
uint32_t family(uint32_t work) { return work == format::kWorkOtherSingle ? format::kWorkSingle : work; }

} // namespace

void begin_loop(ThreadState &thread, uint32_t work, uint64_t n_iterations, const void *address) {
    const uint64_t now = clock::now();
    const bool is_shared = format::is_shared(work);
    if (is_shared) end_unreported_loops(thread, now);
    const EnteredRegion &region = *thread.region;
    const void *place =
        address || !region.instance ? place_of_call(thread, address) : process_log::at(region.construct);
    format::LoopSlot &loop = thread.places.loop(place, family(work));
    thread.loops.push({&loop, thread.current, now, 0, 0, is_shared});
    const bool leads = !is_shared || region.primary || !region.instance;
    const bool has_iterations = family(work) != format::kWorkSingle && work != format::kWorkMasked;
    thread.last_inner_event = now;
    loop.n_entered++;
    loop.n_led += leads;
    loop.n_iterations += leads && has_iterations ? n_iterations : 0;
    if (thread.tracing) thread.log.timed(format::kWorkBegin, loop.id, now, has_iterations ? n_iterations : 0);
}

void end_loop(ThreadState &thread, uint32_t work) {
    if (thread.loops.depth == 0) return;
    const OpenLoops::Open &open = thread.loops.open[thread.loops.depth - 1];
    if (open.task == thread.current && open.is_shared == format::is_shared(work)) close_loop(thread, clock::now());
}

void end_unreported_loops(ThreadState &thread, uint64_t now) {
    while (thread.loops.depth && thread.loops.open[thread.loops.depth - 1].task == thread.current)
        close_loop(thread, now);
}

} // namespace ompass
