// SPDX-License-Identifier: Apache-2.0
// The bytes of a run directory: file headers, extents and trace events, each declared once. statistics.h declares the
// slots. The tool writes the files (src/log). This folder reads files, extents and slots; decoder.h of the core decodes
// records. docs/trace-format.md has details. Two writers of test traces repeat the layout
// (tests/support/made_traces.py, tests/benchmarks/large_trace.py), so tests detect a change.
//
// Conventions: little endian, all fields naturally aligned, times in clock ticks unless a name says otherwise.
// A file is a header of kHeaderBytes followed by extents, each beginning with an ExtentHeader.
// A log has a single writer, which stores the first 32 bits of a record last. A reader stops where they are zero, so it
// reads only whole records.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ompass::format {

// The differences of older versions. The lines below a version apply to it, too:
//   1  shorter slots; no off-CPU times (they are 0, with CpuSource::kNone)
//   2  no short records
//   3  no page faults and no system time (ThreadHeader::has_system_use is 0)
//   4  a detached task counts for the thread and region that fulfilled its event, and this event has no time; no
//      numbers of locks, no releases of locks
//   5  no depend clauses
//   6  no kPlaceAround, no requested numbers of threads, no kPlacedNowhere
//   7  the first five states only
//   8  no messages of MPI calls
//   9  no priorities of tasks
//  10  no if clauses and no priorities of undeferred tasks
inline constexpr uint32_t kVersion = 11;
inline constexpr uint32_t kFirstWithEventTimes = 5, kFirstWithDependClauses = 6, kFirstWithAllStates = 8;
inline constexpr uint32_t kFirstWithMessages = 9;
inline constexpr uint32_t kOldestVersion = 1;
inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kHeaderBytes = kPageBytes;
inline constexpr char kProcessMagic[8] = {'O', 'M', 'P', 'A', 'S', 'S', 'P', 'R'};
inline constexpr char kThreadMagic[8] = {'O', 'M', 'P', 'A', 'S', 'S', 'T', 'H'};
inline constexpr char kKeptMagic[8] = {'O', 'M', 'P', 'A', 'S', 'S', 'K', 'E'};
inline constexpr uint32_t kExtentMagic = 0x58504d4f; // "OMPX"
inline constexpr unsigned kMaxCounters = 8;
inline constexpr unsigned kHistogramBins = 48;

enum class Mode : uint32_t { kProfile = 0, kTrace = 1 };
enum class ClockKind : uint32_t { kTsc = 0, kCntvct = 1, kClockGettime = 2 };
// kDumped: the log is part of a dump, which a running program made.
enum class EndReason : uint32_t { kRunning = 0, kFinalized = 1, kExit = 2, kControlEnd = 3, kDumped = 4 };
enum class DefinitionKind : uint32_t {
    kProgram = 0,
    kTask = 1,
    kParallel = 2,
    kKernel = 3,
    kPhase = 4,
    kModule = 5,
    kWait = 6,
    kLoop = 7,
    kMpi = 8, // an MPI call; its flags are an MpiClass, and its text is the name of the function
    kTarget = 9, // a target construct on one device, or a call that moves data of a device; see pack_target_flags()
    kDevice = 10 // a device that was initialized; its text is the runtime's name for its type; see pack_device_flags()
};
inline constexpr DefinitionKind kLastDefinition = DefinitionKind::kDevice;
enum class MpiClass : uint8_t {
    kOther = 0, // start and end of MPI, communicators, processes
    kPointToPoint = 1,
    kCollective = 2,
    kWait = 3, // completes operations that other calls began
    kOneSided = 4,
    kInputOutput = 5
};
// Helpers belong to the runtime, such as the team of threads on which libomp runs `target nowait` tasks.
enum class ThreadKind : uint32_t { kInitial = 0, kWorker = 1, kOther = 2, kHelper = 3 };

// The states of metrics.md, in the order of every array of states.
enum class State : uint32_t {
    kWork = 0,
    kCreate = 1,
    kSchedule = 2,
    kSync = 3,
    kIdle = 4,
    kMpi = 5, // in an MPI call
    kOffload = 6 // in a target construct: launch, transfer or wait
};
inline constexpr size_t kStates = 7;
inline constexpr const char *kStateNames[kStates] = {"work", "create", "schedule", "sync", "idle", "mpi", "offload"};

// The source of a thread's off-CPU intervals. The thread is preempted if the kernel switched it out although it could
// run, and blocked if it left the processor voluntarily. Either state lasts until it runs again.
enum class CpuSource : uint32_t {
    kNone = 0, // unknown
    kSwitches = 1, // the kernel's record of each switch
    kClocks = 2 // clocks of the thread, read when it enters and leaves regions; the states of the intervals are unknown
};

// ---------------------------------------------------------------- extents

enum class ExtentKind : uint32_t { kDefinitions = 1, kInstances = 2, kSlots = 3, kEvents = 4, kSamples = 5 };

struct ExtentHeader {
    uint32_t magic; // kExtentMagic; written last; readers stop at an extent without it
    ExtentKind kind;
    uint64_t bytes; // size of the whole extent with this header; a multiple of 4096
    uint64_t first; // kSlots: id of the first slot; kEvents: number, see below; others: number among their kind
    uint64_t is_in_memory; // 1: the extent is not in the file, because the disk refused it
    uint32_t thread; // kEvents in kept.log: index of the thread
    uint32_t n_checkpoint_words; // kEvents: words of a checkpoint (checkpoint.h) before the first record
    uint64_t first_checkpoint_word; // words of this checkpoint in earlier extents
    uint64_t checkpoint_ticks; // time of the last timed record before a checkpoint that ends here; 0: none
    uint64_t unused;
};
static_assert(sizeof(ExtentHeader) == 64);

// Extents of events are numbered from 0 in order of time, which differs from their order in the file. While the writer
// empties an extent, the extent has no number and no events. After a kill the file may contain the latest extent twice.
// If the run keeps only the last part of its trace, kept.log has the full extents of all threads. Once kept.log has its
// full size, a new extent replaces an old one that is not needed. The log of each thread has that thread's latest extent.
inline constexpr uint64_t kNoNumber = ~uint64_t{0};

// ---------------------------------------------------------------- process.log

