// SPDX-License-Identifier: Apache-2.0
// The bytes of a run directory: file headers, extents and trace events, each declared once; figures.h has the slots of
// the profile. The tool writes them (process_log, thread_log); format/ reads files, extents and slots, events/ decodes the
// records of events. Two writers of test traces know the same bytes on purpose, so that a test notices when they change
// (tests/support/made_traces.py, tests/benchmarks/large_trace.py). docs/trace-format.md shows them, annotated.
//
// Conventions: little endian, all fields naturally aligned, times in clock ticks unless a name says otherwise.
// A file is a header of kHeaderBytes followed by extents, each beginning with an ExtentHeader. Files only grow.
// A log has a single writer, which stores the first 32 bits of a record last: a reader that stops where these are
// zero sees only whole records, wherever the writer died.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ompass::format {

// Version 1 had shorter slots, and knew nothing of absences: its figures of them are 0, its threads' source is kNone.
// Version 2 had no short records.
inline constexpr uint32_t kVersion = 3;
inline constexpr uint32_t kOldestVersion = 1;
inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kHeaderBytes = kPageBytes;
inline constexpr char kProcessMagic[8] = {'O', 'M', 'P', 'A', 'S', 'S', 'P', 'R'};
inline constexpr char kThreadMagic[8] = {'O', 'M', 'P', 'A', 'S', 'S', 'T', 'H'};
inline constexpr uint32_t kExtentMagic = 0x58504d4f; // "OMPX"
inline constexpr unsigned kMaxCounters = 8;
inline constexpr unsigned kHistogramBins = 48;

enum class Mode : uint32_t { kProfile = 0, kTrace = 1 };
enum class ClockKind : uint32_t { kTsc = 0, kCntvct = 1, kClockGettime = 2 };
enum class EndReason : uint32_t { kRunning = 0, kFinalized = 1, kExit = 2, kControlEnd = 3 };
enum class DefinitionKind : uint32_t {
    kProgram = 0,
    kTask = 1,
    kParallel = 2,
    kKernel = 3,
    kPhase = 4,
    kModule = 5,
    kWait = 6,
    kLoop = 7
};
// A helper is the runtime's own: libomp runs `target nowait` tasks on a team of such threads, which no program began.
enum class ThreadKind : uint32_t { kInitial = 0, kWorker = 1, kOther = 2, kHelper = 3 };

// The five states of metrics.md, in the order in which every array of states is kept.
enum class State : uint32_t { kWork = 0, kCreate = 1, kSchedule = 2, kSync = 3, kIdle = 4 };
inline constexpr size_t kStates = 5;

// How a thread knew when it was absent: recorded, but not on a processor. It is preempted when it was switched out while
// it could have run, blocked when it left by itself, until it runs again.
enum class CpuSource : uint32_t {
    kNone = 0, // not known
    kSwitches = 1, // the kernel's record of each switch
    kClocks = 2 // clocks of the thread, read where it enters and leaves regions: in which state is not known
};

// ---------------------------------------------------------------- extents

enum class ExtentKind : uint32_t { kDefinitions = 1, kInstances = 2, kSlots = 3, kEvents = 4, kSamples = 5 };

struct ExtentHeader {
    uint32_t magic; // kExtentMagic; written last, so an extent whose writer died at birth reads as the end of the file
    ExtentKind kind;
    uint64_t bytes; // of the whole extent, this header included; a multiple of 4096
    uint64_t first; // kSlots: id of the first slot; kEvents: see below; else the running number among those of the kind
    uint64_t unused[5];
};
static_assert(sizeof(ExtentHeader) == 64);

// Extents of events are numbered from 0 in order of time, which is not their order in the file. While an extent is being
// emptied it has neither number nor events. When a writer died, the file may hold its latest extent twice.
inline constexpr uint64_t kNoNumber = ~uint64_t{0};

// ---------------------------------------------------------------- process.log

// ProcessHeader::first_refusal holds an errno or one of these.
inline constexpr uint32_t kRefusedBySandbox = 0x10000; // opening a file might have killed the program
inline constexpr uint32_t kRefusedByBounds = 0x10001; // more threads or constructs than a record holds

