// SPDX-License-Identifier: Apache-2.0
// Parallel regions: threads join the scheduler when a region begins and leave it when it ends.
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/libomp_abi.h"
#include "scheduler/scheduler.h"
#include "tools/observer.h"

namespace omp_ext {

namespace abi {

Worker *begin_part(const void *key, int number, int32_t runtime_thread) {
    // The library must not slow programs without tasks, for example by a second barrier.
    if (!may_create_tasks()) return nullptr;
    const int n_workers = omp_get_num_threads(), level = omp_get_level();
    if (level == 0) return nullptr; // the body of a teams construct
    // In a team of one, the runtime runs tasks at once, as the scheduler does. The scheduler is faster only for light
    // tasks.
    if (n_workers <= 1)
        return tasks_may_be_light.load(std::memory_order_relaxed) ? join_alone(runtime_thread) : nullptr;
    return join_team(key, number, n_workers, level, runtime_thread);
}

void end_part(Worker &worker, Worker *outer) {
    end_region(worker);
    leave_team(worker);
    this_worker = outer;
}

} // namespace abi

using namespace abi;

namespace {

// The bodies of teams constructs. Only the primary thread of a team runs the body, and the other threads wait for
// parallel regions inside it. Yet the runtime reports a region of all these threads. Within another region (a target
// construct that falls back to the host) omp_get_level() is not 0, and only the address identifies the body.
struct TeamsBody {
    void (*microtask)();
    const TeamsBody *next;
};
std::atomic<const TeamsBody *> teams_bodies{nullptr}; // never shrinks

bool is_teams_body(void (*microtask)()) {
    const TeamsBody *body = teams_bodies.load(std::memory_order_acquire);
    while (body && body->microtask != microtask) body = body->next;
    return body != nullptr;
}

void note_teams_body(void (*microtask)()) {
    if (is_teams_body(microtask)) return;
    auto *body = new TeamsBody{microtask, teams_bodies.load(std::memory_order_relaxed)};
    while (!teams_bodies.compare_exchange_weak(body->next, body, std::memory_order_release)) {}
}

} // namespace

// The named arguments fill the argument registers of x86-64 and aarch64; all others stay on the stack.
OMP_EXT_HOOK(void, __kmpc_fork_teams,
             (void *location, int32_t n_arguments, void (*microtask)(), void *first, void *second, void *third,
              void *fourth, void *fifth),
             (location, n_arguments, microtask, first, second, third, fourth, fifth)) {
    note_teams_body(microtask);
    OMPASS_JUMP real___kmpc_fork_teams()(location, n_arguments, microtask, first, second, third, fourth, fifth);
}

OMP_EXT_HOOK(void, __kmpc_fork_call,
             (void *location, int32_t n_arguments, void (*microtask)(), void *first, void *second, void *third,
              void *fourth, void *fifth),
             (location, n_arguments, microtask, first, second, third, fourth, fifth)) {
    adopt_noted_tasks();
    OMPASS_JUMP real___kmpc_fork_call()(location, n_arguments, microtask, first, second, third, fourth, fifth);
}

// Called by each thread of a team. `arguments`: the runtime's copy; its address identifies the team during the region.
OMP_EXT_HOOK(int32_t, __kmp_invoke_microtask,
             (void (*microtask)(), int32_t thread, int32_t number, int32_t n_arguments, void **arguments,
              void **exit_frame),
             (microtask, thread, number, n_arguments, arguments, exit_frame)) {
    const auto real = real___kmp_invoke_microtask();
    // In gcc programs `microtask` is a function of the runtime, and the threads join in libomp_gomp.cpp. Helper threads
    // of the runtime never join.
    if (is_in_runtime(reinterpret_cast<const void *>(microtask)))
        return real(microtask, thread, number, n_arguments, arguments, exit_frame);
    Worker *outer = this_worker;
    Worker *worker = is_teams_body(microtask) ? nullptr : begin_part(arguments, number, thread);
    this_worker = worker;
    const int32_t result = real(microtask, thread, number, n_arguments, arguments, exit_frame);
    if (worker)
        end_part(*worker, outer);
    else
        this_worker = outer;
    return result;
}

namespace {
// The workers that the thread had before its open serialized regions, innermost last. A serialized region begins
// without a worker. If the runtime calls the body of the region, begin_part may make a team of one.
thread_local std::vector<Worker *> *outer_workers __attribute__((tls_model("initial-exec"))) = nullptr;

// Moves the current untied task back to the thread with this number. Compiled code passes the number of the thread that
// began a function, and uses it in all calls of a serialized region. A task with locks stays: they may belong to its
// present thread.
void return_to_thread(Worker &worker, int32_t thread) {
    if (worker.runtime_thread == thread || !(worker.current->flags & kMoved) || worker.n_locks > 0) return;
    const Team &team = *worker.team;
    for (int i = 0; i < team.n_workers; i++)
        if (team.workers[i].runtime_thread == thread) return move_back_to(team.workers[i]);
}

// Not inlined: the compiler may keep the address of a thread-local variable from before a move.
[[gnu::noinline]] int32_t leave_worker(int32_t passed) {
    const int32_t thread = number_of_this_thread(passed);
    if (!outer_workers) outer_workers = new std::vector<Worker *>;
    outer_workers->push_back(std::exchange(this_worker, nullptr));
    return thread;
}
} // namespace

OMP_EXT_HOOK(void, __kmpc_serialized_parallel, (void *location, int32_t thread), (location, thread)) {
    if (this_worker) return_to_thread(*this_worker, thread);
    real___kmpc_serialized_parallel()(location, leave_worker(thread));
}

OMP_EXT_HOOK(void, __kmpc_end_serialized_parallel, (void *location, int32_t thread), (location, thread)) {
    if (outer_workers && !outer_workers->empty() && outer_workers->back())
        thread = outer_workers->back()->runtime_thread;
    real___kmpc_end_serialized_parallel()(location, thread);
    if (outer_workers && !outer_workers->empty()) { // false: the region began before the hooks were active
        this_worker = outer_workers->back();
        outer_workers->pop_back();
    }
}

} // namespace omp_ext
