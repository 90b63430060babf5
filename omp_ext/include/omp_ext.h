// SPDX-License-Identifier: Apache-2.0
/*
 * omp_ext.h: locality domains for OpenMP tasks, on the installed LLVM OpenMP runtime.
 *
 * A locality domain is a set of threads with storage close to them: a NUMA node, or a cache. A program chooses the
 * domains in which its tasks run and its memory lies. libomp_ext.so, linked (-lomp_ext) or preloaded, schedules the
 * tasks accordingly. The omp_* functions are from Olivier et al., "Characterizing and mitigating work time inflation in
 * task parallel programs", section 5; the omp_ext_* functions are additions.
 *
 *   #pragma omp parallel
 *   #pragma omp single
 *   for (int part = 0; part < omp_get_num_locality_domains(); part++) {
 *       omp_child_task_affinity(part);              // tasks that this task creates from now on run in domain `part`
 *       #pragma omp task
 *       work_on(part);                              // its own tasks run there too, unless it places them elsewhere
 *   }
 *
 * Rules. Domains are numbered from 0. All functions are thread-safe and may be called at any time, except in signal
 * handlers. They never end the program or change its results. Each function states the effect of a wrong argument; the
 * library also reports a wrong address in omp_affinity_free once on stderr. Unless stated otherwise, an int result is 0
 * or a negative OMP_EXT_E*. If the library does not know the program's OpenMP runtime, the runtime schedules all tasks.
 *
 * The library schedules programs that refer to omp_child_task_affinity, omp_ext_set_strict or
 * omp_ext_set_region_strict, or use the affinity clause of the task construct. With OMP_EXT_SCHEDULE=1 it schedules all
 * programs, with OMP_EXT_SCHEDULE=0 none. docs/locality.md lists all environment variables.
 */
#ifndef OMP_EXT_H
#define OMP_EXT_H

#include <stddef.h>
#include <stdint.h>

#define OMP_EXT_VERSION 100 /* major * 10000 + minor * 100 + patch of this header */

#define OMP_NO_CHILD_TASK_AFFINITY (-1) /* children run in the domain of their creator */

#define OMP_EXT_EINVAL (-1) /* an argument is out of range */
#define OMP_EXT_ENOMEM (-2) /* out of memory */
#define OMP_EXT_ENOTSUP (-3) /* not possible on this machine or system */

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---------------------------------------------------------------- where tasks run */

/*
 * Sets the domain of tasks that the calling task (explicit or implicit) creates from now on. These tasks do not inherit
 * the setting. OMP_NO_CHILD_TASK_AFFINITY, or any negative number, restores the default: the domain in which the
 * creating task runs. Other numbers count modulo the number of domains. Has no effect outside of parallel regions.
 */
void omp_child_task_affinity(int domain);

/* Returns the calling task's setting, or OMP_NO_CHILD_TASK_AFFINITY. */
int omp_ext_get_child_task_affinity(void);

/* Returns the number of domains: at least 1, constant in a process. */
int omp_get_num_locality_domains(void);

/*
 * Returns the domain in which the calling task runs: the domain of its thread. If OMP_EXT_DOMAINS asks for more domains
 * than there are CPUs, several domains share threads; the result is then the domain in which the task was placed.
 * Outside of parallel regions, returns the thread's domain in its last region, else the domain of its current CPU.
 */
int omp_get_locality_domain_num(void);

/*
 * In strict mode tasks run only in their domain, except for rescues. A rescue runs a task elsewhere because the program
 * would otherwise hang: no stack is left, or something outside OpenMP blocks threads. n_rescued counts rescues. Without
 * strict mode (the default, unless OMP_EXT_STRICT=1), a thread that finds no task in its domain takes tasks of other
 * domains, nearest first.
 * set_strict: sets the mode of all regions without a setting of their own. set_region_strict: sets the mode of the
 * calling thread's innermost region, at once and for all its threads; has no effect outside of parallel regions.
 * get_strict: returns the calling thread's mode.
 */
void omp_ext_set_strict(int strict);
void omp_ext_set_region_strict(int strict);
int omp_ext_get_strict(void);

/* ---------------------------------------------------------------- placing memory */

/*
 * Allocate whole, zeroed pages; omp_affinity_free frees them. Return NULL if no memory is left or bytes is 0.
 * alloc: each page lies where it is first touched. alloc_ondomain: in this domain; a number out of range counts modulo
 * the number of domains, a negative one means first touch. alloc_interleaved: page by page in all domains in turn.
 * A full domain is not an error: the system then uses memory of another one.
 */
void *omp_affinity_alloc(size_t bytes);
void *omp_affinity_alloc_ondomain(size_t bytes, int domain);
void *omp_affinity_alloc_interleaved(size_t bytes);