// What the control groups of the process allowed, and how often they held it back, at one moment (control_groups.h).
struct GroupLimits {
    uint64_t quota_us; // processor time in each period, by the level that allows least; 0: no limit
    uint64_t period_us;
    uint64_t n_throttled; // periods in which a group had used its quota; all levels, since each was made
    uint64_t throttled_ns; // how long it was held back then, a sum over processors
    uint32_t n_cpus; // in the cpuset; 0: not known
    uint32_t is_known; // 0: not read, all the rest is 0
};
static_assert(sizeof(GroupLimits) == 40);

struct ProcessHeader {
    char magic[8]; // kProcessMagic
    uint32_t version;
    uint32_t header_bytes; // kHeaderBytes
    uint32_t pid;
    Mode mode;
    ClockKind clock_kind;
    uint32_t wrappers; // 1: create_ticks are measured; 0: there are none, the reader estimates creation
    uint32_t n_counters;
    EndReason end_reason;
    uint64_t calibration_ticks; // first of the two simultaneous readings that give the rate of the clock
    uint64_t calibration_monotonic_ns;
    uint64_t rate; // nanoseconds per tick, 32.32 fixed point: a first guess, for runs too short for the second reading
    uint64_t start_ticks; // first moment of the run
    uint64_t start_monotonic_ns;
    uint64_t start_epoch_ns;
    uint64_t latest_ticks; // second calibration point, renewed now and then; ticks are raw, pauses included
    uint64_t latest_monotonic_ns;
    uint64_t end_ticks; // 0 while running
    uint64_t paused_ticks; // total length of all pauses; event times leave pauses out
    uint32_t n_threads; // thread logs begun
    uint32_t limit_reached; // 1: the size limit stopped the trace; 2: the disk did
    uint32_t n_pauses;
    uint32_t n_misuses; // kernel marks without a partner and the like
    uint64_t min_create_gap; // shortest time between two creations of one task, ~0 when none was seen
    char counter_names[kMaxCounters][64];
    uint32_t n_lost; // pieces of the record that could not be written, and are missing
    uint32_t is_final; // 1: no file of the run is lengthened or cut any more
    uint32_t n_usable_cpus; // that the process might run on when recording began; 0: not known
    uint32_t pad_;
    uint64_t earlier_cpu_ns; // processor time of the process before the tool started
    uint32_t sample_hz; // samples a second that were asked for; 0: none
    uint32_t sample_error; // errno, when the kernel refused to sample a thread
    uint32_t n_unsampled; // threads that it refused
    uint32_t wants_loads; // 1: samples of loads were asked for
    uint32_t loads_error; // errno: why they are of time instead
    uint32_t n_bound_cpus; // processors that OpenMP's threads were bound to at their end, together; 0: not known
    uint32_t first_refusal; // errno, or kRefusedBy…: why the first piece that is missing could not be written
    uint32_t n_unlogged; // threads without a log, n_lost counts them too
    uint64_t n_unlogged_tasks; // that completed, and no log counts; known when recording or the thread has ended
    uint64_t n_unlogged_records; // of traces that have no log
    GroupLimits groups_at_start;
    GroupLimits groups_at_end; // is_known 0: the run was cut short, or the files could not be read then
    char other_runtime
        [256]; // path of a second OpenMP runtime that a library calls, and that is not recorded; empty: none
};
static_assert(sizeof(ProcessHeader) <= kHeaderBytes);

// Appended one after the other in kDefinitions extents; `bytes` is a multiple of 8. Ids count from 0 for each of
// {modules} and {all other kinds}; id 0 of the latter is the program itself ("outside every region").
struct DefinitionRecord {
    uint32_t bytes; // of the record with its text; written last
    DefinitionKind kind;
    uint32_t id;
    uint32_t flags; // tasks: OMPT task flags at first creation; waits: kind of wait; loops: kind of work
    uint32_t module; // id of the module; ~0 when unknown
    uint32_t text_bytes;
    uint64_t address; // ELF virtual address of the return address; modules: load bias when met first
    // followed by text_bytes of text: kernels and phases their name; modules "hex build id\0path"
};
static_assert(sizeof(DefinitionRecord) == 32);