// ProcessHeader::first_refusal holds an errno or one of these.
inline constexpr uint32_t kRefusedBySandbox = 0x10000; // opening a file might have killed the program
inline constexpr uint32_t kRefusedByBounds = 0x10001; // more threads or constructs than the format allows

// The limits of the process's control groups at one moment (control_groups.h).
struct GroupLimits {
    uint64_t quota_us; // smallest quota of processor time per period, over all levels; 0: no limit
    uint64_t period_us;
    uint64_t n_throttled; // periods in which a group used up its quota since its creation, summed over all levels
    uint64_t throttled_ns; // time for which the groups were stopped, summed over processors
    uint32_t n_cpus; // processors in the cpuset; 0: unknown
    uint32_t is_known; // 0: no cpu.stat file was read, so a limit of 0 may be unknown
};
static_assert(sizeof(GroupLimits) == 40);

// Events by which the runtime contradicts its own earlier events. The tool ignores such an event, or first corrects the
// state that the earlier events left.
#define OMPASS_CONTRADICTIONS(X)                                                                                       \
    X(kUnknownData, "passed data of a task or region that the tool did not store")                                     \
    X(kOverTask, "named a task that was over")                                                                         \
    X(kTaskElsewhere, "named a task that another thread was running")                                                  \
    X(kUndeferredLate, "started an undeferred task later than at its creation, or twice")                              \
    X(kNotDetached, "fulfilled the event of a task whose code had not ended")                                          \
    X(kSecondImplicit, "began an implicit task on a thread that had one in the same region")                           \
    X(kWrongImplicit, "ended an implicit task that was not the thread's innermost one")                                \
    X(kOverRegion, "began an implicit task in a region that was over")                                                 \
    X(kNotLeft, "began an implicit task on a thread that had not left another region")                                 \
    X(kNotLed, "ended a region on a thread that did not lead it")                                                      \
    X(kTeamSize, "reported a team size that differs from the number of its threads")                                   \
    X(kNoRequest, "reported the acquisition of a lock that the thread had not requested")                              \
    X(kAfterRegion, "ended a region while a thread ran a task of its team")

enum class Contradiction : uint32_t {
#define OMPASS_CONTRADICTION(name, text) name,
    OMPASS_CONTRADICTIONS(OMPASS_CONTRADICTION)
#undef OMPASS_CONTRADICTION
        kContradictions
};

// An unknown value of an OMPT enumeration. Unknown sync regions, mutexes, work and dependences are not here, because
// definitions and records can hold them.
#define OMPASS_UNKNOWN_VALUES(X)                                                                                       \
    X(kNone, "")                                                                                                       \
    X(kThreadType, "thread type")                                                                                      \
    X(kEndpoint, "scope endpoint")                                                                                     \
    X(kTaskStatus, "task status")                                                                                      \
    X(kDispatch, "dispatch kind")

struct UnknownValue {
    enum Kind : uint32_t {
#define OMPASS_UNKNOWN_VALUE(name, text) name,
        OMPASS_UNKNOWN_VALUES(OMPASS_UNKNOWN_VALUE)
#undef OMPASS_UNKNOWN_VALUE
            kKinds
    } kind;
    int32_t value;
};

struct ProcessHeader {
    char magic[8]; // kProcessMagic
    uint32_t version;
    uint32_t header_bytes; // kHeaderBytes
    uint32_t pid;
    Mode mode;
    ClockKind clock_kind;
    uint32_t wrappers; // 1: wrappers measured create_ticks; 0: no wrappers, the reader estimates creation
    uint32_t n_counters;
    EndReason end_reason;
    uint64_t calibration_ticks; // first of two calibration points, which give the rate of the clock
    uint64_t calibration_monotonic_ns;
    uint64_t rate; // nanoseconds per tick, 32.32 fixed point: an estimate, for runs too short for the second point
    uint64_t start_ticks; // first moment of the run
    uint64_t start_monotonic_ns;
    uint64_t start_epoch_ns;
    uint64_t latest_ticks; // second calibration point, renewed during the run; includes pauses
    uint64_t latest_monotonic_ns;
    uint64_t end_ticks; // 0 while running
    uint64_t paused_ticks; // total length of all pauses; event times exclude pauses
    uint32_t n_threads; // thread logs begun
    uint32_t limit_reached; // reason why the trace ended. 1: size limit; 2: disk; 3: no room for a thread in kept.log
    uint32_t n_pauses;
    uint32_t n_misuses; // misplaced marks of the program, such as the end of a kernel that did not begin
    uint64_t min_create_gap; // shortest time between two creations by one task; ~0: none seen
    char counter_names[kMaxCounters][64];
    uint32_t n_lost; // pieces of the recording that could not be written
    uint32_t is_final; // 1: all files have their final length
    uint32_t n_usable_cpus; // processors that the process could use when recording began; 0: unknown
    uint32_t n_contradictions; // events of the runtime that contradict its earlier events
    uint64_t earlier_cpu_ns; // processor time of the process before the tool started
    uint32_t sample_hz; // requested samples per second; 0: none
    uint32_t sample_error; // errno of the last thread for which the kernel refused samples
    uint32_t n_unsampled; // threads for which the kernel refused samples
    uint32_t wants_loads; // 1: samples of loads were requested
    uint32_t loads_error; // errno of the kernel's refusal to sample loads; the tool samples time instead; 0: none
    uint32_t n_bound_cpus; // processors that OpenMP's threads together could use at their end or the run's; 0: unknown
    uint32_t first_refusal; // reason for the first missing piece: errno or kRefusedBy…
    uint32_t n_unlogged; // threads without a log; n_lost includes them
    uint64_t n_unlogged_tasks; // completed tasks in no log; added when their thread or the recording ends
    uint64_t n_unlogged_records; // records of traces without a log
    GroupLimits groups_at_start;
    GroupLimits groups_at_end; // is_known 0: the run was cut short, or the files could not be read
    char other_runtime[256]; // path of a second OpenMP runtime in use, which is not recorded; empty: none
    uint64_t first_region_cpu_ns; // processor time of the process when its first region began; 0: no region, or unknown
    uint32_t contradictions; // a bit for each Contradiction that occurred
    uint32_t n_unknown_values; // numbers of the runtime that this version of the tool does not know
    UnknownValue unknown_value; // the first of these numbers
};
static_assert(sizeof(ProcessHeader) <= kHeaderBytes);

