// SPDX-License-Identifier: Apache-2.0
// Ordered loops. A thread that has the turn may wait for a task, and perhaps only a thread that waits for its own turn
// can run that task. To avoid this deadlock, the library suspends a task until its turn; the runtime then lets the task
// pass at once. This file owns the order of turns; the runtime distributes the iterations.
//
// A turn is a value of the loop variable and advances by the loop's stride. In doacross loops (`ordered(n)`, sink and
// source) a turn is the number of an iteration of the whole nest.
#include <cstdlib>

#include "runtime/libomp_abi.h"
#include "scheduler/scheduler.h"
#include "scheduler/suspensions.h"

namespace omp_ext {

// The bounds of one loop of a doacross nest: the compiler's kmp_dim.
struct DoacrossBounds {
    int64_t first, last, stride;

    uint64_t n_iterations() const { return number_of(last) + 1; }
    bool contains(int64_t value) const {
        return stride > 0 ? value >= first && value <= last : value <= first && value >= last;
    }
    uint64_t number_of(int64_t value) const {
        const auto from = static_cast<uint64_t>(first), to = static_cast<uint64_t>(value);
        return stride > 0 ? (to - from) / static_cast<uint64_t>(stride)
                          : (from - to) / (0 - static_cast<uint64_t>(stride));
    }
};

// One loop of a region. All workers reach the loops of a region in the same order, so a number identifies each loop.
class OrderedLoop {
public:
    // A suspended task that waits for a turn or, in a doacross loop, for the post of an iteration.
    struct Waiter {
        uint64_t turn;
        Suspension *suspension;
        Waiter *next;
    };

    OrderedLoop(uint64_t its_number, int n_workers, bool gated)
        : number(its_number), is_gated(gated), n_to_leave(n_workers) {}
    ~OrderedLoop() {
        free(posted_);
        free(bounds_);
    }
    OrderedLoop(const OrderedLoop &) = delete;
    OrderedLoop &operator=(const OrderedLoop &) = delete;

    // Called by the first worker, before others see the loop.
    void order_from(uint64_t first) { next_ = first; }
    void expect_posts(int n, const DoacrossBounds *bounds) {
        n_bounds_ = n;
        bounds_ = static_cast<DoacrossBounds *>(malloc(static_cast<size_t>(n) * sizeof *bounds));
        uint64_t n_iterations = 1;
        for (int i = 0; bounds_ && i < n; i++) n_iterations *= (bounds_[i] = bounds[i]).n_iterations();
        if (bounds_)
            posted_ = static_cast<uint8_t *>(calloc(n_iterations / 8 + 1, 1)); // untouched pages take no memory
        if (!posted_) is_gated = false;
    }
    // Finds the number of an iteration. Returns false if there is no such iteration, and so nothing to wait for.
    bool number_of(const int64_t *iteration, uint64_t &number_there) const {
        number_there = 0;
        for (int i = 0; i < n_bounds_; i++) {
            if (!bounds_[i].contains(iteration[i])) return false;
            number_there = number_there * bounds_[i].n_iterations() + bounds_[i].number_of(iteration[i]);
        }
        return true;
    }

    bool has_come(uint64_t turn) {
        lock_.lock();
        const bool is_there = is_there_now(turn);
        lock_.unlock();
        return is_there;
    }
    // Queues the waiter and returns true if its turn has not come. The thread that moves on to this turn, or posts it,
    // resumes the waiter.
    bool queue(Waiter &waiter) {
        lock_.lock();
        const bool waits = !is_there_now(waiter.turn);
        if (waits) {
            waiter.next = first_;
            first_ = &waiter;
        }
        lock_.unlock();
        return waits;
    }
    void move_on(uint64_t by) {
        lock_.lock();
        next_ += by;
        resume_and_unlock();
    }
    void post(uint64_t iteration) {
        lock_.lock();
        posted_[iteration / 8] |= static_cast<uint8_t>(1u << iteration % 8);
        resume_and_unlock();
    }

