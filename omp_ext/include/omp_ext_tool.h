// SPDX-License-Identifier: Apache-2.0
/*
 * For performance tools: the events of the tasks that libomp_ext.so holds. OMPT reports the creation of a held task
 * only when it begins, by the thread that runs it and at an address in this library. An observer is notified of its
 * true creation, creator, domain and start, and of whole waits; OMPT reports only the last part of a wait. Light tasks
 * are reported only to an observer, which must be the active tool of this process.
 *
 * If several domains have the same CPUs, their threads run the tasks of all of them, and events name the first.
 *
 * A tool finds the function omp_ext_observe by dlsym (RTLD_DEFAULT) in its OMPT initializer, as libompass.so does.
 */
#ifndef OMP_EXT_TOOL_H
#define OMP_EXT_TOOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Values of `how` in omp_ext_observer.task_starts and task_begins. */
#define OMP_EXT_FOUND 0   /* found by the normal search */
#define OMP_EXT_RESCUED 1 /* taken out of its domain, because the program would have hung */

/* Flag of `how` of a light task, and of the kind of a wait that ends: the thread did nothing since the last reported
   event. Flag of the kind of a wait that begins: a task begins at once. */
#define OMP_EXT_AT_ONCE 256
/* Flag of `how` of a light task: its creator, waiting for it, took it from its own queue. */
#define OMP_EXT_AT_HAND 512

/* Replaces these flags: the task, made by tallied_task, already runs. Since the last reported event the thread ran only
   this task and other counted tasks. */
#define OMP_EXT_RUNS 1024

/* Kind of a wait for the predecessors of a task. OMPT has no such kind: it reports this wait as a task. */
#define OMP_EXT_WAIT_PREDECESSORS 63

/*
 * Counted tasks. If tasks are so short that the tool reads no clock for them, even the calls that report them are
 * expensive. So if the observer's `tallies` returns counters for a task, this library only counts the creations, begins
 * (undeferred, or with OMP_EXT_AT_HAND) and ends of the task's light children of these constructs, and their taskwaits.
 * When another event of a counted task must be reported, or it begins in another way, the library calls tallied_task
 * for the tool's data of the task. From then on it reports the task as any other: task_begins (with OMP_EXT_RUNS if it
 * already runs), and task_ends.
 */
struct omp_ext_tally { /* counters of a construct on one thread */
    const void *code; /* return address of the construct, as in task_created */
    uint64_t *n_created, *n_ended; /* created and ended tasks of the construct */
    /* Begins until one must be reported, this one included; 0: report all. Each counted begin decrements it. */
    uint32_t n_left;
    /* The same for undeferred tasks, which only this field and omp_ext_tallies.n_ended count. */
    uint32_t *n_undeferred_left;
    uint32_t begin; /* code of an undeferred begin in omp_ext_order; 0: no code yet, report the task */
};

/* The sequence of undeferred begins and ends: codes of four bits, appended to a word while it has room. */
struct omp_ext_order {
    uint64_t word;
    uint32_t n_bits; /* used bits of `word` */
    void *place; /* copy of `word`, written after each code */
    uint32_t end; /* code of an end */
    void (*append)(uint32_t what); /* appends a code when the word is full */
};

/* Appends a code. Returns 0 if the word is full. */
static inline int omp_ext_append(struct omp_ext_order *order, uint32_t what) {
    if (__builtin_expect(order->n_bits >= 64, 0)) return 0;
    order->word |= (uint64_t)what << order->n_bits;
    order->n_bits += 4;
    /* A code changes only one half of the word, so no reader sees half of a change. */
    __builtin_memcpy(order->place, &order->word, sizeof order->word);
    __atomic_signal_fence(__ATOMIC_RELEASE);
    return 1;
}

#define OMP_EXT_TALLIES 64
/* The counters of one thread, for this thread alone. Other threads may write *now and read omp_ext_tally.code. */
struct omp_ext_tallies {
    const uint32_t *now; /* count only while *now == then; otherwise report everything */
    uint32_t then; /* see now */
    uint64_t *n_created, *n_ended; /* created and ended tasks of all constructs */
    uint64_t *n_ended_at_home; /* deferred tasks that ended in their domain */
    uint64_t *n_waits; /* taskwaits */
    const uint64_t *time; /* time of the last reported event, in the tool's unit */
    unsigned char *is_mixed; /* set to 1 by each counted undeferred task */
    struct omp_ext_order *order; /* null: the tool does not need it */
    /* A construct's counters are at omp_ext_place_of(code). Null or another construct's: the construct is unknown. */
    struct omp_ext_tally *by_code[OMP_EXT_TALLIES];
};