inline constexpr size_t kDefinitionExtentBytes = 64 << 10, kInstanceExtentBytes = 32 << 10;

// Records follow each other in kDefinitions extents; `bytes` is a multiple of 8. The ids of modules count from 0. All
// other kinds share a second count from 0, in which 0 is the program itself ("outside every region").
struct DefinitionRecord {
    uint32_t bytes; // size of the record with its text; written last
    DefinitionKind kind;
    uint32_t id;
    // tasks: OMPT task flags at first creation; waits: kind of wait; loops: kind of work; MPI calls, targets, devices:
    // see DefinitionKind; also kPlaceAround, kIfClauseFalse
    uint32_t flags;
    uint32_t module; // id of the module; ~0: unknown
    uint32_t text_bytes;
    uint64_t address; // ELF virtual address of the return address; modules: load bias when first seen
    // followed by text_bytes of text: the name of a kernel, phase, MPI function or device; "hex build id\0path" of a
    // module
};
static_assert(sizeof(DefinitionRecord) == 32);

// A flag of definitions: the return address of the call is in the runtime, because the compiler turned the call into a
// jump or the runtime made the call. `module` and `address` describe the task or region around the call. OMPT's flags
// use other bits.
inline constexpr uint32_t kPlaceAround = 1u << 20;

// A flag of definitions of tasks: the first task was undeferred because of its if clause. Without this flag, a task may
// be undeferred because it ran in a final task or in a team of one. Only wrappers distinguish these cases.
inline constexpr uint32_t kIfClauseFalse = 1u << 21;

// A parallel region in flight. The pool reuses an entry after every thread has closed its part. All threads write the
// fields marked atomic, and raise last_arrival by an atomic maximum. The primary thread writes all other fields.
struct alignas(64) RegionInstance {
    uint64_t begin;
    uint64_t end; // 0 while the region runs
    uint64_t sequence; // number of this use of the entry; 0: never used
    uint64_t id; // primary thread << 40 | its counter
    uint32_t construct;
    uint32_t team_size;
    uint32_t level;
    uint32_t has_tasks; // 1: a deferred task was created in it
    int32_t n_open; // threads that have not closed their part, the primary included; atomic
    uint32_t primary_thread;
    uint64_t last_arrival[2]; // latest arrival at the latest odd and even barrier of the region
    uint64_t index; // place in the pool
    uint64_t waited_for[2]; // number of the barrier << 32 | kSettled | construct that its threads waited for; atomic
    uint32_t end_wait; // construct of the wait at the region's end
    uint32_t is_internal; // 1: a region of the runtime, whose threads are helpers
    uint32_t n_joined; // threads that have taken part, the primary included; atomic
    uint32_t unused[3];
};
static_assert(sizeof(RegionInstance) == 128);
inline constexpr uint64_t kSettled = uint64_t{1} << 31; // the region has ended: the value is final
constexpr uint32_t waited_for(uint64_t entry, uint32_t n_barriers) {
    return entry >> 32 == n_barriers ? static_cast<uint32_t>(entry & (kSettled - 1)) : 0;
}

// ---------------------------------------------------------------- thread-NNNNN.log

// The part of a worker that has left a region before the primary ended it. From `begin` on, the part is a gap.
struct PendingPart {
    uint64_t instance; // index
    uint64_t sequence; // sequence of the instance; 0: no part
    uint64_t begin;
    uint32_t region; // construct
    uint32_t n_barriers; // reached in it
};
static_assert(sizeof(PendingPart) == 32);
inline constexpr unsigned kMaxPendingParts = 4;

// The off-CPU part of a period.
struct OffCpuTicks {
    uint64_t preempted;
    uint64_t blocked;

    OffCpuTicks &operator+=(OffCpuTicks other) {
        preempted += other.preempted, blocked += other.blocked;
        return *this;
    }
};

// Page faults of a thread, and its time in the operating system's kernel.
struct SystemUse {
    uint64_t n_minor_faults; // pages that the kernel mapped without reading a disk
    uint64_t n_major_faults; // pages that it read from a disk
    uint64_t system_ns;

    SystemUse &operator+=(SystemUse other) {
        n_minor_faults += other.n_minor_faults, n_major_faults += other.n_major_faults, system_ns += other.system_ns;
        return *this;
    }
};

// The header holds the accounting state of the thread, with which a reader completes the statistics of a killed thread.
struct ThreadHeader {
    char magic[8]; // kThreadMagic
    uint32_t version;
    uint32_t header_bytes;
    uint32_t index;
    uint32_t tid;
    ThreadKind kind;
    uint32_t cpu; // last seen
    uint64_t first_ticks; // first event
    uint64_t mark; // start of the open state interval; everything before it is accounted
    uint32_t open_state; // OpenState of the open interval
    uint32_t open_region; // region construct of the open interval
    uint32_t open_construct; // its task construct; 0: implicit task, kOpenPool: untimed tasks share the interval
    uint32_t open_wait; // construct of the wait, if the open interval is a gap; of the call, if it is kOpenCall
    uint64_t open_instance; // index of the RegionInstance that the thread is in; ~0: none
    uint64_t open_sequence; // its sequence, to detect a later use of the entry
    uint32_t open_barrier; // barriers of that region that the thread has reached
    uint32_t open_primary; // 1: the thread leads that region
    uint64_t pool_ticks; // work that untimed tasks share; readers divide it between constructs by timed_weight
    uint64_t n_dropped; // trace records lost
    uint64_t n_migrations; // changes of CPU
    PendingPart pending[kMaxPendingParts];
    CpuSource cpu_source;
    uint32_t pad2_;
    uint64_t n_lost_switches; // records of switches lost because the kernel's ring was full
    OffCpuTicks pool; // part of pool_ticks
    OffCpuTicks outside; // outside all regions, while the thread was recorded
    OffCpuTicks open; // part of the open interval; known when recording has ended
    uint64_t ended_ticks; // end of the thread; 0: recording ended before, or was cut short
    // Constructs of the wait in which each pending part has its gap, and of the loop before that wait; 0: none.
    uint32_t pending_wait[kMaxPendingParts];
    uint32_t pending_loop[kMaxPendingParts];
    uint64_t barrier_begin; // arrival at the last barrier
    uint32_t open_loop; // construct of the loop before the open gap's wait; 0: none
    uint32_t pad3_;
    struct PendingOffCpu {
        OffCpuTicks waiting, leaving; // before and after the last thread arrived at the barrier that ends the part
    } pending_off_cpu[kMaxPendingParts]; // off-CPU times of `pending`, as known when the thread left the part
    uint64_t clock_ticks; // time in which switches were too frequent to record, and the thread's clock was read instead
    SystemUse system_use; // of the thread since its first event, in regions and outside of them
    SystemUse open_system_use; // part of system_use, in the open interval; known when recording or the thread has ended
    uint32_t has_system_use; // 0: unknown
    uint32_t pad4_;
};
static_assert(sizeof(ThreadHeader) <= kHeaderBytes);

