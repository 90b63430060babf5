// SPDX-License-Identifier: Apache-2.0
// Locks and critical sections, if waits may be suspended. The holder of a lock may be suspended on the very thread that
// wants the lock. Or the holder may wait for a task that only that thread may run. Either way the thread must not
// block, so a task that finds a lock taken is suspended. Each lock has a gate that tasks pass one at a time, because
// the runtime treats all tasks of a thread as the same owner. If waits are not suspended, the runtime does everything.
#include <unordered_map>

#include "runtime/libomp_abi.h"
#include "scheduler/inbox.h"
#include "scheduler/scheduler.h"
#include "scheduler/suspensions.h"

namespace omp_ext {

using namespace abi;

namespace {

constexpr int kTries = 200; // number of tries before a task is suspended; most locks are held briefly

// The gate of one lock or critical section, found by its address; never freed.
class Gate {
public:
    // A task at the gate, and whether the lock nests. After a lock is destroyed, one of the other kind may be at its
    // address.
    struct Visitor {
        const Task *task;
        bool nests;
    };

    // kAgain: the task was inside already. If the lock nests, the task must leave as often as it entered.
    enum Entry { kRefused, kEntered, kAgain };
    Entry try_enter(const Visitor &visitor) {
        lock_.lock();
        const Entry entry = admit(visitor);
        lock_.unlock();
        return entry;
    }

    struct Waiter {
        Visitor visitor;
        Suspension *suspension;
        Waiter *next;
    };
    // Queues the waiter and returns true if another task is inside; otherwise the waiter's task enters. A task that
    // leaves admits and resumes the first waiter.
    bool queue(Waiter &waiter) {
        lock_.lock();
        const bool is_refused = admit(waiter.visitor) == kRefused;
        if (is_refused) {
            waiter.next = nullptr;
            (first_ ? last_->next : first_) = &waiter;
            last_ = &waiter;
        }
        lock_.unlock();
        return is_refused;
    }

    // Returns true if the task has left. False if it is still inside a lock that nests, or entered before waits could
    // be suspended.
    bool leave(const Task *task) {
        Suspension *next = nullptr;
        lock_.lock();
        const bool has_left = inside_ == task && --n_entered_ == 0;
        if (has_left) {
            inside_ = nullptr;
            if (Waiter *waiter = first_) {
                first_ = waiter->next;
                admit(waiter->visitor);
                next = waiter->suspension;
            }
        }
        lock_.unlock();
        if (next) make_ready(*next);
        return has_left;
    }

private:
    Entry admit(const Visitor &visitor) {
        if (inside_ && inside_ != visitor.task) return kRefused;
        const Entry entry = inside_ ? kAgain : kEntered;
        // Counts only locks that nest. One entry into a critical section may call this function twice, because the
        // runtime's function may call another function that is hooked.
        n_entered_ = inside_ && visitor.nests ? n_entered_ + 1 : 1;
        inside_ = visitor.task;
        return entry;
    }

    SpinLock lock_;
    const Task *inside_ = nullptr;
    int n_entered_ = 0; // times that the task inside must leave
    Waiter *first_ = nullptr, *last_ = nullptr;
};

struct Turn final : Awaited {
    Gate &gate;
    Gate::Waiter waiter;

