// SPDX-License-Identifier: Apache-2.0
/*
 * omp_ext_tool.h: how libomp_ext.so reports the tasks that it holds to a performance tool.
 *
 * OMPT reports the creation of a held task late: when the task begins to run, on the thread that runs it. It reports
 * only the last part of each wait. A tool that registers an observer also learns the true time, place and creator, the
 * domain of placement, how a thread found the task, and whole waits. Light tasks are reported only to an observer that
 * is the process's tool. Domains with the same CPUs share their threads and are reported as the first of them.
 *
 * In its OMPT initializer a tool finds omp_ext_observe by dlsym(RTLD_DEFAULT), as libompass.so does.
 */
#ifndef OMP_EXT_TOOL_H
#define OMP_EXT_TOOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* How a thread found the task that it starts (`how` of task_starts and task_begins). */
#define OMP_EXT_FOUND 0   /* normally */
#define OMP_EXT_RESCUED 1 /* in another domain, because the program would have hung */

/* Flag in `how` of a light task and in the kind of a wait that ends: the thread has done nothing since the previous
   reported event. In the kind of a wait that begins: a task begins at once. */
#define OMP_EXT_AT_ONCE 256
/* Flag in `how` of a light task: the thread took it from its own queue, in a wait of the parent for its children. */
#define OMP_EXT_AT_HAND 512
/* `how` of a task from counted_task that has run for a while. Since the previous reported event the thread ran only
   counted tasks, including this one. */
#define OMP_EXT_RUNS 1024

/* Kind of a wait for the predecessors of a task. OMPT has no sync region for this wait and reports it as a task. */
#define OMP_EXT_WAIT_PREDECESSORS 63

/*
 * Counted tasks. Some tasks are so short that the tool reads no clock for them; even a call of the tool is then too
 * expensive. If `counters` returned counters for a task, the library counts the light tasks that this task creates in
 * known constructs, and does not report them. It counts their creation, their begin if they are undeferred or at hand,
 * their end, and waits for them. The library calls counted_task if a counted task begins in another way, or before it
 * reports another event of the task. If the task runs already, it also calls task_begins with OMP_EXT_RUNS. From then
 * on it reports the task.
 */
struct omp_ext_counter { /* counters of one construct on one thread */
    const void *code; /* return address of the construct, as in task_created */
    uint64_t *n_created, *n_ended; /* deferred tasks; the library adds 1 */
    /* Number of begins up to and including the next begin to report; 0: report all. The library subtracts 1. */
    uint32_t n_left;
    uint32_t *n_undeferred_left; /* the same for undeferred tasks; only omp_ext_counters.n_ended counts their ends */
    uint32_t begin; /* bits of an undeferred task's begin in omp_ext_order; 0: none yet, so report the task */
};

/* The order in which undeferred tasks begin and end: four bits each, appended to a word until it is full. */
struct omp_ext_order {
    uint64_t word;
    uint32_t n_bits; /* used bits of the word */
    void *place; /* address to which each append copies the word */
    uint32_t end; /* bits of an undeferred task's end */
    void (*append)(uint32_t bits); /* the library calls it if the word is full */
};

/* Appends four bits to the word. Returns 0 if the word is full. */
static inline int omp_ext_append(struct omp_ext_order *order, uint32_t bits) {
    if (__builtin_expect(order->n_bits >= 64, 0)) return 0;
    order->word |= (uint64_t)bits << order->n_bits;
    order->n_bits += 4;
    /* Four bits change, all in one half of the word, so other processes read the old or the new value. */
    __builtin_memcpy(order->place, &order->word, sizeof order->word);
    __atomic_signal_fence(__ATOMIC_RELEASE);
    return 1;
}

#define OMP_EXT_COUNTERS 64
/* Counters of one thread. Other threads write only *now and read only `code` of counters. */
struct omp_ext_counters {
    const uint32_t *now; /* the library counts while *now == then, else it reports */
    uint32_t then;
    uint64_t *n_created, *n_ended; /* of all constructs */
    uint64_t *n_ended_at_home; /* deferred tasks that ended in the domain of their placement */
    uint64_t *n_waits; /* taskwaits */
    const uint64_t *time; /* time of the last reported event, in the tool's unit */
    unsigned char *is_mixed; /* set to 1 by each counted undeferred task */
    struct omp_ext_order *order; /* null: not needed */
    /* A construct's counter is at omp_ext_place_of(code). The construct is unknown if that place is null or holds the
       counter of another construct. */
    struct omp_ext_counter *by_code[OMP_EXT_COUNTERS];
};

