// SPDX-License-Identifier: Apache-2.0
/*
 * For performance tools: what libomp_ext.so reports of the tasks that it holds. OMPT reports such a task when it begins
 * to run, on the thread that runs it, as created at once from inside this library; an observer learns when, where and by
 * whom it really was created, where it was placed, how it was found, and of waits, of which OMPT sees only the rest. Of light
 * tasks only an observer learns, and only one that is the tool of this process.
 *
 * Of domains with the same CPUs, whose threads run the tasks of all of them, the first stands for all.
 *
 * A tool looks the function omp_ext_observe up (dlsym, RTLD_DEFAULT) when its OMPT initializer runs. libompass.so does.
 */
#ifndef OMP_EXT_TOOL_H
#define OMP_EXT_TOOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* How a task came to the thread that starts it: see omp_ext_observer.task_starts. */
#define OMP_EXT_FOUND 0   /* in the ordinary way */
#define OMP_EXT_RESCUED 1 /* taken out of its domain, since the program would have hung */

/* Added to `how` of a light task, and to the kind of a wait that ends: the thread did nothing since the event told before.
   Added to the kind of a wait that begins: a task begins at once. */
#define OMP_EXT_AT_ONCE 256
/* Added to `how` of a light task: in a wait for it its thread took it from its own queue, where it had put it itself. */
#define OMP_EXT_AT_HAND 512

/* In place of those: the task, of tallied_task, has run for a while, and whatever was done since the event told before was done
   in it and in others that were only counted. */
#define OMP_EXT_RUNS 1024

/* What stands for a sync region of OMPT before the predecessors of a task, which OMPT tells as a task. */
#define OMP_EXT_WAIT_PREDECESSORS 63

/*
 * Tasks that are only counted. Where a task is so short that its tool reads no clock for it, even a call that tells of it is
 * dear. So in a task for which the observer's `tallies` returns something, light tasks of the constructs in it are counted
 * when they are created, begun at hand or undeferred, and ended, as are their waits for such tasks, and nothing else is
 * told. As soon as anything is to be told in such a task, or when it begins in another way, the observer is asked for what
 * stands for it (tallied_task), and from then on it is a task as any other: begun (OMP_EXT_RUNS, if it had been), and ended
 * by task_ends.
 */
struct omp_ext_tally { /* of a construct, on one thread */
    const void *code; /* its return address, as in task_created */
    uint64_t *n_created, *n_ended; /* of its tasks; raised by one */
    /* Begins up to the next one that is to be told, that included; 0: all are to be told. Lowered by one. */
    uint32_t n_left;
    /* The same of undeferred ones, which are counted by it and by omp_ext_tallies.n_ended alone. */
    uint32_t *n_undeferred_left;
    uint32_t begin; /* of an undeferred one, in the order; 0: it has none yet, so such a task is to be told */
};

/* In which order undeferred tasks begin and end: four bits each, appended to a word while that has room. */
struct omp_ext_order {
    uint64_t word;
    uint32_t n_bits; /* of them taken */
    void *place; /* where the word is written again each time */
    uint32_t end; /* what stands for an end */
    void (*append)(uint32_t what); /* does the same where the word is full */
};

/* True unless the word is full. */
static inline int omp_ext_append(struct omp_ext_order *order, uint32_t what) {
    if (__builtin_expect(order->n_bits >= 64, 0)) return 0;
    order->word |= (uint64_t)what << order->n_bits;
    order->n_bits += 4;
    /* Only one half of the word changes, so nobody sees half of a change. */
    __builtin_memcpy(order->place, &order->word, sizeof order->word);
    __atomic_signal_fence(__ATOMIC_RELEASE);
    return 1;
}

#define OMP_EXT_TALLIES 64
/* Of one thread, which alone uses what it points to, but for `now`; others may read the code of a tally. */
struct omp_ext_tallies {
    const uint32_t *now; /* what is counted is to be counted while this, */
    uint32_t then; /* as any thread may change it, is equal to that; else all is told */
    uint64_t *n_created, *n_ended; /* as those of a construct, for all of them */
    uint64_t *n_ended_at_home; /* deferred tasks, where they were placed */
    uint64_t *n_waits; /* taskwaits */
    const uint64_t *time; /* of the event told last, in the tool's unit */
    unsigned char *is_mixed; /* set to one by each undeferred task that is counted */
    struct omp_ext_order *order; /* null: nobody asks for it */
    /* At omp_ext_place_of(code); null, or of another construct: not known. */
    struct omp_ext_tally *by_code[OMP_EXT_TALLIES];
};

