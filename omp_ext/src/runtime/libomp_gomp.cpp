// SPDX-License-Identifier: Apache-2.0
// Hooks for the LLVM runtime's GOMP functions, which gcc-compiled programs call. GOMP_taskwait, GOMP_taskgroup_start
// and GOMP_taskgroup_end need no hooks, because the runtime implements them with __kmpc functions that have hooks.
#include <cstring>

#include "runtime/libomp_abi.h"
#include "runtime/loop_division.h"
#include "runtime/short_list.h"
#include "scheduler/scheduler.h"
#include "tools/observer.h"

namespace omp_ext {

using namespace abi;

namespace {

using Function = void (*)(void *);
using CopyFunction = void (*)(void *, void *);

// libgomp's gomp-constants.h
enum GompFlag : unsigned {
    kGompUntied = 1u << 0,
    kGompFinal = 1u << 1,
    kGompDepend = 1u << 3,
    kGompPriority = 1u << 4,
    kGompUp = 1u << 8,
    kGompGrainsize = 1u << 9,
    kGompIf = 1u << 10,
    kGompNoGroup = 1u << 11,
    kGompReduction = 1u << 12,
    kGompDetach = 1u << 13,
    kGompStrict = 1u << 14,
};

// The shared variables of a gcc task: the function to call and the address of its data. The data follow the Call,
// aligned as gcc requests.
struct Call {
    Function function;
    void *data;
};

int32_t call(int32_t, void *block) {
    const Call &it = *static_cast<Call *>(static_cast<Block *>(block)->shareds);
    it.function(it.data);
    return 0;
}

Task *make_call(Worker &worker, Function function, void *data, CopyFunction copy, long bytes, long alignment,
                unsigned flags, int priority, const void *code) {
    const int32_t block_flags = (flags & kGompUntied ? 0 : kTiedBlock) | (flags & kGompFinal ? kFinalBlock : 0) |
                                (priority > 0 ? kPriorityBlock : 0) | (flags & kGompDetach ? kDetachableBlock : 0);
    const auto mask = static_cast<uintptr_t>(alignment > 1 ? alignment - 1 : 0);
    const size_t room = sizeof(Call) + static_cast<size_t>(bytes) + mask;
    Task *task = make_task(worker, nullptr, block_flags, sizeof(Block), room, call, code);
    auto *shareds = static_cast<Call *>(static_cast<Block *>(task->block)->shareds);
    const uintptr_t behind = reinterpret_cast<uintptr_t>(shareds + 1);
    void *copied = reinterpret_cast<void *>((behind + mask) & ~mask);
    if (bytes > 0) {
        if (copy)
            copy(copied, data);
        else
            memcpy(copied, data, static_cast<size_t>(bytes));
    }
    *shareds = {function, copied};
    return task;
}

// Reads the two formats of libgomp: n, n_out, addresses (out first); or 0, n, n_out, n_mutexinoutset, n_in, addresses,
// depobjs. The entry of a depobj points to an address and a kind.
ShortList<BlockDependence> list_of(void **dependences) {
    const auto number = [&](int i) { return reinterpret_cast<size_t>(dependences[i]); };
    ShortList<BlockDependence> list(number(number(0) != 0 ? 0 : 1));
    const auto add = [&](void *address, uint8_t kind) {
        list.add({reinterpret_cast<intptr_t>(address), 0, static_cast<uint8_t>(address ? kind : 0x80)});
    };
    if (number(0) != 0) {
        for (size_t i = 0; i < number(0); i++) add(dependences[2 + i], i < number(1) ? 3 : 1);
        return list;
    }
    static constexpr uint8_t kinds[] = {0, 1, 3, 3, 4, 8}; // in, out, inout, mutexinoutset, inoutset of depobjs
    const size_t n_out = number(2), n_mutex = number(3), n_in = number(4);
    for (size_t i = 0; i < number(1); i++) {
        void *item = dependences[5 + i];
        if (i < n_out + n_mutex + n_in) {
            add(item, i < n_out ? 3 : i < n_out + n_mutex ? 4 : 1);
        } else {
            auto **object = static_cast<void **>(item);
            const auto kind = reinterpret_cast<size_t>(object[1]);
            add(object[0], kind < sizeof kinds ? kinds[kind] : 3);
        }
    }
    return list;
}

// ---------------------------------------------------------------- regions

// A region's function and data. The address of a Region is the key of a team, and teams are kept. So a thread reuses
// one Region for all regions at one depth.
struct Region {
    void *first_word; // copy of the first word of `data`, which the runtime reads for task reductions
    Function function;
    void *data;
};

constexpr int kMaxDepth = 64; // the runtime schedules the tasks of deeper regions
thread_local Region regions[kMaxDepth];
thread_local int depth = 0;
thread_local const void *region_call = nullptr; // return address of the program's call that last began a region

void run_region(void *argument) {
    const Region &region = *static_cast<Region *>(argument);
    Worker *outer = this_worker;
    Worker *worker = begin_part(argument, omp_get_thread_num(), kmpc_global_thread_num(nullptr));
    this_worker = worker;
    region.function(region.data);
    if (worker)
        end_part(*worker, outer);
    else
        this_worker = outer;
}

// Calls begin(function, data), with run_region in place of the program's function if the scheduler handles the region.
// `call`: return address of the program's call.
template <typename Begin>
auto begin_region(const void *call, Function function, void *data, Begin &&begin, bool has_first_word = false) {
    region_call = call;
    struct Depth {
        Depth() { depth++; }
        ~Depth() { depth--; }
    };
    adopt_noted_tasks();
    if (depth >= kMaxDepth || !may_create_tasks()) {
        // The scheduler handles neither the region nor its tasks.
        struct Outside {
            Worker *outer = this_worker;
            Outside() { this_worker = nullptr; }
            ~Outside() { this_worker = outer; }
        } const outside;
        return begin(function, data);
    }
    Region &region = regions[depth];
    region = {has_first_word ? *static_cast<void **>(data) : nullptr, function, data};
    const Depth deeper;
    return begin(run_region, static_cast<void *>(&region));
}

} // namespace

OMP_EXT_HOOK(void, GOMP_parallel, (Function function, void *data, unsigned n_threads, unsigned flags),
             (function, data, n_threads, flags)) {
    begin_region(__builtin_return_address(0), function, data,
                 [=](Function f, void *d) { real_GOMP_parallel()(f, d, n_threads, flags); });
}

OMP_EXT_HOOK(unsigned, GOMP_parallel_reductions, (Function function, void *data, unsigned n_threads, unsigned flags),
             (function, data, n_threads, flags)) {
    return begin_region(
        __builtin_return_address(0), function, data,
        [=](Function f, void *d) { return real_GOMP_parallel_reductions()(f, d, n_threads, flags); }, true);
}

OMP_EXT_HOOK(void, GOMP_parallel_sections,
             (Function function, void *data, unsigned n_threads, unsigned n_sections, unsigned flags),
             (function, data, n_threads, n_sections, flags)) {
    begin_region(__builtin_return_address(0), function, data,
                 [=](Function f, void *d) { real_GOMP_parallel_sections()(f, d, n_threads, n_sections, flags); });
}

#define OMP_EXT_PARALLEL_LOOP(name)                                                                                    \
    OMP_EXT_HOOK(void, name,                                                                                           \
                 (Function function, void *data, unsigned n_threads, long start, long end, long step, long chunk,      \
                  unsigned flags),                                                                                     \
                 (function, data, n_threads, start, end, step, chunk, flags)) {                                        \
        begin_region(__builtin_return_address(0), function, data,                                                      \
                     [=](Function f, void *d) { real_##name()(f, d, n_threads, start, end, step, chunk, flags); });    \
    }
OMP_EXT_PARALLEL_LOOP(GOMP_parallel_loop_static)
OMP_EXT_PARALLEL_LOOP(GOMP_parallel_loop_dynamic)
OMP_EXT_PARALLEL_LOOP(GOMP_parallel_loop_guided)
OMP_EXT_PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
OMP_EXT_PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define OMP_EXT_PARALLEL_RUNTIME_LOOP(name)                                                                            \
    OMP_EXT_HOOK(void, name,                                                                                           \
                 (Function function, void *data, unsigned n_threads, long start, long end, long step, unsigned flags), \
                 (function, data, n_threads, start, end, step, flags)) {                                               \
        begin_region(__builtin_return_address(0), function, data,                                                      \
                     [=](Function f, void *d) { real_##name()(f, d, n_threads, start, end, step, flags); });           \
    }
OMP_EXT_PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_runtime)
OMP_EXT_PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
OMP_EXT_PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

const void *abi::call_of_region() { return region_call; }

// ---------------------------------------------------------------- barriers

#define OMP_EXT_BARRIER(result, name)                                                                                  \
    OMP_EXT_HOOK(result, name, (), ()) {                                                                               \
        if (this_worker) barrier(*this_worker, kOmptBarrierExplicit);                                                  \
        return real_##name()();                                                                                        \
    }
OMP_EXT_BARRIER(void, GOMP_barrier)
OMP_EXT_BARRIER(bool, GOMP_barrier_cancel)
OMP_EXT_BARRIER(void, GOMP_loop_end)
OMP_EXT_BARRIER(bool, GOMP_loop_end_cancel)
OMP_EXT_BARRIER(void, GOMP_sections_end)
OMP_EXT_BARRIER(bool, GOMP_sections_end_cancel)

// GOMP_single_copy_start calls this function.
OMP_EXT_HOOK(bool, GOMP_single_start, (), ()) { return real_GOMP_single_start()(); }

// The runtime's function would wait in the runtime's barrier, while tasks of the single construct wait in our queues.
OMP_EXT_HOOK(void *, GOMP_single_copy_start, (), ()) {
    Worker *worker = this_worker;
    if (!worker) return real_GOMP_single_copy_start()();
    if (GOMP_single_start()) return nullptr; // this thread runs the construct
    barrier(*worker, kOmptBarrierImplicit, false);
    void *copied = worker->team->copied.load(std::memory_order_acquire);
    barrier(*worker, kOmptBarrierImplicit, false); // all have read `copied` before the next construct writes it
    return copied;
}

OMP_EXT_HOOK(void, GOMP_single_copy_end, (void *copied), (copied)) {
    Worker *worker = this_worker;
    if (!worker) return real_GOMP_single_copy_end()(copied);
    worker->team->copied.store(copied, std::memory_order_release);
    barrier(*worker, kOmptBarrierImplicit, false);
    barrier(*worker, kOmptBarrierImplicit, false);
}

// ---------------------------------------------------------------- tasks

OMP_EXT_HOOK(void, GOMP_task,
             (Function function, void *data, CopyFunction copy, long bytes, long alignment, bool if_clause,
              unsigned flags, void **dependences, int priority, void *detach),
             (function, data, copy, bytes, alignment, if_clause, flags, dependences, priority, detach)) {
    Worker *worker = this_worker;
    note_task_creation();
    if (!worker)
        return real_GOMP_task()(function, data, copy, bytes, alignment, if_clause, flags, dependences, priority,
                                detach);
    // Older callers pass neither `priority` nor `detach`. Each is read only if its flag is set.
    Task *task = make_call(*worker, function, data, copy, bytes, alignment, flags, flags & kGompPriority ? priority : 0,
                           __builtin_return_address(0));
    if (flags & kGompDetach) {
        void *event = __kmpc_task_allow_completion_event(nullptr, worker->runtime_thread, task->block);
        *static_cast<void **>(detach) = event; // the program's variable; the next line sets its copy in the task
        *static_cast<void **>(static_cast<Call *>(static_cast<Block *>(task->block)->shareds)->data) = event;
    }
    const ShortList<BlockDependence> list = flags & kGompDepend ? list_of(dependences) : ShortList<BlockDependence>(0);
    if (if_clause) return submit_dependent(*worker, *task, list.size(), list.begin(), 0, nullptr);
    if (list.size() > 0) wait_for_dependences(*worker, list.size(), list.begin(), 0, nullptr);
    void *block = task->block;
    if (!is_light(*task)) notify(&omp_ext_observer::undeferred_starts, task->code);
    const int32_t thread = present_worker()->runtime_thread;
    __kmpc_omp_task_begin_if0(nullptr, thread, block);
    call(thread, block);
    __kmpc_omp_task_complete_if0(nullptr, thread, block);
}

OMP_EXT_HOOK(void, GOMP_taskwait_depend, (void **dependences), (dependences)) {
    Worker *worker = this_worker;
    if (!worker) return real_GOMP_taskwait_depend()(dependences);
    const ShortList<BlockDependence> list = list_of(dependences);
    wait_for_dependences(*worker, list.size(), list.begin(), 0, nullptr);
}

// The runtime's function does nothing.
OMP_EXT_HOOK(void, GOMP_taskyield, (), ()) {
    Worker *worker = this_worker;
    if (!worker) return real_GOMP_taskyield()();
    note_other_waits();
    yield(*worker);
}

OMP_EXT_HOOK(void, GOMP_taskgroup_reduction_register, (uintptr_t *reductions), (reductions)) {
    real_GOMP_taskgroup_reduction_register()(reductions);
}

// Creates a task for each chunk. The task's data begin with the chunk's first iteration and the iteration after its
// last. Registers the reductions of an empty loop, too, because the caller reads them.
static void run_gomp_loop(Worker &worker, Function function, void *data, CopyFunction copy, long bytes, long alignment,
                          unsigned flags, uint64_t parameter, int priority, uint64_t start, uint64_t n_iterations,
                          uint64_t step, const void *code) {
    if (n_iterations == 0 && !(flags & kGompReduction)) return;
    if (!(flags & kGompNoGroup)) {
        __kmpc_taskgroup(nullptr, worker.runtime_thread);
        if (flags & kGompReduction) {
            struct Reductions {
                uint64_t bounds[2];
                uintptr_t *list;
            };
            GOMP_taskgroup_reduction_register(static_cast<Reductions *>(data)->list);
        }
    }
    const int32_t schedule = flags & kGompGrainsize ? kGrainsize : parameter > 0 ? kNumTasks : kNoSchedule;
    Division division = {};
    if (n_iterations > 0)
        division = divide(n_iterations, schedule, parameter, flags & kGompStrict, worker.team->n_workers);
    for (uint64_t i = 0; i < division.n_chunks; i++) {
        const uint64_t size = i + 1 == division.n_chunks ? division.last_size : division.size + (i < division.n_longer);
        Task *task = make_call(worker, function, data, copy, bytes, alignment, flags, priority, code);
        auto *bounds = static_cast<uint64_t *>(static_cast<Call *>(static_cast<Block *>(task->block)->shareds)->data);
        bounds[0] = start;
        bounds[1] = start += size * step;
        if (flags & kGompIf)
            submit(worker, *task);
        else
            submit_at_once(worker, *task);
    }
    if (!(flags & kGompNoGroup)) __kmpc_end_taskgroup(nullptr, worker.runtime_thread);
}

OMP_EXT_HOOK(void, GOMP_taskloop,
             (Function function, void *data, CopyFunction copy, long bytes, long alignment, unsigned flags,
              unsigned long parameter, int priority, long start, long end, long step),
             (function, data, copy, bytes, alignment, flags, parameter, priority, start, end, step)) {
    Worker *worker = this_worker;
    note_task_creation();
    if (!worker)
        return real_GOMP_taskloop()(function, data, copy, bytes, alignment, flags, parameter, priority, start, end,
                                    step);
    const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(end), by = static_cast<uint64_t>(step);
    const bool is_empty = step > 0 ? start >= end : start <= end;
    const uint64_t n = is_empty ? 0 : step > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / (0 - by);
    run_gomp_loop(*worker, function, data, copy, bytes, alignment, flags, parameter, priority, from, n, by,
                  __builtin_return_address(0));
}

OMP_EXT_HOOK(void, GOMP_taskloop_ull,
             (Function function, void *data, CopyFunction copy, long bytes, long alignment, unsigned flags,
              unsigned long parameter, int priority, unsigned long long start, unsigned long long end,
              unsigned long long step),
             (function, data, copy, bytes, alignment, flags, parameter, priority, start, end, step)) {
    Worker *worker = this_worker;
    note_task_creation();
    if (!worker)
        return real_GOMP_taskloop_ull()(function, data, copy, bytes, alignment, flags, parameter, priority, start, end,
                                        step);
    const bool is_up = flags & kGompUp;
    const bool is_empty = is_up ? start >= end : start <= end;
    const uint64_t n = is_empty ? 0 : is_up ? (end - start + step - 1) / step : (start - end - step - 1) / (0 - step);
    run_gomp_loop(*worker, function, data, copy, bytes, alignment, flags, parameter, priority, start, n, step,
                  __builtin_return_address(0));
}

} // namespace omp_ext
