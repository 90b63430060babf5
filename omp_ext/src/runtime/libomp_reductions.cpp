// SPDX-License-Identifier: Apache-2.0
// Task reductions. The library keeps the reductions of taskgroups itself, so their tasks may be light. A thread gets
// its own copy of a variable when a task asks for it. The end of the group combines all copies. The runtime keeps the
// reductions of regions and worksharing constructs (`reduction(task, ...)`). It keeps all reductions of programs with
// target tasks, because these tasks may run on threads without a worker.
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/libomp_abi.h"
#include "runtime/runtime.h"
#include "scheduler/checkers.h"
#include "scheduler/scheduler.h"

namespace omp_ext {

using namespace abi;

// kmp_taskred_input_t, a variable of a reduction. A null `initialize` means zero, a null `destroy` nothing.
struct ReductionInput {
    char *shared;
    void *original; // null: `shared`
    size_t bytes;
    void *initialize; // (copy, original); of older compilers: (copy)
    void (*destroy)(void *copy);
    void (*combine)(void *shared, void *copy);
    uint32_t flags;
};

// kmp_task_red_input_t, which older compilers pass.
struct OldReductionInput {
    char *shared;
    size_t bytes;
    void *initialize;
    void (*destroy)(void *copy);
    void (*combine)(void *shared, void *copy);
    uint32_t flags;

    operator ReductionInput() const { return {shared, nullptr, bytes, initialize, destroy, combine, flags}; }
};

// The reductions of a taskgroup.
struct TaskReductions {
    using Copy = std::atomic<char *>; // null: not made yet; written by the thread of its worker

    Team &team;
    std::vector<ReductionInput> variables;
    bool passes_original; // to `initialize`
    std::unique_ptr<Copy[]> copies; // of each variable, one for each worker

    Copy *copies_of(size_t variable) const { return &copies[variable * static_cast<size_t>(team.n_workers)]; }

    // True if `address` is the variable, or lies in any thread's copy of it.
    bool has(size_t variable, const char *address) const {
        if (address == variables[variable].shared) return true;
        for (int i = 0; i < team.n_workers; i++) {
            const char *copy = copies_of(variable)[i].load(std::memory_order_relaxed);
            if (copy && address >= copy && address < copy + variables[variable].bytes) return true;
        }
        return false;
    }

    void initialize(const ReductionInput &variable, char *copy) const {
        void *original = variable.original ? variable.original : variable.shared;
        if (passes_original)
            reinterpret_cast<void (*)(void *, void *)>(variable.initialize)(copy, original);
        else
            reinterpret_cast<void (*)(void *)>(variable.initialize)(copy);
    }

    // Returns the worker's copy of the variable at this address, or null if there is no such variable.
    char *copy_for(Worker &worker, const char *address) const {
        for (size_t i = 0; i < variables.size(); i++) {
            if (!has(i, address)) continue;
            Copy &own = copies_of(i)[worker.number];
            char *copy = own.load(std::memory_order_relaxed);
            if (copy) return copy;
            const ReductionInput &variable = variables[i];
            copy = static_cast<char *>(worker.blocks.take(BlockPool::lines_for(variable.bytes)));
            note_acquire(copy);
            memset(copy, 0, variable.bytes);
            if (variable.initialize) initialize(variable, copy);
            own.store(copy, std::memory_order_relaxed);
            return copy;
        }
        return nullptr;
    }
};

void runtime::combine(Worker &worker, TaskReductions *reductions) {
    for (size_t i = 0; i < reductions->variables.size(); i++) {
        const ReductionInput &variable = reductions->variables[i];
        const size_t n_lines = BlockPool::lines_for(variable.bytes);
        for (int number = 0; number < reductions->team.n_workers; number++) {
            char *copy = reductions->copies_of(i)[number].load(std::memory_order_relaxed);
            if (!copy) continue;
            variable.combine(variable.shared, copy);
            if (variable.destroy) variable.destroy(copy);
            Worker &owner = reductions->team.workers[number];
            note_release(copy);
            if (&owner == &worker)
                worker.blocks.give(copy, n_lines);
            else
                owner.blocks.give_back(copy, n_lines, false);
        }
    }
    delete reductions;
}

// Compiled code passes the result of an initialization to later calls. The lowest bit marks a group of ours.
static void *marked(Group *group) { return reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(group) | 1); }
static bool is_marked(void *group) { return (reinterpret_cast<uintptr_t>(group) & 1) != 0; }
static Group *unmarked(void *group) {
    return reinterpret_cast<Group *>(reinterpret_cast<uintptr_t>(group) & ~uintptr_t{1});
}