// One parallel region in flight. A pool: entries are taken again after every thread has closed its part.
// The primary thread writes all but last_arrival, which every member raises by an atomic maximum.
struct alignas(64) RegionInstance {
    uint64_t begin;
    uint64_t end; // 0 while the region runs
    uint64_t sequence; // of this use of the entry; 0: never used
    uint64_t id; // primary thread << 40 | its counter
    uint32_t construct;
    uint32_t team_size;
    uint32_t level;
    uint32_t has_tasks; // 1: a deferred task was created in it
    int32_t n_open; // members that have not closed their part, the primary included; atomic
    uint32_t primary_thread;
    uint64_t last_arrival[2]; // latest arrival at an odd / even barrier of the region
    uint64_t index; // place in the pool
    uint64_t
        waited_for[2]; // number of such a barrier << 32 | kSettled | construct for which its threads waited; atomic
    uint32_t end_wait; // construct of the wait at the region's end
    uint32_t is_runtimes; // 1: the runtime began it for itself, and its members are helpers
    uint64_t unused[2];
};
static_assert(sizeof(RegionInstance) == 128);
inline constexpr uint64_t kSettled = uint64_t{1} << 31; // the region has ended: the answer stays
constexpr uint32_t waited_for(uint64_t entry, uint32_t n_barriers) {
    return entry >> 32 == n_barriers ? static_cast<uint32_t>(entry & (kSettled - 1)) : 0;
}

// ---------------------------------------------------------------- thread-NNNNN.log

// A worker's part of a region that the worker has left and the primary has not ended yet: a gap since `begin`.
struct PendingPart {
    uint64_t instance; // index
    uint64_t sequence; // of its use; 0: no part
    uint64_t begin;
    uint32_t region; // construct
    uint32_t n_barriers; // reached in it
};
static_assert(sizeof(PendingPart) == 32);
inline constexpr unsigned kMaxPendingParts = 4;

// Of some time, what the thread was not on a processor.
struct OffCpuTicks {
    uint64_t preempted;
    uint64_t blocked;

    OffCpuTicks &operator+=(OffCpuTicks other) {
        preempted += other.preempted, blocked += other.blocked;
        return *this;
    }
};

// The accounting state of a thread lives in its header, so a reader can finish the account of a killed thread.
struct ThreadHeader {
    char magic[8]; // kThreadMagic
    uint32_t version;
    uint32_t header_bytes;
    uint32_t index;
    uint32_t tid;
    ThreadKind kind;
    uint32_t cpu; // last seen
    uint64_t first_ticks; // first event
    uint64_t mark; // everything before is accounted; the open stretch begins here
    uint32_t open_state; // OpenState of that stretch
    uint32_t open_region; // region construct of that stretch
    uint32_t open_construct; // task construct of that stretch; 0: implicit task, kOpenPool: shared by undeferred tasks
    uint32_t open_wait; // construct of the wait of that stretch, if it is a gap
    uint64_t open_instance; // index of the RegionInstance the thread is in; ~0 when none
    uint64_t open_sequence; // its sequence, to tell a later use of the entry
    uint32_t open_barrier; // barriers of that region that the thread has reached
    uint32_t open_primary; // 1: the thread leads that region
    uint64_t pool_ticks; // work in which undeferred tasks ran that were not timed, to be shared out by sampled_weight
    uint64_t n_dropped; // trace records lost
    uint64_t n_migrations; // changes of CPU
    PendingPart pending[kMaxPendingParts];
    CpuSource cpu_source;
    uint32_t pad2_;
    uint64_t n_lost_switches; // records of switches that found no room, while the thread closed no stretch
    OffCpuTicks pool; // of pool_ticks
    OffCpuTicks outside; // in no region's account, while the thread was recorded
    OffCpuTicks open; // in the open stretch; known when recording has ended
    uint64_t ended_ticks; // when the thread ended; 0: recording ended before, or was cut short
    // The same for the gaps of pending parts, and of the open stretch: the wait, and the loop before it; 0: none.
    uint32_t pending_wait[kMaxPendingParts];
    uint32_t pending_loop[kMaxPendingParts];
    uint64_t barrier_begin; // when the thread came to the last barrier
    uint32_t open_loop;
    uint32_t pad3_;
    struct PendingOffCpu {
        OffCpuTicks waiting, leaving; // before and after the last thread arrived at the barrier that ends the part
    } pending_off_cpu[kMaxPendingParts]; // of `pending`, as known when the thread left the part
    uint64_t clock_ticks; // for so long the thread's clock took the place of records of its switches, too many of them
};
static_assert(sizeof(ThreadHeader) <= kHeaderBytes);