// The header of kept.log, whose extents are full windows of all threads.
struct KeptHeader {
    char magic[8]; // kKeptMagic
    uint32_t version;
    uint32_t header_bytes; // kHeaderBytes
    uint64_t asked_bytes; // for all logs together; 0: no limit
    uint64_t asked_ticks; // length of the period to keep; 0: as much as the space allows
};

enum OpenState : uint32_t {
    kOpenNone = 0, // outside every region, or not recorded
    kOpenWork = 1,
    kOpenGap = 2, // in a wait, running nothing
    kOpenFork = 3, // between the start or end of a region and the implicit task, or waiting for a lock
    kOpenCall = 4 // in an MPI call or a target construct
};

constexpr bool is_call(DefinitionKind kind) { return kind == DefinitionKind::kMpi || kind == DefinitionKind::kTarget; }
// Returns the state of a thread in a construct of this kind.
constexpr State state_of_call(DefinitionKind kind) {
    return kind == DefinitionKind::kTarget ? State::kOffload : State::kMpi;
}

inline constexpr uint32_t kOpenPool = ~0u; // open_construct

inline constexpr size_t kSlotBytes = 960;
constexpr size_t slot_bytes(uint32_t version) { return version == 1 ? 704 : kSlotBytes; }
inline constexpr uint32_t kSlotsPerExtent = 32;
inline constexpr size_t kSlotExtentBytes = 32768; // header and 32 slots, whole pages
static_assert(sizeof(ExtentHeader) + kSlotsPerExtent * kSlotBytes <= kSlotExtentBytes);
// statistics.h declares the contents of a slot.

// ---------------------------------------------------------------- trace events

