// SPDX-License-Identifier: Apache-2.0
/*
 * omp_ext.h: locality domains for OpenMP tasks, on the LLVM OpenMP runtime that is already installed.
 *
 * A locality domain is a set of threads with storage close to them: a NUMA node, or a cache. A program says in which
 * domain the tasks of a task are to run, and where memory lies; libomp_ext.so, linked (-lomp_ext) or preloaded,
 * schedules accordingly. The names omp_* are those of Olivier et al., "Characterizing and mitigating work time
 * inflation in task parallel programs", section 5; the names omp_ext_* are additions.
 *
 *   #pragma omp parallel
 *   #pragma omp single
 *   for (int part = 0; part < omp_get_num_locality_domains(); part++) {
 *       omp_child_task_affinity(part);              // the tasks that I create from now on run in domain `part`
 *       #pragma omp task
 *       work_on(part);                              // and so do the tasks that it creates, unless told otherwise
 *   }
 *
 * Rules. Domains are numbered from 0. Every call may be made at any time from any thread; none ends or blocks the
 * program, and none changes what it computes. A wrong argument has the meaning that the function states, and is
 * reported once on stderr. Unless they state otherwise, functions that return int return 0 or a negative OMP_EXT_E*. Without a
 * runtime that the library knows there is one domain, and everything is left to the runtime.
 *
 * A program that names omp_child_task_affinity, omp_ext_set_strict or omp_ext_set_region_strict, or uses the affinity
 * clause of the task construct, is scheduled by the library, and so is any program under OMP_EXT_SCHEDULE=1; every
 * other program runs on its runtime alone. Environment: OMP_EXT_SCHEDULE, OMP_EXT_DOMAINS, OMP_EXT_STRICT,
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
 * Sets where the tasks run that the calling task creates from now on. An internal control variable of the task: it
 * is not inherited by the tasks it creates, and outside of tasks it belongs to the thread's implicit task.
 * OMP_NO_CHILD_TASK_AFFINITY returns to the default: the domain in which the creating task runs.
 * A domain out of range counts modulo the number of domains; a negative one other than the above is the default.
 */
void omp_child_task_affinity(int domain);

/* The value that omp_child_task_affinity set for the calling task, or OMP_NO_CHILD_TASK_AFFINITY. */
int omp_ext_get_child_task_affinity(void);

/* The number of locality domains; at least 1, and the same all through the process. */
int omp_get_num_locality_domains(void);

/*
 * The domain in which the calling task runs: that of its thread. Of domains with the same CPUs (OMP_EXT_DOMAINS asks for more
 * parts than there are), whose threads run the tasks of all of them, it is the one that the task was placed in. Outside of
 * regions, that of the current CPU.
 */
int omp_get_locality_domain_num(void);

/*
 * Strict: a task runs in its domain and nowhere else, unless the program would hang, for want of stacks or because threads
 * are blocked by other means than OpenMP's (a rescue; they are counted). Not strict (the default, or as OMP_EXT_STRICT says): a thread that finds no task
 * in its domain takes tasks of others, the nearest first.
 * set_strict: the process, that is, all regions without a setting of their own. set_region_strict: the innermost region
 * of the calling thread, at once and for all of its threads; outside of regions it does nothing. get_strict: what holds
 * for the calling thread.
 */
void omp_ext_set_strict(int strict);
void omp_ext_set_region_strict(int strict);
int omp_ext_get_strict(void);

/* ---------------------------------------------------------------- where memory lies */

/*
 * Memory of its own pages, zeroed; NULL when there is none, or when bytes is 0. Freed by omp_affinity_free.
 * alloc: each page lies where it is first touched. alloc_ondomain: in that domain; out of range counts as in
 * omp_child_task_affinity, negative as in alloc. alloc_interleaved: page by page round all domains.
 * A full domain is not an error: the system then takes memory from the next.
 */
void *omp_affinity_alloc(size_t bytes);
void *omp_affinity_alloc_ondomain(size_t bytes, int domain);
void *omp_affinity_alloc_interleaved(size_t bytes);

/*
 * Moves the pages of [address, address + bytes), and those not yet touched when they are, to the domain; out of range
 * counts as in omp_child_task_affinity. Pages that lie only partly in the range are moved as well. Any memory will do.
 * OMP_EXT_EINVAL: the domain is negative, or some of the range is not mapped (freed memory is not, or belongs to somebody
 * else by now); nothing happened. OMP_EXT_ENOTSUP: the system moved none, or only some of them.
 */