enum OpenState : uint32_t {
    kOpenNone = 0, // outside of every region, not in user code that we know of
    kOpenWork = 1,
    kOpenGap = 2, // in a wait, running nothing
    kOpenFork = 3 // between the begin or the end of a region and the implicit task
};

inline constexpr uint32_t kOpenPool = ~0u; // open_construct

inline constexpr size_t kSlotBytes = 960;
constexpr size_t slot_bytes(uint32_t version) { return version == 1 ? 704 : kSlotBytes; }
inline constexpr uint32_t kSlotsPerExtent = 32;
inline constexpr size_t kSlotExtentBytes = 32768; // header and 32 slots, whole pages
static_assert(sizeof(ExtentHeader) + kSlotsPerExtent * kSlotBytes <= kSlotExtentBytes);
// figures.h declares the contents of a slot.

// ---------------------------------------------------------------- trace events

// A record is one to three 64-bit words, aligned to 32 bits. The first: delta:32 | argument:26 | kind:6. Short records,
// see below, are one such word or half of one, and have their own fields in it.
// delta: ticks since the last timed record of this thread; 0 in untimed records, which happened somewhere
// between the timed records around them. Task ids: creating thread << 40 | its counter, counting deferred and implicit
// tasks and regions from 1 on; undeferred tasks have none.
// `fields` says what the argument and the words after the first one are, a letter each: c a construct, i the id of a task
// or region, v a value, t ticks, h ticks * 2 + a flag, a an address, - nothing that a table of events shows.
// `words` 0: half a word.
//   X(name, words, timed, fields, text, meaning)
#define OMPASS_EVENTS(X)                                                                                               \
    X(kEnd, 1, 0, "", "end", "no record: the log ends here")                                                           \
    X(kTime, 2, 0, "", "time", "word 1 is the absolute time to which the next delta refers")                           \
    X(kCreate, 1, 1, "c", "create", "deferred task created; argument construct; its id is the thread's next")          \
    X(kCreateSpan, 1, 1, "t", "create_span", "end of a creation begun `argument` ticks ago")                           \
    X(kCreateSpanLong, 2, 1, "-t", "create_span_long",                                                                 \
      "the same, begun word 1 ticks ago; it stands for `argument` creations; bit 25: of a task without a create")      \
    X(kInlineBegin, 1, 0, "c", "inline_begin", "undeferred task created and started, untimed; argument construct")     \
    X(kInlineBeginTimed, 1, 1, "c", "inline_begin_timed",                                                              \
      "undeferred task created and started, its duration is timed")                                                    \
    X(kInlineEnd, 1, 0, "", "inline_end", "untimed undeferred task completed; logs have it in inline_ops only")        \
    X(kInlineEndTimed, 1, 1, "c", "inline_end_timed", "timed undeferred task completed")                               \
    X(kInlineCode, 1, 0, "c", "inline_code",                                                                           \
      "the construct of the argument has the next inline code of this thread, from 0 on")                              \
    X(kInlineOps, 1, 0, "", "inline_ops",                                                                              \
      "up to kInlineOpsPerWord begins and ends of untimed undeferred tasks, see below")                                \
    X(kStamp, 1, 1, "", "stamp",                                                                                       \
      "a time for sampling: the time since the last timed record is the current task's own")                           \
    X(kStart, 2, 1, "ci", "start",                                                                                     \
      "task started; argument construct, word 1 task id, bit 63: on another core than created, bit 62: domain")        \
    X(kStartReady, 3, 1, "cit", "start_ready",                                                                         \
      "the same for a task that waited for others; word 2: ticks from ready to now")                                   \
    X(kResume, 3, 1, "cih", "resume",                                                                                  \
      "suspended task goes on; argument construct, word 1 task id, word 2: ticks from ready to now * 2 + in a wait")   \
    X(kComplete, 1, 1, "v", "complete", "current task completed, the one below it goes on; argument OMPT status")      \
    X(kCompleteTo, 2, 1, "vi", "complete_to",                                                                          \
      "current task completed, the task of word 1 goes on; argument OMPT status")                                      \
    X(kDiscard, 2, 0, "ci", "discard", "task cancelled before it started; argument construct, word 1 task id")         \
    X(kFulfill, 2, 0, "ci", "fulfill", "detached task completed by its event; argument construct, word 1 task id")     \
    X(kDependence, 3, 0, "-iv", "dependence", "task of word 2 must wait for the task of word 1")                       \
    X(kWaitBegin, 1, 1, "v", "wait_begin", "current task entered a wait; argument OMPT sync region kind")              \
    X(kWaitEnd, 1, 1, "v", "wait_end", "current task left the wait; argument OMPT sync region kind")                   \
    X(kBarrierEnd, 2, 1, "-h", "barrier_end",                                                                          \
      "the same for barriers; word 1: ticks from the last arrival to now * 2 + had tasks")                             \
    X(kMutexAcquire, 1, 1, "v", "mutex_acquire", "asks for a lock; argument OMPT mutex kind")                          \
    X(kMutexAcquired, 1, 1, "v", "mutex_acquired", "got it; argument OMPT mutex kind")                                 \
    X(kRegionBegin, 3, 1, "c", "region_begin",                                                                         \
      "primary thread enters a parallel region; argument construct, word 1 its id, word 2 its nesting level")          \
    X(kRegionEnd, 3, 1, "vi", "region_end",                                                                            \
      "primary leaves region word 1; word 2 last arrival * 2 + had tasks; argument team size")                         \
    X(kImplicitBegin, 2, 1, "-v", "implicit_begin", "implicit task of region word 1 begins; argument team size")       \
    X(kImplicitEnd, 1, 0, "", "implicit_end", "implicit task of a worker ended; its time ends with the region")        \
    X(kImplicitLeave, 1, 1, "", "implicit_leave", "implicit task of the primary ended, or the thread's initial task")  \
    X(kOutside, 1, 1, "", "outside", "thread seen for the first time, outside of every region")                        \
    X(kKernelBegin, 1, 1, "c", "kernel_begin", "argument construct")                                                   \
    X(kKernelEnd, 1, 1, "c", "kernel_end", "argument construct")                                                       \
    X(kRead, 3, 0, "-av", "read", "kernel reads word 2 bytes at word 1")                                               \
    X(kWrite, 3, 0, "-av", "write", "kernel writes word 2 bytes at word 1")                                            \
    X(kPhase, 1, 1, "c", "phase", "process enters a phase; argument construct, 0 none")                                \
    X(kCpu, 1, 0, "v", "cpu", "thread was seen on CPU `argument`")                                                     \
    X(kCounter, 2, 0, "-v", "counter", "counter `argument` rose by word 1 since the record before last")               \
    X(kResync, 3, 1, "--v", "resync",                                                                                  \
      "after a pause: argument 1 when in a wait, word 1 current task, word 2 its construct")                           \
    X(kDomain, 1, 0, "v", "domain", "tasks that this thread starts from here on run in locality domain `argument`")    \
    X(kPlaced, 1, 0, "v", "placed",                                                                                    \
      "the task that starts next was placed in another domain; argument that domain * 2 + rescued")                    \
    X(kSteal, 1, 1, "v", "steal",                                                                                      \
      "end of an attempt to take a task from another's queue; argument ticks * 2 + succeeded")                         \
    X(kReadNear, 1, 0, "", "read_near", "a short read close to the last access of this thread, see below")             \
    X(kWriteNear, 1, 0, "", "write_near", "a short write close to the last access of this thread, see below")          \
    X(kPreempted, 3, 0, "v-t", "preempted",                                                                            \
      "on no processor although it could have run, from word 1 on, for word 2 ticks; argument 1: a guess")             \
    X(kBlocked, 3, 0, "v-t", "blocked", "the same, since the thread had left it by itself")                            \
    X(kWaitPlace, 1, 0, "c", "wait_place",                                                                             \
      "waits and locks of this thread that begin from here on stand at construct `argument`")                          \
    X(kWaitedFor, 1, 0, "c", "waited_for",                                                                             \
      "the wait, lock or region that ends next, or the task that starts next, waited for construct `argument`")        \
    X(kWorkBegin, 2, 1, "cv", "work_begin", "enters a loop; argument construct, word 1 its iterations")                \
    X(kWorkEnd, 3, 1, "cvv", "work_end",                                                                               \
      "leaves it; argument construct, word 1 chunks that the thread took, word 2 iterations in them")                  \
    X(kCreateShort, 0, 0, "", "create_short", "a create without a time; for this and what follows see below")          \
    X(kCreateSpanShort, 0, 1, "", "create_span_short", "a create_span in half a word")                                 \
    X(kStartShort, 0, 1, "", "start_short", "the start of one of the thread's latest tasks, in half a word")           \
    X(kStartNear, 1, 1, "", "start_near", "the start of a task whose id is close to that of the one started before")   \
    X(kCompleteShort, 0, 1, "", "complete_short", "a complete in half a word")                                         \
    X(kWaitBeginShort, 0, 1, "", "wait_begin_short", "a wait_begin in half a word")                                    \
    X(kWaitEndShort, 0, 1, "", "wait_end_short", "a wait_end in half a word")                                          \
    X(kWaitPlaceShort, 0, 0, "", "wait_place_short", "a wait_place in half a word")                                    \
    X(kAbsentNear, 1, 0, "", "absent_near", "a preempted or blocked that begins close to the last timed record")