// A record is one to three 64-bit words, aligned to 32 bits. The first word is delta:32 | argument:26 | kind:6. Layouts
// here begin with the highest bits. Short records, see below, are one word or half a word with other fields.
// delta: ticks since the last timed record of this thread. An untimed record has delta 0; its event happened between
// the timed records around it.
// Task ids: creating thread << 40 | its counter, which counts deferred and implicit tasks and regions from 1.
// Undeferred tasks have no id.
// `fields` has a letter for the argument and for each further word: c construct, i id of a task or region, v value,
// t ticks, h ticks * 2 + a flag, a address, - not shown in tables of events.
// `words` 0: half a word.
//   X(name, words, timed, fields, text, meaning)
#define OMPASS_EVENTS(X)                                                                                               \
    X(kEnd, 1, 0, "", "end", "no record: the log ends here")                                                           \
    X(kTime, 2, 0, "", "time", "word 1 is the absolute time to which the next delta refers")                           \
    X(kCreate, 1, 1, "c", "create", "deferred task created; argument construct; its id is the thread's next")          \
    X(kCreateSpan, 1, 1, "t", "create_span", "end of a creation begun `argument` ticks ago")                           \
    X(kCreateSpanLong, 2, 1, "-t", "create_span_long",                                                                 \
      "create_span that began word 1 ticks ago and represents `argument` creations; bit 25: of a task without a "      \
      "create")                                                                                                        \
    X(kInlineBegin, 1, 0, "c", "inline_begin", "undeferred task created and started, untimed; argument construct")     \
    X(kInlineBeginTimed, 1, 1, "c", "inline_begin_timed",                                                              \
      "undeferred task created and started, its duration is timed")                                                    \
    X(kInlineEnd, 1, 0, "", "inline_end", "untimed undeferred task completed; logs have it in inline_ops only")        \
    X(kInlineEndTimed, 1, 1, "c", "inline_end_timed", "timed undeferred task completed")                               \
    X(kInlineCode, 1, 0, "c", "inline_code",                                                                           \
      "construct `argument` gets the next inline code of this thread, from 0 on")                                      \
    X(kInlineOps, 1, 0, "", "inline_ops",                                                                              \
      "up to kInlineOpsPerWord begins and ends of untimed undeferred tasks, see below")                                \
    X(kStamp, 1, 1, "", "stamp",                                                                                       \
      "a clock reading for sampling: the current task itself worked since the last timed record")                      \
    X(kStart, 2, 1, "ci", "start",                                                                                     \
      "task started; argument construct, word 1 task id, bit 63: on another core than created, bit 62: domain")        \
    X(kStartReady, 3, 1, "cit", "start_ready",                                                                         \
      "the same for a task that waited for others; word 2: ticks from ready to now")                                   \
    X(kResume, 3, 1, "cih", "resume",                                                                                  \
      "suspended task resumes; argument construct, word 1 task id, word 2: ticks from ready to now * 2 + in a wait")   \
    X(kComplete, 1, 1, "v", "complete", "current task completed, the one below it resumes; argument OMPT status")      \
    X(kCompleteTo, 2, 1, "vi", "complete_to",                                                                          \
      "current task completed, the task of word 1 resumes; argument OMPT status")                                      \
    X(kDiscard, 2, 0, "ci", "discard", "task cancelled before it started; argument construct, word 1 task id")         \
    X(kFulfill, 2, 0, "ci", "fulfill", "fulfill_timed without a time, before version 5")                               \
    X(kDependence, 3, 0, "-iv", "dependence", "task of word 2 must wait for the task of word 1")                       \
    X(kWaitBegin, 1, 1, "v", "wait_begin", "current task entered a wait; argument OMPT sync region kind")              \
    X(kWaitEnd, 1, 1, "v", "wait_end", "current task left the wait; argument OMPT sync region kind")                   \
    X(kBarrierEnd, 2, 1, "-h", "barrier_end",                                                                          \
      "the same for barriers; word 1: ticks from the last arrival to now * 2 + had tasks")                             \
    X(kMutexAcquire, 1, 1, "v", "mutex_acquire", "asks for a lock; argument OMPT mutex kind")                          \
    X(kMutexAcquired, 1, 1, "v", "mutex_acquired", "has the lock; argument OMPT mutex kind | number of the lock << 8") \
    X(kRegionBegin, 3, 1, "c", "region_begin",                                                                         \
      "primary thread enters a parallel region; argument construct, word 1 its id, word 2 its nesting level "          \
      "| requested threads << 32")                                                                                     \
    X(kRegionEnd, 3, 1, "vi", "region_end",                                                                            \
      "primary leaves region word 1; word 2 last arrival * 2 + had tasks; argument team size")                         \
    X(kImplicitBegin, 2, 1, "-v", "implicit_begin", "implicit task of region word 1 begins; argument team size")       \
    X(kImplicitEnd, 1, 0, "", "implicit_end", "implicit task of a worker ended; its time ends with the region")        \
    X(kImplicitLeave, 1, 1, "", "implicit_leave", "implicit task of the primary ended, or the thread's initial task")  \
    X(kOutside, 1, 1, "", "outside", "thread seen for the first time, outside every region")                           \
    X(kKernelBegin, 1, 1, "c", "kernel_begin", "argument construct")                                                   \
    X(kKernelEnd, 1, 1, "c", "kernel_end", "argument construct")                                                       \
    X(kRead, 3, 0, "-av", "read", "kernel reads word 2 bytes at word 1")                                               \
    X(kWrite, 3, 0, "-av", "write", "kernel writes word 2 bytes at word 1")                                            \
    X(kPhase, 1, 1, "c", "phase", "process enters a phase; argument construct, 0 none")                                \
    X(kCpu, 1, 0, "v", "cpu", "thread was seen on CPU `argument`")                                                     \
    X(kCounter, 2, 0, "-v", "counter", "counter `argument` rose by word 1 in the interval of work that ends next")     \
    X(kResync, 3, 1, "--v", "resync",                                                                                  \
      "after a pause: argument 1 if in a wait, word 1 current task, word 2 its construct")                             \
    X(kDomain, 1, 0, "v", "domain", "from here on this thread runs tasks in locality domain `argument`")               \
    X(kPlaced, 1, 0, "v", "placed",                                                                                    \
      "the task that starts next was placed in another domain; argument that domain * 2 + rescued; or, with argument " \
      "67108863, the runtime schedules it: no domain")                                                                 \
    X(kSteal, 1, 1, "v", "steal",                                                                                      \
      "end of an attempt to take a task from another's queue; argument ticks * 2 + succeeded")                         \
    X(kReadNear, 1, 0, "", "read_near", "a short read close to the last access of this thread, see below")             \
    X(kWriteNear, 1, 0, "", "write_near", "a short write close to the last access of this thread, see below")          \
    X(kPreempted, 3, 0, "v-t", "preempted",                                                                            \
      "off-CPU although it could have run, from word 1 on, for word 2 ticks; argument 1: estimated")                   \
    X(kBlocked, 3, 0, "v-t", "blocked", "the same, because the thread left its processor voluntarily")                 \
    X(kWaitPlace, 1, 0, "c", "wait_place",                                                                             \
      "waits and locks of this thread that begin from here on are at construct `argument`")                            \
    X(kWaitedFor, 1, 0, "c", "waited_for",                                                                             \
      "the wait, lock or region that ends next, or the task that starts next, waited for construct `argument`")        \
    X(kWorkBegin, 2, 1, "cv", "work_begin", "enters a loop; argument construct, word 1 its iterations")                \
    X(kWorkEnd, 3, 1, "cvv", "work_end",                                                                               \
      "leaves the loop; argument construct, word 1 chunks that the thread took, word 2 iterations in them")            \
    X(kCreateShort, 0, 0, "", "create_short", "a create without a time; see below for this and the next kinds")        \
    X(kCreateSpanShort, 0, 1, "", "create_span_short", "a create_span in half a word")                                 \
    X(kStartShort, 0, 1, "", "start_short", "the start of one of the thread's latest tasks, in half a word")           \
    X(kStartNear, 1, 1, "", "start_near",                                                                              \
      "the start of a task whose id is close to the id of the task started before it")                                 \
    X(kCompleteShort, 0, 1, "", "complete_short", "a complete in half a word")                                         \
    X(kWaitBeginShort, 0, 1, "", "wait_begin_short", "a wait_begin in half a word")                                    \
    X(kWaitEndShort, 0, 1, "", "wait_end_short", "a wait_end in half a word")                                          \
    X(kWaitPlaceShort, 0, 0, "", "wait_place_short", "a wait_place in half a word")                                    \
    X(kAbsentNear, 1, 0, "", "absent_near",                                                                            \
      "a preempted or blocked interval that begins close to the last timed record")                                    \
    X(kSystemUse, 3, 0, "-v-", "system_use",                                                                           \
      "in the current region since the last of these: argument major faults, word 1 minor faults, word 2 system time " \
      "in ns")                                                                                                         \
    X(kFulfillTimed, 3, 1, "cih", "fulfill_timed",                                                                     \
      "detached task completed by its event; argument construct, word 1 task id, word 2: ticks since its code ended "  \
      "* 2 + by a thread of another team or of none")                                                                  \
    X(kMutexReleased, 1, 1, "v", "mutex_released", "gave up the lock; argument as in mutex_acquired")                  \
    X(kDependsOn, 2, 0, "va", "depends_on",                                                                            \
      "the task that this thread created last has a depend clause for word 1; argument OMPT dependence type, or "      \
      "kPriorityClause if word 1 is its priority; kPriorityOfNext: of the undeferred task that begins next")           \
    X(kCall, 2, 1, "cv", "call",                                                                                       \
      "enters (word 1: step 1) or leaves (0) an MPI call or a target construct; or a step or a message of it, see "    \
      "below")

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