static inline unsigned omp_ext_place_of(const void *code) {
    return (unsigned)((uint64_t)(uintptr_t)code * 0x9E3779B97F4A7C15u >> 58);
}

/*
 * The tool's functions. task_created and task_starts are required; the others may be null, each pair or group together.
 * The acting thread calls them, possibly before OMPT has reported a task on it. They must not call OpenMP or omp_ext.h.
 */
struct omp_ext_observer {
    size_t bytes; /* sizeof(struct omp_ext_observer) in the tool */

    /* The current task begins and ends the creation of a task. The calls are paired, also around nested creations. Two
       exceptions: the begin of an undeferred task ends its creation without creation_ends; in a task with counters,
       creation_begins may be missing. */
    void (*creation_begins)(void);
    void (*creation_ends)(void);
    /* The current task created a deferred task, at this return address in the program, to run in this domain. Called
       between creation_begins and creation_ends. `flags`: as in OMPT's task_create. Returns the tool's handle of the
       task for the calls below, an even address; null: the tool ignores the task. Each task starts at most once. */
    void *(*task_created)(const void *code, int flags, int has_dependences, int domain);
    /* `after` must wait for `before`. Called by the creator of both, between task_created and creation_ends. */
    void (*task_depends)(void *before, void *after);

    /* The calling thread starts the task in this domain. OMPT's task_create and task_schedule of the task follow at
       once on this thread. `task` is null if the tool ignores the task, or if the task is not the program's, such as
       the pattern of a taskloop. */
    void (*task_starts)(void *task, int domain, int how);

    /* The next task that OMPT reports is undeferred, begins at once, and has this return address in the program. */
    void (*undeferred_starts)(const void *code);

    /* The current task begins and ends a wait. `kind`: a sync region kind of OMPT, or OMP_EXT_WAIT_PREDECESSORS. If the
       end is not reported, the runtime's own wait of the same kind follows. A wait that is over at once may report only
       its end. A taskwait may report its begin again, when the thread's own queue has no more of its children. */
    void (*wait_begins)(int kind);
    void (*wait_ends)(int kind);

    /* The thread tries to take a task from another thread's queue, which seemed to have one. */
    void (*steal_begins)(void);
    void (*steal_ends)(int succeeded);

    /*
     * Light tasks, which neither the runtime nor OMPT knows. If these functions are null, the library makes no light
     * tasks, so the tool sees all tasks through OMPT. For light tasks they replace task_starts, undeferred_starts and
     * OMPT's task events. wait_ends also reports the end of their taskgroups. OMPT's events of other tasks name the
     * task around the light ones as prior or next task.
     */
    /* The calling thread begins a task of task_created in this domain, on top of its current task. */
    void (*task_begins)(void *task, int domain, int how);
    /* The same for an undeferred task, which is created now. Returns the handle for task_ends; may be null. */
    void *(*undeferred_begins)(const void *code, int flags);
    /* The task is complete, and the task below it continues. No wait for it has ended yet. */
    void (*task_ends)(void *task);

    /* Returns counters for the tasks that the current task creates, valid until it ends; null: report them. Called
       after task_begins with OMP_EXT_AT_HAND, and after undeferred_begins in a team of one thread. */
    struct omp_ext_counters *(*counters)(void);
    /* Returns the handle of a task that was counted so far; null: the tool ignores the task. `time`: time of its
       creation (*omp_ext_counters.time). Called by the thread that reports the task next, which may differ from the
       counter's thread if the task has not begun. */
    void *(*counted_task)(const struct omp_ext_counter *counter, uint64_t time, int domain, int flags);
};

/*
 * Reports the calling thread's current task (counted_task, task_begins) if the library only counted it so far. For
 * tools that learn of the task's events from another source, such as OMPT's events of locks.
 */
void omp_ext_report_current(void);

/*
 * Returns the return address of the program's call that last began a region on this thread. Call it when OMPT reports
 * the begin of a region with a return address in this library. gcc's regions have such addresses, because a function of
 * this library begins them.
 */
const void *omp_ext_region_call(void);

/*
 * Registers the observer, which must live as long as the process; null removes it. Call it before the first parallel
 * region. Returns 1 if the library schedules this program; 0 if it leaves tasks to the runtime until the program asks
 * for placement, or if the observer is smaller than the library's (reported on stderr).
 */
int omp_ext_observe(const struct omp_ext_observer *observer);

/* Returns 1 if the address is in the OpenMP runtime whose tasks the library schedules or may schedule later. In a
   process with several runtimes, a tool that observes another one must not register an observer. */
int omp_ext_schedules(const void *code);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
