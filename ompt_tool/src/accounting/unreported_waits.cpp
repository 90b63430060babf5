// SPDX-License-Identifier: Apache-2.0
#include "accounting/unreported_waits.h"

#include "accounting/calls.h"
#include "accounting/held_tasks.h"
#include "accounting/waits.h"

namespace ompass {

// A function of one compiler's interface may call a function of another's, which has its own wrapper. Only the outer
// call counts.
UnreportedCall::UnreportedCall(ThreadState *recording, uint32_t kind, const void *address)
    : thread_(recording), kind_(kind), address_(address) {
    if (!thread_) return;
    held_tasks::report_current(*thread_);
    if (thread_->in_unreported_call == thread_->current || thread_->header->open_state != format::kOpenWork ||
        thread_->current->creating) {
        thread_ = nullptr;
        return;
    }
    outer_ = std::exchange(thread_->in_unreported_call, thread_->current);
    begin_ = clock::now();
    // Counters must be read where the work ends. Taskyields are too short for that.
    if (__builtin_expect(thread_->has_counters && kind != format::kTaskyield, 0)) close_work(*thread_, begin_);
    was_dirty_ = thread_->work.dirty;
}

UnreportedCall::~UnreportedCall() {
    if (thread_) thread_->in_unreported_call = outer_;
}

// True if, during the call, no event closed a state interval, no timed record was written, and no untimed task ran.
bool UnreportedCall::is_uninterrupted() const {
    return !recorder::is_off() && thread_->counting && thread_->header->open_state == format::kOpenWork &&
           thread_->header->mark <= begin_ && thread_->work.dirty == was_dirty_ &&
           !(thread_->tracing && thread_->log.time() > begin_);
}

// True if the thread ran for at most kExitNanoseconds in [begin, end): long enough only to test a condition of the
// program. Preempted time does not count.
static bool is_short(const ThreadState &thread, uint64_t begin, uint64_t end) {
    if (end - begin <= thread.exit_ticks) return true;
    if (!has_off_cpu(thread, end)) return false;
    const format::OffCpuTicks off_cpu = thread.off_cpu.look_between(begin, end);
    return end - begin <= off_cpu.preempted + thread.exit_ticks;
}

// Counts [begin, now) as a wait for a lock.
static void count_wait(ThreadState &thread, uint32_t kind, const void *address, uint64_t begin, uint64_t now) {
    begin_lock(thread, kind, address, begin);
    end_lock(thread, kind, 0, now);
}

void UnreportedCall::count() {
    if (!thread_) return;
    static const uint64_t shortest = clock::from_ns(format::kUnreportedNanoseconds);
    const uint64_t now = clock::now();
    if (!is_uninterrupted())
        thread_->polling.address = nullptr;
    else if (kind_ == format::kTaskyield)
        count_poll(now);
    else if (now - begin_ >= shortest)
        count_wait(*thread_, kind_, address_, begin_, now);
}

void UnreportedCall::count_poll(uint64_t now) {
    ThreadState &thread = *thread_;
    Polling &polling = thread.polling;
    const bool continues = polling.address == address_ && polling.task == thread.current &&
                           polling.mark == thread.header->mark && polling.time == thread.log.time() &&
                           !thread.work.dirty && is_short(thread, polling.end, begin_);
    if (!continues) polling = {address_, thread.current, begin_, 0, 0, 0, nullptr};
    if (polling.wait) {
        extend_lock(thread, kind_, *polling.wait, polling.begin, now);
    } else if (now - polling.begin > thread.exit_ticks) {
        count_wait(thread, kind_, address_, polling.begin, now);
        polling.wait = &thread.places.wait(place_of_call(thread, address_), format::kMutexWait | kind_);
    }
    polling.end = now;
    polling.mark = thread.header->mark;
    polling.time = thread.log.time();
}

} // namespace ompass