/*
 * Moves the pages of [address, address + bytes), of any memory, to a domain (modulo the number of domains); untouched
 * pages will lie there too. Moves whole pages if the range covers only parts of them.
 * OMP_EXT_EINVAL: the domain is negative, or part of the range is not mapped; no page moved. Do not move freed memory:
 * it may be unmapped or in other use. OMP_EXT_ENOTSUP: some or all pages did not move.
 */
int omp_affinity_mem_todomain(void *address, size_t bytes, int domain);

/*
 * Frees a whole allocation of the functions above; ignores `bytes`, which exists for compatibility with Qthreads.
 * Ignores NULL and all other addresses, including freed ones.
 */
void omp_affinity_free(void *address, size_t bytes);

/*
 * Return the domain of the page at an address, and the domain that holds most bytes of a range; -1: unknown. Both ask
 * the system, for at most a million evenly spaced pages. The system cannot answer if pages are untouched, if their
 * domains share a NUMA node, or if OMP_EXT_DOMAINS describes another machine; the result is then the domain that the
 * calls above gave to the memory.
 * forget_pages: discards known locations of pages, for programs that move pages by other means. Without that call,
 * the affinity clause may use a former location for ten seconds.
 */
int omp_ext_domain_of_address(const void *address);
int omp_ext_domain_of_range(const void *address, size_t bytes);
void omp_ext_forget_pages(void);

/* ---------------------------------------------------------------- the map of the machine */

/*
 * Returns the distance of domain `to` from `from`: 10 for the same domain, larger for others. The source is hwloc's
 * latencies or the firmware's SLIT, else the topology. OMP_EXT_EINVAL: a number is out of range.
 */
int omp_ext_get_domain_distance(int from, int to);

/*
 * Store at most `max` numbers in `numbers`, none if it is NULL, and return the total number. cpus: the domain's CPUs,
 * as the system numbers them. threads: the domain's threads in the calling thread's team. OMP_EXT_EINVAL: no such
 * domain.
 */
int omp_ext_get_domain_cpus(int domain, int *numbers, int max);
int omp_ext_get_domain_threads(int domain, int *numbers, int max);

/* Returns the OMP_EXT_VERSION of the library. */
int omp_ext_get_version(void);

/* Returns 1 if the library schedules the tasks of regions that begin now, else 0. */
int omp_ext_is_active(void);

/* Prints domains, CPUs, distances and settings on stderr, as OMP_EXT_DISPLAY=1 does at start. */
void omp_ext_display(void);

/* ---------------------------------------------------------------- statistics */

/*
 * Counts since the start or the last reset. A domain's counts are sums over its threads, except n_placed and the
 * mailbox depths. Domains with the same CPUs are counted as the first of them.
 */
struct omp_ext_statistics {
    uint64_t n_created; /* tasks created here that the library scheduled */
    uint64_t n_placed; /* tasks placed into this domain; of a thread: tasks that it placed, in any domain */
    uint64_t n_run; /* tasks run here */
    uint64_t n_local; /* part of n_run: placed into this domain */
    uint64_t n_stolen_inside; /* part of n_run: taken from another thread of the same domain */
    uint64_t n_stolen_outside; /* part of n_run: taken from another domain (not in strict mode) */
    uint64_t n_rescued; /* part of n_run: run outside their domain because the program would have hung */
    uint64_t n_steal_attempts; /* searches in a queue of another thread that seemed to have tasks */
    uint64_t n_false_negatives; /* attempts that found a task and lost it to another thread */
    uint64_t n_sleeps; /* times that a thread went to sleep without a task */
    uint64_t mailbox_depth; /* of domains: tasks now in the inbox */
    uint64_t max_mailbox_depth; /* of domains: most tasks in the inbox */
};

/*
 * Copy the statistics of a domain, a thread of the calling thread's team, or the process. `bytes`: sizeof *into; they
 * copy no more, because newer libraries may add fields. The counts are exact if no task runs, else a few tasks behind.
 * OMP_EXT_EINVAL: no such domain or thread, or into is NULL; *into is unchanged.
 */
int omp_ext_get_domain_statistics(int domain, struct omp_ext_statistics *into, size_t bytes);
int omp_ext_get_thread_statistics(int thread, struct omp_ext_statistics *into, size_t bytes);
int omp_ext_get_statistics(struct omp_ext_statistics *into, size_t bytes);

/* Returns the number of tasks placed into domain `from` that ran in domain `to`; 0 if a number is out of range. */
uint64_t omp_ext_get_n_moved(int from, int to);

/* Sets all counts to 0, except mailbox_depth; max_mailbox_depth becomes the present depth. */
void omp_ext_reset_statistics(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}

namespace omp_ext {

/*
 * Sets the child task affinity in a scope and restores the former one at its end, also after an exception:
 * { omp_ext::ChildTaskAffinity here(3); ... }. One task must create and destroy the object.
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