int omp_affinity_mem_todomain(void *address, size_t bytes, int domain);

/*
 * Gives back memory of the allocations above, all of it: `bytes` is there for Qthreads' sake and not looked at. NULL does
 * nothing. Neither does any other address, one that was freed already among them; that is reported once.
 */
void omp_affinity_free(void *address, size_t bytes);

/*
 * The domain in which the page of this address lies, or will lie when it is touched because the calls above said so; -1:
 * unknown. Where domains share a NUMA node, or the machine is only described, pages tell nothing, and the domain is the
 * one that the calls above named. omp_ext_domain_of_range: the domain that holds most of the bytes, -1 when none of
 * them lies anywhere; of ranges beyond a million pages a million evenly spaced ones count. Both ask the system.
 * Tasks with an affinity clause are placed by a cache of such answers, which are believed for ten seconds.
 * omp_ext_forget_pages() empties it, for programs that move pages by other means than the above.
 */
int omp_ext_domain_of_address(const void *address);
int omp_ext_domain_of_range(const void *address, size_t bytes);
void omp_ext_forget_pages(void);

/* ---------------------------------------------------------------- the map of the machine */

/*
 * How far domain `to` is from `from`: 10 for the same one, more for those farther away, as hwloc's latencies and the
 * firmware's SLIT say it; from the topology when they say nothing. OMP_EXT_EINVAL: out of range.
 */
int omp_ext_get_domain_distance(int from, int to);

/*
 * The CPUs of a domain, as the system numbers them, and the numbers of the threads of the calling thread's team that
 * belong to it. Fills at most `max` places of `numbers` (NULL: none) and returns how many there are in all;
 * OMP_EXT_EINVAL: no such domain.
 */
int omp_ext_get_domain_cpus(int domain, int *numbers, int max);
int omp_ext_get_domain_threads(int domain, int *numbers, int max);

/* The version of the library, as OMP_EXT_VERSION. */
int omp_ext_get_version(void);

/* Whether tasks of regions that begin now are scheduled by the library: 1 or 0. */
int omp_ext_is_active(void);

/* Writes the map of domains, CPUs and distances, and all settings, to stderr: what OMP_EXT_DISPLAY=1 does at start. */
void omp_ext_display(void);

/* ---------------------------------------------------------------- statistics */

/*
 * What happened since the start or the last reset. Of a domain: the sum over its threads, but for the three marked. Domains
 * with the same CPUs are counted with the first of them.
 */
struct omp_ext_statistics {
    uint64_t n_created; /* tasks created here that the library held */
    uint64_t n_placed; /* tasks placed into this domain (of a thread: placed by it, into any domain) */
    uint64_t n_run; /* tasks run here */
    uint64_t n_local; /* of those: placed into this domain */
    uint64_t n_stolen_inside; /* of those: taken from another thread of the same domain */
    uint64_t n_stolen_outside; /* of those: taken from another domain (not in strict mode) */
    uint64_t n_rescued; /* of those: run outside their domain because the program would have hung */
    uint64_t n_steal_attempts; /* queues of others that were looked into for a task */
    uint64_t n_false_negatives; /* attempts that lost a race, so that a task was there and not taken */
    uint64_t n_sleeps; /* times that a thread went to sleep for want of tasks */
    uint64_t mailbox_depth; /* domains: tasks waiting in the mailbox now */
    uint64_t max_mailbox_depth; /* domains: the most that ever waited there */
};

/*
 * Copies statistics of a domain, of a thread by its number in the calling thread's team, or of the process, to *into,
 * of which `bytes` bytes are written (sizeof: it may grow). Exact when no task runs; else a few tasks behind.
 */
int omp_ext_get_domain_statistics(int domain, struct omp_ext_statistics *into, size_t bytes);
int omp_ext_get_thread_statistics(int thread, struct omp_ext_statistics *into, size_t bytes);
int omp_ext_get_statistics(struct omp_ext_statistics *into, size_t bytes);

/* The number of tasks placed into domain `from` that ran in domain `to`. Out of range: 0. */
uint64_t omp_ext_get_n_moved(int from, int to);

void omp_ext_reset_statistics(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}

namespace omp_ext {

/*
 * Places the tasks that the calling task creates while the object lives, and then returns to what was set before, by
 * exceptions too: { omp_ext::ChildTaskAffinity here(3); ... }. It lives and dies within one task.
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