// Word 1 of a kCall: value:48 | unused:1 | operation:10 | repeated:1 | step:4. A data operation or launch
// begins at the kStepBegin before it. The value of a step that the device timed is its length in ns.
enum CallStep : uint8_t {
    kLeaveCall = 0,
    kEnterCall = 1,
    kStepBegin = 2, // of a data operation or a launch
    kDataStep = 3, // end of a data operation; value: bytes
    kLaunchStep = 4, // end of the launch of a kernel; value: requested teams, 0: any
    kDeviceDataStep = 5, // the device timed a data operation; value: ns
    kDeviceKernelStep = 6, // the device timed a kernel; value: ns
    kSizeStep = 7, // size and communicator of the message that follows
    kMessageStep = 8, // a message of the MPI call; see pack_message()
    kRequestStep = 9, // the call is nonblocking; value: its request
    kAwaitedStep = 10 // the call completes a request; value: the request
};
// The operation of a kDataStep: direction:2 | number:8. The number is OMPT's (ompt_target_data_op_t). The direction is
// 0 if the number implies it.
enum DataDirection : uint32_t { kNoDirection = 0, kToDevice = 1, kFromDevice = 2, kBetweenDevices = 3 };
inline constexpr unsigned kDirectionShift = 8;
inline constexpr uint32_t kLoadImage = 254; // our own operation: code was loaded onto the device
inline constexpr unsigned kRepeatedShift = 4, kOperationShift = 5, kStepValueShift = 16;
constexpr uint64_t pack_call_step(CallStep step, uint64_t value, uint32_t operation = 0, bool is_repeated = false) {
    constexpr uint64_t kMost = (uint64_t{1} << (64 - kStepValueShift)) - 1;
    return (value < kMost ? value : kMost) << kStepValueShift | uint64_t{operation & 0x3ff} << kOperationShift |
           uint64_t{is_repeated} << kRepeatedShift | step;
}
constexpr CallStep call_step(uint64_t word) { return static_cast<CallStep>(word & 15); }
constexpr bool is_repeated_step(uint64_t word) { return word >> kRepeatedShift & 1; }
constexpr uint32_t step_operation(uint64_t word) { return static_cast<uint32_t>(word >> kOperationShift) & 0x3ff; }
constexpr uint64_t step_value(uint64_t word) { return word >> kStepValueShift; }
constexpr DataDirection direction_of(uint32_t operation) {
    switch (operation & 0xff) {
    case 2: // ompt_target_data_transfer_to_device
    case 18: return kToDevice; // its asynchronous form
    case 3: // ompt_target_data_transfer_from_device
    case 19: return kFromDevice;
    default: return static_cast<DataDirection>(operation >> kDirectionShift & 3);
    }
}
constexpr bool allocates(uint32_t operation) { return operation == 1 || operation == 17; }

// A message of an MPI call has two steps, a kSizeStep and a kMessageStep. For the first message of a call, the
// kEnterCall replaces the kMessageStep (its `repeated` is then 1), and the kLeaveCall replaces the kSizeStep. They
// have the same fields.
//   kSizeStep     communicator:24 | bytes:34 | unused:2 | step:4
//                 a hash of the communicator's members; the bytes of the message, or of one rank's contribution to a
//                 collective; 0: unknown
//   kMessageStep  operation: a MessageRole; value: tag:26 | peer:22
//                 the peer, as a rank of MPI_COMM_WORLD, is the sender or receiver of a message, or the root of a
//                 collective; instead of a tag, a collective has the number of ranks of its communicator
enum class MessageRole : uint8_t {
    kNone = 0, // no message, because the peer is MPI_PROC_NULL or there are no requests
    kSend = 1,
    kSynchronousSend = 2, // ends when the receiver has begun its receive
    kReceive = 3,
    kCollective = 4
};
struct Message {
    MessageRole role = MessageRole::kNone;
    uint32_t peer = 0; // kNoPeer, kAnyPeer, or kFirstPeer + rank
    uint32_t tag = 0; // kAnyTag: any; collectives: number of ranks
    uint32_t communicator = 0;
    uint64_t bytes = 0;
};
inline constexpr uint32_t kNoPeer = 0, kAnyPeer = 1, kFirstPeer = 2;
inline constexpr unsigned kTagBits = 26, kPeerBits = 22, kSizeShift = 6, kBytesBits = 34, kCommunicatorBits = 24;
inline constexpr uint32_t kAnyTag = (1u << kTagBits) - 1;
constexpr uint32_t peer_of_rank(uint32_t rank) {
    return rank < (1u << kPeerBits) - kFirstPeer ? rank + kFirstPeer : kNoPeer;
}
constexpr uint32_t tag_of(int32_t tag) { return tag < 0 ? kAnyTag : static_cast<uint32_t>(tag) % kAnyTag; }
constexpr uint64_t pack_message(const Message &message, CallStep step = kMessageStep) {
    return pack_call_step(step, uint64_t{message.tag} << kPeerBits | message.peer, static_cast<uint32_t>(message.role),
                          step == kEnterCall);
}
constexpr bool enters_with_message(uint64_t word) { return call_step(word) == kEnterCall && is_repeated_step(word); }
constexpr uint64_t pack_size(const Message &message, CallStep step = kSizeStep) {
    constexpr uint64_t kMost = (uint64_t{1} << kBytesBits) - 1;
    const uint64_t bytes = message.bytes < kMost ? message.bytes : kMost;
    return (uint64_t{message.communicator} << kBytesBits | bytes) << kSizeShift | step;
}
constexpr Message unpack_message(uint64_t size_word, uint64_t word) {
    const uint64_t value = step_value(word), size = size_word >> kSizeShift;
    return {.role = static_cast<MessageRole>(step_operation(word)),
            .peer = static_cast<uint32_t>(value) & ((1u << kPeerBits) - 1),
            .tag = static_cast<uint32_t>(value >> kPeerBits),
            .communicator = static_cast<uint32_t>(size >> kBytesBits),
            .bytes = size & ((uint64_t{1} << kBytesBits) - 1)};
}