// Begins the reductions of the current taskgroup. Returns null if the runtime must keep them.
template <typename Input>
static void *begin_reductions(int32_t n, const Input *inputs) {
    Worker *worker = this_worker;
    if (!worker) return nullptr;
    Group *group = worker->current->group;
    if (!group || group->task != worker->current || group->reductions || may_create_target_tasks()) {
        need_proxy(*worker);
        return nullptr;
    }
    if (!is_alone(*worker)) {
        const auto n_copies = static_cast<size_t>(n) * static_cast<size_t>(worker->team->n_workers);
        group->reductions = new TaskReductions{*worker->team,
                                               {inputs, inputs + n},
                                               std::is_same_v<Input, ReductionInput>,
                                               std::make_unique<TaskReductions::Copy[]>(n_copies)};
    }
    return marked(group);
}

OMP_EXT_HOOK(void *, __kmpc_task_reduction_init, (int32_t thread, int32_t n, void *reductions),
             (thread, n, reductions)) {
    if (void *group = begin_reductions(n, static_cast<const OldReductionInput *>(reductions))) return group;
    return real___kmpc_task_reduction_init()(number_of_this_thread(thread), n, reductions);
}

OMP_EXT_HOOK(void *, __kmpc_taskred_init, (int32_t thread, int32_t n, void *reductions), (thread, n, reductions)) {
    if (void *group = begin_reductions(n, static_cast<const ReductionInput *>(reductions))) return group;
    return real___kmpc_taskred_init()(number_of_this_thread(thread), n, reductions);
}

// Keeps the current task on its thread, because compiled code uses the address of the thread's copy until the task
// ends.
static void stay_on_thread() {
    if (this_worker) this_worker->current->flags &= static_cast<uint16_t>(~kUntied);
}

// Compiled code passes no group if the taskgroup is not visible where it creates the task.
OMP_EXT_HOOK(void *, __kmpc_task_reduction_get_th_data, (int32_t thread, void *group, void *address),
             (thread, group, address)) {
    stay_on_thread();
    if (Worker *worker = this_worker) {
        if (is_alone(*worker)) return address;
        const Group *found = is_marked(group) ? unmarked(group) : group ? nullptr : worker->current->group;
        for (; found; found = found->outer)
            if (found->reductions && &found->reductions->team == worker->team)
                if (void *copy = found->reductions->copy_for(*worker, static_cast<char *>(address))) return copy;
    }
    return real___kmpc_task_reduction_get_th_data()(number_of_this_thread(thread), is_marked(group) ? nullptr : group,
                                                    address);
}

OMP_EXT_HOOK(void, GOMP_task_reduction_remap, (size_t n, size_t n_originals, void **addresses),
             (n, n_originals, addresses)) {
    stay_on_thread();
    real_GOMP_task_reduction_remap()(n, n_originals, addresses);
}

// Task reductions of a region or a worksharing construct open a taskgroup. Some runtimes open it by a call that reaches
// us, others do not.
template <typename Call>
static void *begin_in_runtime(const Call &initialize) {
    const Group *outer = this_worker ? this_worker->current->group : nullptr;
    if (this_worker) need_proxy(*this_worker);
    void *group = initialize();
    if (this_worker && this_worker->current->group == outer) begin_group(*this_worker);
    return group;
}

OMP_EXT_HOOK(void *, __kmpc_task_reduction_modifier_init,
             (void *location, int32_t thread, int32_t is_worksharing, int32_t n, void *reductions),
             (location, thread, is_worksharing, n, reductions)) {
    return begin_in_runtime(
        [=] { return real___kmpc_task_reduction_modifier_init()(location, thread, is_worksharing, n, reductions); });
}

OMP_EXT_HOOK(void *, __kmpc_taskred_modifier_init,
             (void *location, int32_t thread, int32_t is_worksharing, int32_t n, void *reductions),
             (location, thread, is_worksharing, n, reductions)) {
    return begin_in_runtime(
        [=] { return real___kmpc_taskred_modifier_init()(location, thread, is_worksharing, n, reductions); });
}

OMP_EXT_HOOK(void, __kmpc_task_reduction_modifier_fini, (void *location, int32_t thread, int32_t is_worksharing),
             (location, thread, is_worksharing)) {
    const Group *group = this_worker ? this_worker->current->group : nullptr;
    if (this_worker) wait_for_group(*this_worker);
    real___kmpc_task_reduction_modifier_fini()(location, thread, is_worksharing);
    if (this_worker && group && this_worker->current->group == group) end_group(*this_worker);
}

} // namespace omp_ext
