// SPDX-License-Identifier: Apache-2.0
/*
 * omp_ext.h: locality domains for OpenMP tasks, on the LLVM OpenMP runtime that is already installed.
 *
 * A locality domain is a set of threads with storage close to them: a NUMA node, or a cache. A program chooses the
 * domains of its tasks and of its memory; libomp_ext.so, linked (-lomp_ext) or preloaded, schedules accordingly.
 * The omp_* functions come from Olivier et al., "Characterizing and mitigating work time inflation in task parallel
 * programs", section 5; the omp_ext_* functions are additions.
 *
 *   #pragma omp parallel
 *   #pragma omp single
 *   for (int part = 0; part < omp_get_num_locality_domains(); part++) {
 *       omp_child_task_affinity(part);              // the tasks that I create from now on run in domain `part`
 *       #pragma omp task
 *       work_on(part);                              // so do the tasks that it creates, unless it calls this too
 *   }
 *
 * Rules. Domains are numbered from 0. Any thread may call any function at any time. No function ends or blocks the
 * program or changes its results. Each function states the meaning of a wrong argument; the library reports it once on
 * stderr. Unless they state otherwise, functions that return int return 0 or a negative OMP_EXT_E*. If the library does
 * not know the OpenMP runtime, there is one domain, and the runtime schedules all tasks.
 *
 * The library schedules programs that call omp_child_task_affinity, omp_ext_set_strict or omp_ext_set_region_strict, or
 * use the affinity clause of the task construct. With OMP_EXT_SCHEDULE=1 it schedules every program. All other programs
 * run on the runtime alone. Environment: OMP_EXT_SCHEDULE, OMP_EXT_DOMAINS, OMP_EXT_STRICT,
 * OMP_EXT_QUEUE, OMP_EXT_STEAL, OMP_EXT_TIED, OMP_EXT_BIND, OMP_EXT_DISPLAY, OMP_EXT_STATISTICS; see docs/locality.md.
 */
#ifndef OMP_EXT_H
#define OMP_EXT_H

#include <stddef.h>
#include <stdint.h>

#define OMP_EXT_VERSION 100 /* major * 10000 + minor * 100 + patch of this header */

#define OMP_NO_CHILD_TASK_AFFINITY (-1) /* children run in the domain of their creator */

#define OMP_EXT_EINVAL (-1) /* an argument is out of range */
#define OMP_EXT_ENOMEM (-2) /* no memory */
#define OMP_EXT_ENOTSUP (-3) /* this machine or system cannot do that */

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---------------------------------------------------------------- where tasks run */

/*
 * Sets the domain of the tasks that the calling task creates from now on. The setting belongs to the calling task, or
 * outside of explicit tasks to the thread's implicit task; created tasks do not inherit it.
 * OMP_NO_CHILD_TASK_AFFINITY restores the default: the domain in which the creating task runs.
 * A domain out of range counts modulo the number of domains; any negative domain is the default.
 */
void omp_child_task_affinity(int domain);

/* Returns the value that omp_child_task_affinity set for the calling task, or OMP_NO_CHILD_TASK_AFFINITY. */
int omp_ext_get_child_task_affinity(void);

/* Returns the number of locality domains: at least 1, constant while the process runs. */
int omp_get_num_locality_domains(void);

/*
 * Returns the domain in which the calling task runs: its thread's domain, or, outside of regions, the current CPU's.
 * If OMP_EXT_DOMAINS requests more parts than there are, several domains have the same CPUs, and their threads run the
 * tasks of all of them. In a task of such a domain, returns the domain in which the task was placed.
 */
int omp_get_locality_domain_num(void);

/*
 * Strict: a task runs only in its domain, unless the program would hang, because no stack is left or threads are
 * blocked outside of OpenMP. Such a task is rescued: it runs elsewhere and is counted. Not strict (the default;
 * OMP_EXT_STRICT changes it): a thread that finds no task in its domain takes tasks of other domains, the nearest
 * first. set_strict applies to all regions of the process without a setting of their own. set_region_strict applies at
 * once to all threads of the calling thread's innermost region; outside of regions it does nothing. get_strict returns
 * the setting that applies to the calling thread.
 */
void omp_ext_set_strict(int strict);
void omp_ext_set_region_strict(int strict);
int omp_ext_get_strict(void);

/* ---------------------------------------------------------------- placing memory */

/*
 * Return zeroed memory on separate pages; NULL if there is none or `bytes` is 0. Free it with omp_affinity_free.
 * alloc places each page where it is first touched; alloc_ondomain in `domain` (out of range: as in
 * omp_child_task_affinity; negative: as alloc); alloc_interleaved distributes pages over all domains in turn.
 * A full domain is not an error: the system then uses another domain's memory.
 */
void *omp_affinity_alloc(size_t bytes);
void *omp_affinity_alloc_ondomain(size_t bytes, int domain);
void *omp_affinity_alloc_interleaved(size_t bytes);

/*
 * Moves all pages that overlap [address, address + bytes) to the domain; untouched pages will be placed there when they
 * are touched. Works on any memory. A domain out of range counts as in omp_child_task_affinity. OMP_EXT_EINVAL: the
 * domain is negative, or part of the range is not mapped; nothing was moved. Do not move freed memory: it may be
 * unmapped or in other use. OMP_EXT_ENOTSUP: the system moved none or only some of the pages.
 */