    const uint64_t number;
    bool is_gated; // false: the runtime orders the loop
    int n_to_leave; // workers that have not left; like `following`, under the team's loops_lock
    OrderedLoop *following = nullptr;

private:
    bool is_there_now(uint64_t turn) const {
        return posted_ ? (posted_[turn / 8] >> turn % 8 & 1) != 0 : turn == next_;
    }
    void resume_and_unlock() {
        Waiter *ready = nullptr;
        for (Waiter **link = &first_; *link;) {
            Waiter *waiter = *link;
            if (!is_there_now(waiter->turn)) {
                link = &waiter->next;
                continue;
            }
            *link = waiter->next;
            waiter->next = ready;
            ready = waiter;
        }
        lock_.unlock();
        while (ready) {
            Waiter *waiter = ready;
            ready = waiter->next; // the waiter is gone once resumed
            make_ready(*waiter->suspension);
        }
    }

    SpinLock lock_;
    uint64_t next_ = 0; // the present turn
    int n_bounds_ = 0;
    DoacrossBounds *bounds_ = nullptr;
    uint8_t *posted_ = nullptr; // a bit for each iteration of a doacross loop
    Waiter *first_ = nullptr;
};

using namespace abi;

namespace {

struct Turn final : Awaited {
    OrderedLoop &loop;
    OrderedLoop::Waiter waiter;

