// SPDX-License-Identifier: Apache-2.0
// The functions of omp_ext.h about tasks and modes, and of omp_ext_tool.h. allocation.cpp has the functions about
// memory, domains.cpp the functions about the machine.
#include "omp_ext.h"
#include "omp_ext_tool.h"

#include <algorithm>
#include <cstring>

#include "options.h"
#include "placement/domains.h"
#include "runtime/activation.h"
#include "runtime/libomp_abi.h"
#include "scheduler/stacks.h"
#include "scheduler/team.h"
#include "tools/counters.h"
#include "tools/observer.h"

using namespace omp_ext;

void omp_child_task_affinity(int domain) {
    activate();
    Worker *worker = this_worker;
    if (!worker) return;
    const int n_domains = domains::count();
    worker->current->child_domain = static_cast<int16_t>(domain < 0 ? kNoDomain : domain % n_domains);
}

int omp_get_locality_domain_num(void) {
    const Worker *worker = this_worker;
    if (!worker || domains::n_distinct() == domains::count()) return domains::of_calling_thread();
    const Task *task = worker->current;
    while (task->named_domain == kNoDomain) task = task->parent;
    const int named = task->named_domain;
    // A task that another domain took runs in the domain of its thread.
    return domains::first_alike(named) == worker->domain ? named : domains::of_calling_thread();
}

int omp_ext_get_child_task_affinity(void) {
    return this_worker ? this_worker->current->child_domain : OMP_NO_CHILD_TASK_AFFINITY;
}

void omp_ext_set_strict(int strict) {
    activate();
    options.strict = strict != 0;
    if (strict) note_strict();
}

void omp_ext_set_region_strict(int strict) {
    activate();
    if (this_worker) this_worker->team->strict.store(strict != 0, std::memory_order_relaxed);
    if (strict) note_strict();
}

int omp_ext_get_strict(void) { return this_worker ? this_worker->team->is_strict() : options.strict; }

int omp_ext_is_active(void) { return is_active(); }

int omp_ext_get_version(void) { return OMP_EXT_VERSION; }

int omp_ext_get_domain_threads(int domain, int *numbers, int max) {
    if (domain < 0 || domain >= domains::count()) return OMP_EXT_EINVAL;
    int n = 0;
    if (!this_worker) {
        if (domain != domains::of_calling_thread()) return 0;
        if (numbers && max > 0) numbers[0] = 0;
        return 1;
    }
    const Team &team = *this_worker->team;
    for (int i = 0; i < team.n_workers; i++) {
        if (team.workers[i].implicit.named_domain != domain) continue;
        if (numbers && n < max) numbers[n] = i;
        n++;
    }
    return n;
}

int omp_ext_observe(const omp_ext_observer *candidate) {
    const bool fits = candidate && candidate->bytes >= sizeof *candidate;
    if (candidate && !fits)
        say("the tool of this process was built for another version of this library; it sees OMPT events only.");
    observer = fits ? candidate : nullptr;
    const bool is_heard = fits && is_active();
    if (fits) note_observer();
    return is_heard;
}

int omp_ext_schedules(const void *code) {
    (void)is_active(); // finds the runtime
    return abi::is_in_runtime(code);
}

void omp_ext_report_current(void) {
    if (this_worker && this_worker->counters) report_current(*this_worker);
}

const void *omp_ext_region_call(void) { return abi::call_of_region(); }

void omp_ext_display(void) {
    domains::display();
    display_settings();
    display_stacks();
}