    Turn(Gate &its_gate, const Gate::Visitor &visitor) : gate(its_gate), waiter{visitor, nullptr, nullptr} {}
    bool is_over() override { return gate.try_enter(waiter.visitor) != Gate::kRefused; }
    bool arm(Suspension &suspension) override {
        waiter.suspension = &suspension;
        return gate.queue(waiter);
    }
};

SpinLock gates_lock;
std::unordered_map<const void *, Gate *> *gates = nullptr; // under gates_lock; null: there are no gates
std::atomic<int> n_gates{0};

Gate *find_gate(const void *address) {
    if (n_gates.load(std::memory_order_relaxed) == 0) return nullptr;
    gates_lock.lock();
    const auto found = gates->find(address);
    Gate *gate = found != gates->end() ? found->second : nullptr;
    gates_lock.unlock();
    return gate;
}

Gate &gate_of(const void *address) {
    gates_lock.lock();
    if (!gates) gates = new std::unordered_map<const void *, Gate *>;
    Gate *&gate = (*gates)[address];
    if (!gate) {
        gate = new Gate;
        note_other_waits();
        n_gates.fetch_add(1, std::memory_order_relaxed);
    }
    gates_lock.unlock();
    return *gate;
}

void enter(const void *address, bool nests = false) {
    Worker *worker = this_worker;
    if (!worker || !suspends_waits(*worker)) return;
    Gate &gate = gate_of(address);
    const Gate::Visitor visitor{worker->current, nests};
    for (int i = 0; i < kTries; i++) {
        const Gate::Entry entry = gate.try_enter(visitor);
        if (entry == Gate::kEntered) worker->n_locks++;
        if (entry != Gate::kRefused) return;
        SpinLock::pause();
    }
    Turn turn(gate, visitor);
    wait_suspended(*worker, turn);
    present_worker()->n_locks++;
}

// Returns false if another task is inside.
bool try_to_enter(const void *address, bool nests) {
    Worker *worker = this_worker;
    if (!worker || !suspends_waits(*worker)) return true;
    const Gate::Entry entry = gate_of(address).try_enter({worker->current, nests});
    if (entry == Gate::kEntered) worker->n_locks++;
    return entry != Gate::kRefused;
}

void leave(const void *address) {
    Worker *worker = this_worker;
    if (!worker) return;
    if (Gate *gate = find_gate(address))
        if (gate->leave(worker->current)) worker->n_locks--;
}

const char unnamed_critical = 0; // its address identifies the unnamed critical section of gcc

} // namespace

void abi::forget_gates() {
    gates = nullptr;
    n_gates.store(0, std::memory_order_relaxed);
    gates_lock.unlock();
}

OMP_EXT_HOOK(void, __kmpc_critical, (void *location, int32_t thread, void *name), (location, thread, name)) {
    enter(name);
    real___kmpc_critical()(location, number_of_this_thread(thread), name);
}

OMP_EXT_HOOK(void, __kmpc_critical_with_hint, (void *location, int32_t thread, void *name, uint32_t hint),
             (location, thread, name, hint)) {
    enter(name);
    real___kmpc_critical_with_hint()(location, number_of_this_thread(thread), name, hint);
}

OMP_EXT_HOOK(void, __kmpc_end_critical, (void *location, int32_t thread, void *name), (location, thread, name)) {
    real___kmpc_end_critical()(location, number_of_this_thread(thread), name);
    leave(name);
}

OMP_EXT_HOOK(void, GOMP_critical_start, (), ()) {
    enter(&unnamed_critical);
    real_GOMP_critical_start()();
}

OMP_EXT_HOOK(void, GOMP_critical_end, (), ()) {
    real_GOMP_critical_end()();
    leave(&unnamed_critical);
}

OMP_EXT_HOOK(void, GOMP_critical_name_start, (void **name), (name)) {
    enter(name);
    real_GOMP_critical_name_start()(name);
}

OMP_EXT_HOOK(void, GOMP_critical_name_end, (void **name), (name)) {
    real_GOMP_critical_name_end()(name);
    leave(name);
}

// Defines the hooks of the functions of a lock. `suffix`: empty for C, an underscore for Fortran.
#define OMP_EXT_LOCK_HOOKS(kind, suffix, nests)                                                                        \
    OMP_EXT_HOOK(void, omp_set_##kind##suffix, (void *lock), (lock)) {                                                 \
        enter(lock, nests);                                                                                            \
        real_omp_set_##kind##suffix()(lock);                                                                           \
    }                                                                                                                  \
    OMP_EXT_HOOK(int, omp_test_##kind##suffix, (void *lock), (lock)) {                                                 \
        if (!try_to_enter(lock, nests)) return 0;                                                                      \
        const int result = real_omp_test_##kind##suffix()(lock);                                                       \
        if (result == 0) leave(lock);                                                                                  \
        return result;                                                                                                 \
    }                                                                                                                  \
    OMP_EXT_HOOK(void, omp_unset_##kind##suffix, (void *lock), (lock)) {                                               \
        real_omp_unset_##kind##suffix()(lock);                                                                         \
        leave(lock);                                                                                                   \
    }
OMP_EXT_LOCK_HOOKS(lock, , false)
OMP_EXT_LOCK_HOOKS(lock, _, false)
OMP_EXT_LOCK_HOOKS(nest_lock, , true)
OMP_EXT_LOCK_HOOKS(nest_lock, _, true)

} // namespace omp_ext