    Turn(OrderedLoop &its_loop, uint64_t turn) : loop(its_loop), waiter{turn, nullptr, nullptr} {}
    bool is_over() override { return loop.has_come(waiter.turn); }
    bool arm(Suspension &suspension) override {
        waiter.suspension = &suspension;
        return loop.queue(waiter);
    }
};

// Enters the worker's next loop. Calls `prepare(loop)` if no other worker has entered it.
template <typename Prepare>
void enter_loop(Worker &worker, Prepare &&prepare) {
    Team &team = *worker.team;
    const uint64_t number = ++worker.loop.n_loops;
    team.loops_lock.lock();
    OrderedLoop **link = &team.loops;
    while (*link && (*link)->number != number) link = &(*link)->following;
    if (!*link) {
        *link = new OrderedLoop(number, team.n_workers, suspends_waits(worker));
        prepare(**link);
    }
    worker.loop.present = *link;
    team.loops_lock.unlock();
}

void leave_loop(Worker &worker) {
    Team &team = *worker.team;
    OrderedLoop *left = worker.loop.present;
    worker.loop.present = nullptr;
    team.loops_lock.lock();
    if (--left->n_to_leave == 0) {
        OrderedLoop **link = &team.loops;
        while (*link != left) link = &(*link)->following;
        *link = left->following;
    } else {
        left = nullptr;
    }
    team.loops_lock.unlock();
    delete left;
}

// Returns the calling thread's present loop if it is gated, else null.
OrderedLoop *present_loop() {
    Worker *worker = this_worker;
    OrderedLoop *loop = worker ? worker->loop.present : nullptr;
    return loop && loop->is_gated ? loop : nullptr;
}

void wait_for(OrderedLoop &loop, uint64_t turn) {
    if (loop.has_come(turn)) return;
    Turn awaited(loop, turn);
    wait_suspended(*this_worker, awaited);
}

// ---------------------------------------------------------------- loops with one turn after another

bool is_ordered(int32_t schedule) { return (schedule & 0x40) != 0; }

void begin_ordered(uint64_t first, int64_t stride) {
    Worker *worker = this_worker;
    if (!worker) return;
    enter_loop(*worker, [=](OrderedLoop &loop) { loop.order_from(first); });
    worker->loop.is_doacross = false;
    worker->loop.stride = stride;
    worker->loop.n_to_pass = 0;
    worker->loop.has_passed = false;
}

void wait_for_turn() {
    if (OrderedLoop *loop = present_loop()) wait_for(*loop, this_worker->loop.turn);
}

void pass(OrderedLoop &loop, uint64_t n) {
    LoopPart &part = this_worker->loop;
    const uint64_t by = n * static_cast<uint64_t>(part.stride);
    part.turn += by;
    part.n_to_pass -= n;
    loop.move_on(by);
}

// Passes the remaining turns. Called before the runtime gives the thread its next iterations. In gcc's loops the
// runtime has already passed the turns of iterations without an ordered region.
void pass_the_rest() {
    OrderedLoop *loop = present_loop();
    if (loop && this_worker->loop.n_to_pass > 0) pass(*loop, this_worker->loop.n_to_pass);
}
// Notes the next iterations of the thread, `first` to `last`. Called after the runtime gave them to the thread.
void take_iterations(bool are_some, uint64_t first, uint64_t last) {
    Worker *worker = this_worker;
    if (!worker || !worker->loop.present || worker->loop.is_doacross) return;
    if (!are_some) return leave_loop(*worker);
    const DoacrossBounds iterations{static_cast<int64_t>(first), static_cast<int64_t>(last), worker->loop.stride};
    worker->loop.turn = first;
    worker->loop.n_to_pass = iterations.n_iterations();
}

} // namespace

#define OMP_EXT_ORDERED_LOOP(suffix, Value, Stride)                                                                    \
    OMP_EXT_HOOK(                                                                                                      \
        void, __kmpc_dispatch_init_##suffix,                                                                           \
        (void *location, int32_t thread, int32_t schedule, Value first, Value last, Stride stride, Stride chunk),      \
        (location, thread, schedule, first, last, stride, chunk)) {                                                    \
        if (is_ordered(schedule)) begin_ordered(static_cast<uint64_t>(first), stride);                                 \
        real___kmpc_dispatch_init_##suffix()(location, thread, schedule, first, last, stride, chunk);                  \
    }                                                                                                                  \
    OMP_EXT_HOOK(int, __kmpc_dispatch_next_##suffix,                                                                   \
                 (void *location, int32_t thread, int32_t *is_last, Value *first, Value *last, Stride *stride),        \
                 (location, thread, is_last, first, last, stride)) {                                                   \
        pass_the_rest();                                                                                               \
        const int are_some = real___kmpc_dispatch_next_##suffix()(location, thread, is_last, first, last, stride);     \
        take_iterations(are_some != 0, static_cast<uint64_t>(*first), static_cast<uint64_t>(*last));                   \
        return are_some;                                                                                               \
    }                                                                                                                  \
    OMP_EXT_HOOK(void, __kmpc_dispatch_fini_##suffix, (void *location, int32_t thread), (location, thread)) {          \
        OrderedLoop *loop = present_loop();                                                                            \
        const bool must_pass = loop && !this_worker->loop.is_doacross && !this_worker->loop.has_passed;                \
        if (must_pass) wait_for_turn();                                                                                \
        real___kmpc_dispatch_fini_##suffix()(location, thread);                                                        \
        if (must_pass) pass(*loop, 1);                                                                                 \
        if (loop) this_worker->loop.has_passed = false;                                                                \
    }
OMP_EXT_ORDERED_LOOP(4, int32_t, int32_t)
OMP_EXT_ORDERED_LOOP(4u, uint32_t, int32_t)
OMP_EXT_ORDERED_LOOP(8, int64_t, int64_t)
OMP_EXT_ORDERED_LOOP(8u, uint64_t, int64_t)

// The runtime calls these for gcc's regions, too.
OMP_EXT_HOOK(void, __kmpc_ordered, (void *location, int32_t thread), (location, thread)) {
    wait_for_turn();
    real___kmpc_ordered()(location, thread);
}

OMP_EXT_HOOK(void, __kmpc_end_ordered, (void *location, int32_t thread), (location, thread)) {
    real___kmpc_end_ordered()(location, thread);
    if (OrderedLoop *loop = present_loop()) {
        pass(*loop, 1);
        this_worker->loop.has_passed = true;
    }
}

// gcc's code takes its first iterations when a loop begins (_start), and more after it has passed the turns of all its
// iterations so far (_next). Both functions call __kmpc_dispatch_next_8 or _8u.
#define OMP_EXT_GOMP_ORDERED_LOOP(name, Value, parameters, arguments, stride)                                          \
    OMP_EXT_HOOK(bool, name##_start, parameters, arguments) {                                                          \
        begin_ordered(static_cast<uint64_t>(first), stride);                                                           \
        return real_##name##_start() arguments;                                                                        \
    }                                                                                                                  \
    OMP_EXT_HOOK(bool, name##_next, (Value * mine, Value * end_of_mine), (mine, end_of_mine)) {                        \
        if (present_loop() && this_worker->loop.n_to_pass > 0) wait_for_turn();                                        \
        return real_##name##_next()(mine, end_of_mine);                                                                \
    }
#define OMP_EXT_GOMP_ORDERED_LOOPS(schedule)                                                                           \
    OMP_EXT_GOMP_ORDERED_LOOP(GOMP_loop_ordered_##schedule, long,                                                      \
                              (long first, long end, long step, long chunk, long *mine, long *end_of_mine),            \
                              (first, end, step, chunk, mine, end_of_mine), step)                                      \
    OMP_EXT_GOMP_ORDERED_LOOP(GOMP_loop_ull_ordered_##schedule, Unsigned,                                              \
                              (bool is_up, Unsigned first, Unsigned end, Unsigned step, Unsigned chunk,                \
                               Unsigned *mine, Unsigned *end_of_mine),                                                 \
                              (is_up, first, end, step, chunk, mine, end_of_mine), static_cast<int64_t>(step))
using Unsigned = unsigned long long;
OMP_EXT_GOMP_ORDERED_LOOPS(static)
OMP_EXT_GOMP_ORDERED_LOOPS(dynamic)
OMP_EXT_GOMP_ORDERED_LOOPS(guided)
OMP_EXT_GOMP_ORDERED_LOOP(GOMP_loop_ordered_runtime, long,
                          (long first, long end, long step, long *mine, long *end_of_mine),
                          (first, end, step, mine, end_of_mine), step)
OMP_EXT_GOMP_ORDERED_LOOP(GOMP_loop_ull_ordered_runtime, Unsigned,
                          (bool is_up, Unsigned first, Unsigned end, Unsigned step, Unsigned *mine,
                           Unsigned *end_of_mine),
                          (is_up, first, end, step, mine, end_of_mine), static_cast<int64_t>(step))

// ---------------------------------------------------------------- doacross loops

OMP_EXT_HOOK(void, __kmpc_doacross_init, (void *location, int32_t thread, int32_t n, const DoacrossBounds *bounds),
             (location, thread, n, bounds)) {
    if (Worker *worker = this_worker) {
        enter_loop(*worker, [=](OrderedLoop &loop) {
            if (loop.is_gated) loop.expect_posts(n, bounds);
        });
        worker->loop.is_doacross = true;
        worker->loop.n_to_pass = 0;
    }
    real___kmpc_doacross_init()(location, thread, n, bounds);
}

OMP_EXT_HOOK(void, __kmpc_doacross_wait, (void *location, int32_t thread, const int64_t *iteration),
             (location, thread, iteration)) {
    uint64_t number = 0;
    if (OrderedLoop *loop = present_loop(); loop && loop->number_of(iteration, number)) wait_for(*loop, number);
    real___kmpc_doacross_wait()(location, thread, iteration);
}

OMP_EXT_HOOK(void, __kmpc_doacross_post, (void *location, int32_t thread, const int64_t *iteration),
             (location, thread, iteration)) {
    real___kmpc_doacross_post()(location, thread, iteration);
    uint64_t number = 0;
    if (OrderedLoop *loop = present_loop(); loop && loop->number_of(iteration, number)) loop->post(number);
}

OMP_EXT_HOOK(void, __kmpc_doacross_fini, (void *location, int32_t thread), (location, thread)) {
    if (Worker *worker = this_worker; worker && worker->loop.present && worker->loop.is_doacross) leave_loop(*worker);
    real___kmpc_doacross_fini()(location, thread);
}

} // namespace omp_ext