// The flags of a target construct: device:8 | kind:8. The device is its number + 1; 0: unknown. The kind is an
// ompt_target_t, or our own.
inline constexpr uint32_t kDataCall = 64, kImageLoad = 65; // our own kinds: outside of constructs
inline constexpr unsigned kDeviceShift = 8;
constexpr uint32_t pack_target_flags(uint32_t kind, int device) {
    const uint32_t number = device < 0 || device > 253 ? 0 : static_cast<uint32_t>(device) + 1;
    return (kind < 255 ? kind : 255) | number << kDeviceShift;
}
// The flags of a device: its number above a bit that is 1 if the device reports its own times (device tracing).
constexpr uint32_t pack_device_flags(int device, bool is_traced) {
    return (static_cast<uint32_t>(device) & 0xffff) << 1 | uint32_t{is_traced};
}

// The records kPreempted and kBlocked are in order of the times in their words. Ends of state intervals cut off-CPU
// intervals into pieces. The record of a piece precedes the record that ends its state interval. If records of
// switches were lost, only the total off-CPU time is exact; the kind and the time of each interval are estimates.

inline constexpr unsigned kConstructBits = 26; // width of a construct in an argument
inline constexpr uint32_t kArgumentLimit = 1u << kConstructBits;
inline constexpr uint32_t kPriorityClause = kArgumentLimit - 1; // the argument of a kDependsOn
inline constexpr uint32_t kPriorityOfNext = kArgumentLimit - 2; // likewise
inline constexpr uint32_t kPlacedNowhere = kArgumentLimit - 1; // argument of kPlaced: the runtime schedules the task
inline constexpr uint32_t kWithoutCreate = 1u << 25; // in the argument of a create_span_long
// The number of a lock is a hash of OMPT's wait id, so a few locks of a program may share one. 0: not recorded.
inline constexpr unsigned kMutexKindBits = 8;
constexpr uint32_t mutex_argument(uint32_t kind, uint64_t wait_id) {
    const auto hash = static_cast<uint32_t>(wait_id * 0x9E3779B97F4A7C15ull >> (64 - kConstructBits + kMutexKindBits));
    return kind | (hash ? hash : 1) << kMutexKindBits;
}
constexpr uint32_t mutex_kind(uint32_t argument) { return argument & ((1u << kMutexKindBits) - 1); }
constexpr uint32_t mutex_number(uint32_t argument) { return argument >> kMutexKindBits; }
// Numbers of OMPT (OpenMP 5.1, section 4.4.4) that records carry.
inline constexpr uint32_t kTaskwait = 5; // ompt_sync_region_taskwait
inline constexpr uint32_t kTaskgroup = 6; // ompt_sync_region_taskgroup
inline constexpr uint32_t kImplicitBarrier = 2; // ompt_sync_region_barrier_implicit
inline constexpr uint32_t kImplementationBarrier = 4; // ompt_sync_region_barrier_implementation
inline constexpr uint32_t kWorksharingBarrier = 8; // ompt_sync_region_barrier_implicit_workshare
inline constexpr uint32_t kRegionBarrier = 9; // ompt_sync_region_barrier_implicit_parallel
inline constexpr uint32_t kTeamsBarrier = 10; // ompt_sync_region_barrier_teams
inline constexpr uint32_t kTaskwaitDepend = 63; // our own sync region kind, for `taskwait depend`
// Our own kinds of waits: of a task for its dependences, and for a lock (its OMPT mutex kind with the bit kMutexWait).
inline constexpr uint32_t kDependenceWait = 62;
inline constexpr uint32_t kMutexWait = 128;
// Our own mutex kinds, for waits that OMPT does not report: for an iteration of a loop with dependences, and in a
// taskyield.
inline constexpr uint32_t kDoacross = 32, kTaskyield = 33;
// Kinds of work (ompt_work_t), and our own for masked.
inline constexpr uint32_t kWorkLoop = 1, kWorkSections = 2, kWorkSingle = 3, kWorkOtherSingle = 4, kWorkTaskloop = 7;
inline constexpr uint32_t kWorkStaticLoop = 10, kWorkOtherLoop = 13, kWorkMasked = 32;
constexpr bool is_loop(uint32_t work) {
    return work == kWorkLoop || (work >= kWorkStaticLoop && work <= kWorkOtherLoop);
}
// True if all threads of a team reach the construct and share its work.
constexpr bool is_shared(uint32_t work) { return work != kWorkTaskloop && work != kWorkMasked; }
inline constexpr uint32_t kStatusComplete = 1; // ompt_task_complete
inline constexpr uint32_t kStatusDetach = 4; // ompt_task_detach
// True for the barriers of OMPT. An unknown kind counts as another kind of wait.
constexpr bool is_barrier(uint32_t kind) {
    return kind - 1 < kImplementationBarrier || (kind >= kWorksharingBarrier && kind <= kTeamsBarrier);
}
// An unknown number of OMPT that would collide with our own kinds is stored as kBeyond plus its lower bits.
inline constexpr uint32_t kBeyond = 1u << 8, kBeyondBits = 24;
constexpr uint32_t beyond(uint32_t number) { return kBeyond + (number & ((1u << kBeyondBits) - 1)); }
// True if every request for a mutex of this kind leads to an acquisition. A thread that already holds a nest lock (3)
// does not acquire it again.
constexpr bool always_waits(uint32_t mutex) { return mutex != 3; }

// Return the number that stands for a sync region, mutex or work of OMPT.
constexpr uint32_t sync_number(uint32_t sync_region) {
    return sync_region < kDependenceWait ? sync_region : beyond(sync_region);
}
constexpr uint32_t mutex_number_of(uint32_t mutex) { return mutex < kDoacross ? mutex : beyond(mutex); }
constexpr uint32_t work_number(uint32_t work) { return work < kWorkMasked ? work : beyond(work); }
// Return the mutex kind in records, and the kind of wait in definitions, of a mutex with this number. Records have no
// room for numbers from kBeyond on; they hold kOtherMutex instead.
inline constexpr uint32_t kBeyondMutex = 1u << 25, kOtherMutex = kDoacross - 1;
constexpr uint32_t mutex_in_record(uint32_t number) { return number < kBeyond ? number : kOtherMutex; }
constexpr uint32_t mutex_wait(uint32_t number) {
    return number < kBeyond ? kMutexWait | number : kBeyondMutex | number;
}
// Ids of tasks and regions: the creating thread in the upper bits, its counter in the lower ones.
inline constexpr unsigned kThreadShift = 40;
constexpr uint64_t thread_of_id(uint64_t id) { return id >> kThreadShift; }
constexpr uint64_t counter_of_id(uint64_t id) { return id & ((uint64_t{1} << kThreadShift) - 1); }
inline constexpr uint64_t kOtherCore = 1ull << 63; // in word 1 of a start, with the id
inline constexpr uint64_t kOtherDomain = 1ull << 62;
inline constexpr uint64_t kIdMask = kOtherDomain - 1;