enum EventKind : uint8_t {
#define OMPASS_EVENT_KIND(name, words, timed, fields, text, meaning) name,
    OMPASS_EVENTS(OMPASS_EVENT_KIND)
#undef OMPASS_EVENT_KIND
        kEventKinds
};
static_assert(kEventKinds <= 64);

struct EventTraits {
    uint8_t words;
    bool timed;
    char fields[4];
    const char *text;
    const char *meaning;
};
inline constexpr EventTraits kEventTraits[kEventKinds] = {
#define OMPASS_EVENT_TRAITS(name, words, timed, fields, text, meaning) {words, timed != 0, fields, text, meaning},
    OMPASS_EVENTS(OMPASS_EVENT_TRAITS)
#undef OMPASS_EVENT_TRAITS
};

// kPreempted and kBlocked come in order of their time, which is that of their words. They are cut where stretches end, and
// each comes before the record that closes the stretch that it is part of. Where records of switches were lost, how long
// both were together is known still; which of both, and when, is a guess.

inline constexpr unsigned kConstructBits = 26; // of an argument
inline constexpr uint32_t kArgumentLimit = 1u << kConstructBits;
inline constexpr uint32_t kWithoutCreate = 1u << 25; // in the argument of a create_span_long
// Numbers of OMPT (OpenMP 5.1, section 4.4.4) that records carry.
inline constexpr uint32_t kTaskwait = 5; // ompt_sync_region_taskwait
inline constexpr uint32_t kTaskgroup = 6; // ompt_sync_region_taskgroup
inline constexpr uint32_t kImplementationBarrier = 4; // ompt_sync_region_barrier_implementation
inline constexpr uint32_t kRegionBarrier = 9; // ompt_sync_region_barrier_implicit_parallel
inline constexpr uint32_t kTaskwaitDepend = 63; // our own sync region kind, for `taskwait depend`
// Kinds of waits beside sync region kinds: a task's for its dependences, and with this bit OMPT mutex kinds.
inline constexpr uint32_t kDependenceWait = 62;
inline constexpr uint32_t kMutexWait = 128;
// Kinds of work (ompt_work_t), and our own for masked.
inline constexpr uint32_t kWorkLoop = 1, kWorkSingle = 3, kWorkOtherSingle = 4, kWorkTaskloop = 7;
inline constexpr uint32_t kWorkStaticLoop = 10, kWorkOtherLoop = 13, kWorkMasked = 32;
constexpr bool is_loop(uint32_t work) {
    return work == kWorkLoop || (work >= kWorkStaticLoop && work <= kWorkOtherLoop);
}
// Do all threads of a team come to it, and share it?
constexpr bool is_shared(uint32_t work) { return work != kWorkTaskloop && work != kWorkMasked; }
inline constexpr uint32_t kStatusComplete = 1; // ompt_task_complete
inline constexpr uint32_t kStatusDetach = 4; // ompt_task_detach
constexpr bool is_barrier(uint32_t kind) { return kind != kTaskwait && kind != kTaskgroup && kind != kTaskwaitDepend; }
// Ids of tasks and regions: the creating thread, and its counter below.
inline constexpr unsigned kThreadShift = 40;
constexpr uint64_t thread_of_id(uint64_t id) { return id >> kThreadShift; }
constexpr uint64_t counter_of_id(uint64_t id) { return id & ((uint64_t{1} << kThreadShift) - 1); }
inline constexpr uint64_t kOtherCore = 1ull << 63; // in word 1 of a start, beside the id
inline constexpr uint64_t kOtherDomain = 1ull << 62;
inline constexpr uint64_t kIdMask = kOtherDomain - 1;