static inline unsigned omp_ext_place_of(const void *code) {
    return (unsigned)((uint64_t)(uintptr_t)code * 0x9E3779B97F4A7C15u >> 58);
}

/*
 * All functions are called by the thread that does what they tell, which may be in no task of OMPT's yet. None may call
 * OpenMP or omp_ext.h. Every task that was created is started or dropped once.
 */
struct omp_ext_observer {
    size_t bytes; /* sizeof(struct omp_ext_observer), as the tool was compiled */

    /* The current task begins, and ends, the creation of a task. Pairs; more tasks may be created, and run, in between. */
    void (*creation_begins)(void);
    void (*creation_ends)(void);
    /* In between: a deferred task was created at this return address of the program, to run in a domain. `flags` as in
       OMPT's task_create. Returns what stands for it in the calls below; null: it is not of interest. Here and below it is the
       address of something: its lowest bit is clear. */
    void *(*task_created)(const void *code, int flags, int has_dependences, int domain);
    /* The second must wait for the first. Called by the creator of both, between task_created and creation_ends. */
    void (*task_depends)(void *before, void *after);

    /* The calling thread starts the task in this domain: OMPT's task_create and task_schedule of the same task follow
       at once on this thread. Null: what follows is no task of the program, but the pattern of a taskloop. */
    void (*task_starts)(void *task, int domain, int how);

    /* The task that OMPT tells of next, undeferred and begun at once, is of this return address of the program. */
    void (*undeferred_starts)(const void *code);

    /* The current task begins a wait, of OMPT's sync region kinds or one above. The runtime's own wait of the same
       kind follows, unless the end is told. */
    void (*wait_begins)(int kind);
    void (*wait_ends)(int kind);

    /* The thread tries to take a task from another thread's queue, which was not empty. */
    void (*steal_begins)(void);
    void (*steal_ends)(int succeeded);

    /*
     * Light tasks, of which neither the runtime nor OMPT knows. Null: the tool must see all tasks through OMPT, and so there
     * are none. They stand for task_starts, undeferred_starts and what OMPT tells of other tasks; and the end of a taskgroup
     * is told as that of other waits. An OMPT event of another task in between names the task around the light ones as the
     * one before it, or after it.
     */
    /* The calling thread begins a task of task_created in this domain, on top of what it runs. */
    void (*task_begins)(void *task, int domain, int how);
    /* The same of an undeferred task, created there and then. Returns what stands for it at its end; null: nothing does. */
    void *(*undeferred_begins)(const void *code, int flags);
    /* The task is complete; what it was begun on top of goes on. No wait for it has ended yet. */
    void (*task_ends)(void *task);

    /* What counts the tasks created in the one that has just begun, by task_begins with OMP_EXT_AT_HAND or by undeferred_begins
       in a team of one thread; null: they are to be told of. Itself null: so are all. Valid until that task ends. */
    struct omp_ext_tallies *(*tallies)(void);
    /* What stands from now on for a task that was only counted: created at that time (omp_ext_tallies.time), to run in a domain,
       with these flags. Called by the thread that tells of it next, which may be another one than that of the tally if the task
       has not begun. Null, as for want of memory: of what is told of it nothing is of interest. */
    void *(*tallied_task)(const struct omp_ext_tally *tally, uint64_t time, int domain, int flags);
};

/*
 * An observer whose tool learns by itself what a task does, as by OMPT's events of locks: tells of the task that the calling thread
 * runs, if that has been only counted so far, by a call of tallied_task and of task_begins. Nothing else of what it takes to be
 * current is changed.
 */
void omp_ext_tell_of_current(void);

/*
 * Registers the observer, which must live as long as the process; null removes it. To be called before the first
 * parallel region. Returns 1 when the library schedules this program, 0 when it leaves it to the runtime until the
 * program asks for placement.
 */
int omp_ext_observe(const struct omp_ext_observer *observer);

/* Returns 1 when the address is in the OpenMP runtime whose tasks the library schedules, or may schedule later. A process may
   have several runtimes; a tool that observes another one must not register an observer. */
int omp_ext_schedules(const void *code);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