int omp_affinity_mem_todomain(void *address, size_t bytes, int domain);

/*
 * Frees the whole allocation at `address`. Ignores `bytes`, which exists for compatibility with Qthreads. Does nothing
 * if `address` is NULL or not an allocation, for example already freed; reports the latter once.
 */
void omp_affinity_free(void *address, size_t bytes);

/*
 * domain_of_address returns the domain that has the page of this address or, because of a call above, will have it once
 * it is touched; -1: unknown. If domains share a NUMA node, or the machine is only described, the location of a page
 * does not determine its domain: the functions return the domain that a call above named. domain_of_range returns the
 * domain with most of the bytes; -1: no page has a domain. Of more than a million pages it examines a million evenly
 * spaced ones. Both functions ask the system. The affinity clause uses a cache of such answers, each valid for ten
 * seconds. omp_ext_forget_pages() empties the cache. Call it after moving pages by other means.
 */
int omp_ext_domain_of_address(const void *address);
int omp_ext_domain_of_range(const void *address, size_t bytes);
void omp_ext_forget_pages(void);

/* ---------------------------------------------------------------- the map of the machine */

/*
 * Returns the distance between two domains: 10 if they are the same, more if they are farther apart. Source: hwloc's
 * latencies and the firmware's SLIT; without them the topology. OMP_EXT_EINVAL: out of range.
 */
int omp_ext_get_domain_distance(int from, int to);

/*
 * List the CPUs of a domain, as the system numbers them, and its threads, as numbered in the calling thread's team.
 * Write at most `max` entries to `numbers` (NULL: none) and return the total number; OMP_EXT_EINVAL: no such domain.
 */
int omp_ext_get_domain_cpus(int domain, int *numbers, int max);
int omp_ext_get_domain_threads(int domain, int *numbers, int max);

/* Returns the version of the library, in the form of OMP_EXT_VERSION. */
int omp_ext_get_version(void);

/* Returns 1 if the library schedules the tasks of regions that begin now, else 0. */
int omp_ext_is_active(void);

/* Prints domains, CPUs, distances and all settings on stderr, as OMP_EXT_DISPLAY=1 does at start. */
void omp_ext_display(void);

/* ---------------------------------------------------------------- statistics */

/*
 * Counts since the start or the last reset. A domain's counts are sums over its threads, except n_placed and the
 * depths. Domains with the same CPUs are counted with the first of them.
 */
struct omp_ext_statistics {
    uint64_t n_created; /* tasks created here and scheduled by the library */
    uint64_t n_placed; /* domains: tasks placed into the domain; threads: tasks placed by the thread, into any domain */
    uint64_t n_run; /* tasks run here */
    uint64_t n_local; /* part of n_run: placed into this domain */
    uint64_t n_stolen_inside; /* part of n_run: taken from another thread of the same domain */
    uint64_t n_stolen_outside; /* part of n_run: taken from another domain (not in strict mode) */
    uint64_t n_rescued; /* part of n_run: outside their domain, because the program would have hung */
    uint64_t n_steal_attempts; /* attempts to take a task from another thread's queue */
    uint64_t n_false_negatives; /* attempts that found a task and lost it to another thread */
    uint64_t n_sleeps; /* times that a thread slept because it found no task */
    uint64_t mailbox_depth; /* domains: tasks in the inbox now */
    uint64_t max_mailbox_depth; /* domains: most tasks in the inbox at any time */
};

/*
 * Copy the statistics of a domain, of a thread of the calling thread's team, or of the process to *into. `bytes`:
 * sizeof *into, because later versions may add fields. The counts are exact while no task runs, else a few tasks
 * behind.
 */
int omp_ext_get_domain_statistics(int domain, struct omp_ext_statistics *into, size_t bytes);
int omp_ext_get_thread_statistics(int thread, struct omp_ext_statistics *into, size_t bytes);
int omp_ext_get_statistics(struct omp_ext_statistics *into, size_t bytes);

/* Returns the number of tasks placed into domain `from` that ran in domain `to`; 0 if either is out of range. */
uint64_t omp_ext_get_n_moved(int from, int to);

void omp_ext_reset_statistics(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}

namespace omp_ext {

/*
 * Sets the domain of the tasks that the calling task creates within a scope; the end of the scope, also by an
 * exception, restores the previous setting: { omp_ext::ChildTaskAffinity here(3); ... }. Create and destroy it in the
 * same task.
 */
class ChildTaskAffinity {
public:
    explicit ChildTaskAffinity(int domain) : before_(omp_ext_get_child_task_affinity()) {
        omp_child_task_affinity(domain);
    }
    ~ChildTaskAffinity() { omp_child_task_affinity(before_); }
    ChildTaskAffinity(const ChildTaskAffinity &) = delete;
    ChildTaskAffinity &operator=(const ChildTaskAffinity &) = delete;

private:
    int before_;
};

} // namespace omp_ext
#endif

#endif /* OMP_EXT_H */