constexpr uint64_t pack_event(EventKind kind, uint32_t argument, uint64_t delta) {
    return delta << 32 | static_cast<uint64_t>(argument) << 6 | kind;
}
constexpr EventKind event_kind(uint64_t word) { return static_cast<EventKind>(word & 63); }
constexpr uint32_t event_argument(uint64_t word) { return static_cast<uint32_t>(word >> 6) & (kArgumentLimit - 1); }
constexpr uint64_t event_delta(uint64_t word) { return word >> 32; }

// kInlineOps packs undeferred tasks into four bits an operation, from bit 8 upwards, 0 ending the word early:
// 1 the current task completes; 2 + c a task of the construct with inline code c begins. Constructs without a code
// (the first kInlineCodes of a thread have one) begin by an inline_begin.
inline constexpr unsigned kInlineCodes = 14;
inline constexpr unsigned kInlineOpsPerWord = 14;
inline constexpr unsigned kInlineOpEnd = 1;
inline constexpr unsigned kInlineOpBegin = 2;
constexpr unsigned inline_op(uint64_t word, unsigned i) { return static_cast<unsigned>(word >> (8 + 4 * i)) & 15; }

// kReadNear and kWriteNear are most accesses, in a third of the space: distance:38 | bytes:20 | kind:6. The address is
// that of the thread's last access of any kind, 0 at first, plus the signed distance.
inline constexpr unsigned kNearBytesBits = 20, kNearDistanceBits = 38;
constexpr bool is_near(int64_t distance, uint64_t bytes) {
    constexpr int64_t kLimit = int64_t{1} << (kNearDistanceBits - 1);
    return bytes < uint64_t{1} << kNearBytesBits && distance >= -kLimit && distance < kLimit;
}
constexpr uint64_t pack_near(EventKind kind, int64_t distance, uint64_t bytes) {
    return static_cast<uint64_t>(distance) << (64 - kNearDistanceBits) | bytes << 6 | kind;
}
constexpr int64_t near_distance(uint64_t word) { return static_cast<int64_t>(word) >> (64 - kNearDistanceBits); }
constexpr uint64_t near_bytes(uint64_t word) { return word >> 6 & ((uint64_t{1} << kNearBytesBits) - 1); }