constexpr uint64_t pack_event(EventKind kind, uint32_t argument, uint64_t delta) {
    return delta << 32 | static_cast<uint64_t>(argument) << 6 | kind;
}
constexpr EventKind event_kind(uint64_t word) { return static_cast<EventKind>(word & 63); }
constexpr uint32_t event_argument(uint64_t word) { return static_cast<uint32_t>(word >> 6) & (kArgumentLimit - 1); }
constexpr uint64_t event_delta(uint64_t word) { return word >> 32; }

// kInlineOps packs undeferred tasks into four bits per operation, from bit 8 upwards. 0: the word ends; 1: the current
// task completes; 2 + c: a task of the construct with inline code c begins. The first kInlineCodes constructs of a
// thread have codes; tasks of other constructs begin with an inline_begin.
inline constexpr unsigned kInlineCodes = 14;
inline constexpr unsigned kInlineOpsPerWord = 14;
inline constexpr unsigned kInlineOpEnd = 1;
inline constexpr unsigned kInlineOpBegin = 2;
constexpr unsigned inline_op(uint64_t word, unsigned i) { return static_cast<unsigned>(word >> (8 + 4 * i)) & 15; }

// kReadNear and kWriteNear store most accesses in a third of the space, as distance:38 | bytes:20 | kind:6. The address
// is the thread's last accessed address (0 at first) plus the signed distance.
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

// Short records replace most records of small tasks; the decoder returns the replaced kinds. Each layout below ends
// with kind:6. Fields of the replaced kind that a layout does not list are 0:
//   kCreateShort      construct:26
//   kCreateSpanShort  delta:14 | ticks:12
//   kStartShort       delta:16 | back:4 | construct:6
//                     the id is this thread's latest id minus `back`; on the core and domain of the creation
//   kStartNear        delta:24 | distance:20 | moved:2 | construct:12
//                     the id is the id of the last start of any form but start_ready (0 at first) plus the signed
//                     distance; moved: kOtherDomain and kOtherCore
//   kCompleteShort    delta:26                 with kStatusComplete
//   kWaitBeginShort, kWaitEndShort  delta:22 | wait:4
//   kWaitPlaceShort   construct:26
//   kAbsentNear       ticks:30 | distance:26 | guess:1 | blocked:1
//                     begins at the signed distance from the time of the last timed record

// The layout of a record's first word or half-word.
struct RecordForm {
    uint8_t kind; // the kind that it replaces
    uint8_t halves; // length in half-words
    uint8_t argument_bits; // the argument is above the kind
    uint8_t delta_shift; // first bit of the delta, which extends to the end; 64: no delta
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
// True if the short form has room for the argument and the delta, and `rest` is 0.
constexpr bool fits(EventKind kind, uint64_t argument, uint64_t delta, uint64_t rest = 0) {
    const RecordForm form = record_form(kind);
    const unsigned bits = 32u * form.halves, delta_bits = form.delta_shift < bits ? bits - form.delta_shift : 0;
    return (argument >> form.argument_bits | delta >> delta_bits | rest) == 0;
}
constexpr uint64_t pack_short(EventKind kind, uint64_t argument, uint64_t delta) {
    return delta << record_form(kind).delta_shift % 64 | argument << 6 | kind; // 64: delta is 0
}
// Fields of kStartShort and kStartNear.
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
// Fields of kAbsentNear.
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

// Converts a limit in nanoseconds to ticks. Readers use ProcessHeader::rate, too, although they know a better rate,
// because they must classify a gap as the writer did.
constexpr uint64_t limit_ticks(uint64_t ns, uint64_t rate) {
    return rate ? static_cast<uint64_t>((static_cast<unsigned __int128>(ns) << 32) / rate) : ns;
}

// Upper limit of the time that a thread needs to leave a wait. So a last gap shorter than this is sync, not idle, if
// nothing is left to wait for. A wait that ends with a longer idle gap is a long wait.
inline constexpr uint64_t kExitNanoseconds = 1000;

// Returns the state from which to subtract `excess`. A worker that leaves a region's last barrier may read the clock
// after the region's end, before it can see that the region has ended. The excess is the time from the end to that
// reading, and the barrier's last gap includes it. The gap was idle if the region had tasks and the excess exceeds
// exit_ticks. Otherwise it is assumed to be sync.
constexpr State state_of_excess(bool has_tasks, uint64_t excess, uint64_t exit_ticks) {
    return has_tasks && excess > exit_ticks ? State::kIdle : State::kSync;
}

// A doacross call that takes less than this did not wait. Its time remains work.
inline constexpr uint64_t kUnreportedNanoseconds = 100;

// A barrier belongs to a loop if the thread reaches it within this time after the loop, or within 1 / kAfterLoopPart of
// its time in the loop.
inline constexpr uint64_t kAfterLoopNanoseconds = 10'000;
inline constexpr uint64_t kAfterLoopPart = 64;

// True if a barrier belongs to the loop that the thread left `after` ticks ago. `limit`: the first limit, in ticks.
constexpr bool belongs_to_loop(uint64_t after, uint64_t in_loop, uint64_t limit) {
    return after <= limit || after <= in_loop / kAfterLoopPart;
}

// The tool times all undeferred tasks of a construct until 75% are shorter than this. Then it times only a sample.
inline constexpr uint64_t kSampleBelowNanoseconds = 2000;

// In a task shorter than this, a creation gets the time of the task's last event. The error is below this limit.
inline constexpr uint64_t kCoarseBelowNanoseconds = 500;

} // namespace ompass::format