static inline unsigned omp_ext_place_of(const void *code) {
    return (unsigned)((uint64_t)(uintptr_t)code * 0x9E3779B97F4A7C15u >> 58);
}

/*
 * The thread that causes an event calls the function, perhaps before OMPT knows a task of the thread. The functions
 * must not call OpenMP or omp_ext.h. Every created task is started or dropped once.
 */
struct omp_ext_observer {
    size_t bytes; /* sizeof(struct omp_ext_observer), as the tool was compiled */

    /* The current task begins and ends a creation. They pair; more tasks may be created and run in between. */
    void (*creation_begins)(void);
    void (*creation_ends)(void);
    /* In between: a deferred task was created at this return address of the program, and placed in this domain. `flags`
       as in OMPT's task_create. Returns the tool's data of the task for later calls, an even address; null: no data. */
    void *(*task_created)(const void *code, int flags, int has_dependences, int domain);
    /* `after` must wait for `before`. Called by the creator of both, between task_created and creation_ends. */
    void (*task_depends)(void *before, void *after);

    /* The calling thread starts the task in this domain: OMPT's task_create and task_schedule of the same task follow
       at once on this thread. Null: they are for the pattern of a taskloop, not for a task of the program. */
    void (*task_starts)(void *task, int domain, int how);

    /* The next task that OMPT reports, undeferred and begun at once, was created at this address of the program. */
    void (*undeferred_starts)(const void *code);

    /* The current task begins and ends a wait; `kind` is OMPT's sync region kind or OMP_EXT_WAIT_PREDECESSORS. If the
       end is not reported, the runtime's own wait of this kind follows. */
    void (*wait_begins)(int kind);
    void (*wait_ends)(int kind);

    /* The thread tries to take a task from another thread's queue, which was not empty. */
    void (*steal_begins)(void);
    void (*steal_ends)(int succeeded);

    /*
     * Light tasks, which the runtime and OMPT do not know. Null: the tool needs OMPT's events of all tasks, so no task
     * is light. These calls replace task_starts, undeferred_starts and OMPT's events. The end of a taskgroup is
     * reported like the end of other waits. An OMPT event of another task in between names the task around the light
     * ones as the previous or next task.
     */
    /* The calling thread begins a task of task_created in this domain, on top of its current task. */
    void (*task_begins)(void *task, int domain, int how);
    /* An undeferred task is created and begins. Returns the tool's data of the task for task_ends; null: no data. */
    void *(*undeferred_begins)(const void *code, int flags);
    /* The task is complete; the task below it continues. No wait for it has ended yet. */
    void (*task_ends)(void *task);

    /* Returns the counters for tasks created in the task that has just begun, by task_begins with OMP_EXT_AT_HAND or by
       undeferred_begins in a team of one; null: report these tasks. Valid until the task ends. If `tallies` itself is
       null, all tasks are reported. */
    struct omp_ext_tallies *(*tallies)(void);
    /* Returns the tool's data of a counted task with these flags, created at this time (omp_ext_tallies.time) and
       placed in this domain; null, for example without memory: no data. Called by the thread that reports the task
       next; if the task has not begun, this may be another thread than the counters'. */
    void *(*tallied_task)(const struct omp_ext_tally *tally, uint64_t time, int domain, int flags);
};

/*
 * Reports the current task of the calling thread by tallied_task and task_begins, if it was only counted so far. For
 * tools that receive other events inside tasks, such as OMPT's events of locks. Changes nothing else.
 */
void omp_ext_tell_of_current(void);

/*
 * Registers the observer, which must exist until the process ends; null removes it. Call it before the first parallel
 * region. Returns 1 if the library schedules this program; 0 if the runtime does, until the program requests placement.
 */
int omp_ext_observe(const struct omp_ext_observer *observer);

/* Returns 1 if the address is in the OpenMP runtime whose tasks the library schedules, or may schedule later. A process
   may have several runtimes; a tool that observes another one must not register an observer. */
int omp_ext_schedules(const void *code);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