// Short records are most records of small tasks. The decoder hands out the kinds for which they stand. Each is
// delta | other fields | kind:6, where what the kind does not mention is 0:
//   kCreateShort      construct:26
//   kCreateSpanShort  delta:14 | ticks:12
//   kStartShort       delta:16 | back:4 | construct:6
//                     of the task that this thread created before the latest `back` ones, regions and implicit tasks
//                     counted; on the same core and domain
//   kStartNear        delta:24 | distance:20 | moved:2 | construct:12
//                     the signed distance of the id from that of the last start, of any form but start_ready, 0 at
//                     first; moved: the two bits beside the id
//   kCompleteShort    delta:26                 with kStatusComplete
//   kWaitBeginShort, kWaitEndShort  delta:22 | wait:4
//   kWaitPlaceShort   construct:26
//   kAbsentNear       ticks:30 | distance:26 | guess:1 | blocked:1
//                     begins at the signed distance from the time of the last timed record
// How a record lies in its first word, or in the half of it that it has.
struct RecordForm {
    uint8_t kind; // for which it stands
    uint8_t halves; // of words
    uint8_t argument_bits; // the argument lies above the kind
    uint8_t delta_shift; // the delta reaches from this bit to the end; 64: there is none
};
constexpr RecordForm record_form(EventKind kind) {
    switch (kind) {
    case kCreateShort: return {kCreate, 1, 26, 64};
    case kCreateSpanShort: return {kCreateSpan, 1, 12, 18};
    case kStartShort: return {kStart, 1, 6, 16};
    case kStartNear: return {kStart, 2, 12, 40};
    case kCompleteShort: return {kComplete, 1, 0, 6};
    case kWaitBeginShort: return {kWaitBegin, 1, 4, 10};
    case kWaitEndShort: return {kWaitEnd, 1, 4, 10};
    case kWaitPlaceShort: return {kWaitPlace, 1, 26, 64};
    default:
        return {kind, static_cast<uint8_t>(2 * kEventTraits[kind].words), kConstructBits,
                static_cast<uint8_t>(kEventTraits[kind].timed ? 32 : 64)};
    }
}
// Can this argument, delta and `rest`, which must be 0, be told in this short form?
constexpr bool fits(EventKind kind, uint64_t argument, uint64_t delta, uint64_t rest = 0) {
    const RecordForm form = record_form(kind);
    const unsigned bits = 32u * form.halves, delta_bits = form.delta_shift < bits ? bits - form.delta_shift : 0;
    return (argument >> form.argument_bits | delta >> delta_bits | rest) == 0;
}
constexpr uint64_t pack_short(EventKind kind, uint64_t argument, uint64_t delta) {
    return delta << record_form(kind).delta_shift % 64 | argument << 6 | kind; // 64: delta is 0
}
// Of kStartShort and kStartNear.
inline constexpr unsigned kBackBits = 4, kBackShift = 12;
inline constexpr unsigned kDistanceBits = 20, kDistanceShift = 20, kMovedShift = 18, kMovedOfId = 62;
constexpr uint64_t start_back(uint64_t word) { return word >> kBackShift & ((1u << kBackBits) - 1); }
constexpr bool is_near_start(uint64_t distance) {
    return (distance + (uint64_t{1} << (kDistanceBits - 1))) >> kDistanceBits == 0;
}
constexpr uint64_t pack_start_near(uint64_t construct, uint64_t moved, uint64_t distance, uint64_t delta) {
    return pack_short(kStartNear, construct, delta) | moved >> kMovedOfId << kMovedShift |
           (distance & ((uint64_t{1} << kDistanceBits) - 1)) << kDistanceShift;
}
constexpr uint64_t start_distance(uint64_t word) {
    return static_cast<uint64_t>(static_cast<int64_t>(word << (64 - kDistanceShift - kDistanceBits)) >>
                                 (64 - kDistanceBits));
}
// Of kAbsentNear.
inline constexpr unsigned kAbsentTicksBits = 30, kAbsentDistanceBits = 26, kAbsentShift = 8;
constexpr bool is_near_absence(uint64_t distance, uint64_t ticks) {
    return ((distance + (uint64_t{1} << (kAbsentDistanceBits - 1))) >> kAbsentDistanceBits |
            ticks >> kAbsentTicksBits) == 0;
}
constexpr uint64_t pack_absent_near(bool blocked, bool guess, uint64_t distance, uint64_t ticks) {
    return ticks << (64 - kAbsentTicksBits) | (distance & ((uint64_t{1} << kAbsentDistanceBits) - 1)) << kAbsentShift |
           uint64_t{guess} << 7 | uint64_t{blocked} << 6 | kAbsentNear;
}
constexpr bool is_blocked_near(uint64_t word) { return word >> 6 & 1; }
constexpr bool is_guess_near(uint64_t word) { return word >> 7 & 1; }
constexpr uint64_t absent_distance(uint64_t word) {
    return static_cast<uint64_t>(static_cast<int64_t>(word << kAbsentTicksBits) >> (64 - kAbsentDistanceBits));
}
constexpr uint64_t absent_ticks(uint64_t word) { return word >> (64 - kAbsentTicksBits); }
constexpr uint64_t start_moved(uint64_t word) { return (word >> kMovedShift & 3) << kMovedOfId; }

// ---------------------------------------------------------------- accounting rules shared by writer and reader

// The limits below in ticks. Both use ProcessHeader::rate, though a reader knows a better one in the end: a gap that
// lasts as long as a limit must be the same to both.
constexpr uint64_t limit_ticks(uint64_t ns, uint64_t rate) {
    return rate ? static_cast<uint64_t>((static_cast<unsigned __int128>(ns) << 32) / rate) : ns;
}

// A last gap shorter than this, with nothing left to wait for, is the cost of leaving a wait: sync, not idle. A wait is
// long when its last gap, or that of its lock, is longer.
inline constexpr uint64_t kExitNanoseconds = 1000;

// A barrier that a thread reaches this soon after a loop is the loop's: its threads wait for those still in the loop.
inline constexpr uint64_t kAfterLoopNanoseconds = 10'000;

// Sampling of undeferred tasks: all tasks of a construct are timed until three of four turn out shorter than this.
inline constexpr uint64_t kSampleBelowNanoseconds = 2000;

// In tasks shorter than this a creation takes the time of its creator's last event, which is less than this too early.
inline constexpr uint64_t kCoarseBelowNanoseconds = 500;

} // namespace ompass::format
