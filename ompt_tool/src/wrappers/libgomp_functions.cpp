// SPDX-License-Identifier: Apache-2.0
// Functions that gcc programs call, and whose calls would not reach an LLVM runtime that replaces libgomp. The loader
// binds a call by name and version. LLVM's runtimes define some functions of OpenMP 5 with other versions than libgomp,
// and lack others, so such calls would reach the unused libgomp. The functions here have no version, so the loader
// binds calls of any version to them. They forward the calls to the runtime in use. They correct or refuse calls on
// which that runtime fails. This library must be preloaded or linked.
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "messages.h"
#include "process/libgomp_binding.h"
#include "process/loaded_code.h"
#include "wrappers/real_functions.h"

using ompass::next_of;
using ompass::Router;

namespace {

// Returns the function of the caller's runtime. Searches at each call, since these calls are rare.
template <typename Function>
[[gnu::always_inline]] inline Function *in_use(const char *name) {
    void *function = ompass::destination_of(name, __builtin_return_address(0)).function;
    if (!function) ompass::end_for_lack_of(name);
    return reinterpret_cast<Function *>(function);
}

// True if a gcc program runs on an LLVM runtime. Programs of other compilers expect their own runtime's behaviour.
bool is_gcc_program() {
    static const bool is_one = ompass::runs_on_preloaded_runtime();
    return is_one;
}

int to_int(int64_t value) { return value > INT_MAX ? INT_MAX : value < INT_MIN ? INT_MIN : static_cast<int>(value); }

} // namespace

// ---------------------------------------------------------------- same name, another version

// Forwards a call with up to four integers or pointers.
#define OMPASS_PASS_ON(name)                                                                                           \
    OMPASS_EXPORT uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {                                 \
        static Router router;                                                                                          \
        return next_of<decltype(name)>(router, #name).function(a, b, c, d);                                            \
    }

OMPASS_PASS_ON(omp_init_allocator)
OMPASS_PASS_ON(omp_destroy_allocator)
OMPASS_PASS_ON(omp_get_default_allocator)
OMPASS_PASS_ON(omp_get_default_allocator_)
OMPASS_PASS_ON(omp_set_default_allocator)
OMPASS_PASS_ON(omp_fulfill_event)
OMPASS_PASS_ON(omp_fulfill_event_)
OMPASS_PASS_ON(omp_display_env)
OMPASS_PASS_ON(omp_get_max_teams)
OMPASS_PASS_ON(omp_get_max_teams_)
OMPASS_PASS_ON(omp_set_num_teams)
OMPASS_PASS_ON(omp_set_num_teams_)
OMPASS_PASS_ON(omp_get_teams_thread_limit)
OMPASS_PASS_ON(omp_get_teams_thread_limit_)
OMPASS_PASS_ON(omp_set_teams_thread_limit)
OMPASS_PASS_ON(omp_set_teams_thread_limit_)

// Returns the allocator to use instead of this one in a gcc program. All predefined allocators of libgomp use the
// same memory. LLVM's runtimes search for several kinds of memory; versions 14 and 15 crash if they find none.
static uintptr_t allocator_of(uintptr_t allocator) {
    constexpr uintptr_t kDefault = 1, kLastPredefined = 8;
    return allocator > kDefault && allocator <= kLastPredefined && is_gcc_program() ? kDefault : allocator;
}

// Forwards a call with another allocator (allocator_of); `second`, `third` and `fourth` follow the first argument.
#define OMPASS_ALLOCATE(name, second, third, fourth)                                                                   \
    OMPASS_EXPORT uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {                                 \
        static Router router;                                                                                          \
        OMPASS_JUMP next_of<decltype(name)>(router, #name).function(a, second, third, fourth);                         \
    }

OMPASS_ALLOCATE(omp_alloc, allocator_of(b), c, d)
OMPASS_ALLOCATE(omp_free, allocator_of(b), c, d)
OMPASS_ALLOCATE(omp_calloc, b, allocator_of(c), d)
OMPASS_ALLOCATE(omp_aligned_alloc, b, allocator_of(c), d)
OMPASS_ALLOCATE(omp_aligned_calloc, b, c, allocator_of(d))
OMPASS_ALLOCATE(omp_realloc, b, allocator_of(c), allocator_of(d))
OMPASS_ALLOCATE(GOMP_alloc, b, allocator_of(c), d)
OMPASS_ALLOCATE(GOMP_free, allocator_of(b), c, d)

// libgomp's Fortran functions take arguments by reference, LLVM's by value.
OMPASS_EXPORT void omp_display_env_(const int32_t *is_verbose) { in_use<void(int)>("omp_display_env")(*is_verbose); }

OMPASS_EXPORT int32_t omp_get_place_num_procs_(const int32_t *place) {
    return in_use<int(int)>("omp_get_place_num_procs")(*place);
}

OMPASS_EXPORT void omp_get_place_proc_ids_(const int32_t *place, int32_t *ids) {
    in_use<void(int, int32_t *)>("omp_get_place_proc_ids")(*place, ids);
}

OMPASS_EXPORT uintptr_t omp_init_allocator_(const uintptr_t *space, const int32_t *n_traits, const void *traits) {
    return in_use<uintptr_t(uintptr_t, int, const void *)>("omp_init_allocator")(*space, *n_traits, traits);
}

OMPASS_EXPORT void omp_destroy_allocator_(const uintptr_t *allocator) {
    in_use<void(uintptr_t)>("omp_destroy_allocator")(*allocator);
}

OMPASS_EXPORT void omp_set_default_allocator_(const uintptr_t *allocator) {
    in_use<void(uintptr_t)>("omp_set_default_allocator")(*allocator);
}

// ---------------------------------------------------------------- pauses

namespace {

constexpr int kFailed = -1;

// Returns libgomp's result of a pause: 0 for every soft or hard pause. LLVM's runtime refuses a pause if it has not
// started or is paused already. Programs of other compilers get the runtime's result.
int paused(int kind, int result) {
    constexpr int kSoft = 1, kHard = 2;
    if (!is_gcc_program()) return result;
    return kind == kSoft || kind == kHard ? 0 : result != 0 ? kFailed : 0;
}

} // namespace

OMPASS_EXPORT int32_t omp_pause_resource(int32_t kind, int32_t device) {
    const int result = in_use<int(int, int)>("omp_pause_resource")(kind, device);
    return device == in_use<int()>("omp_get_initial_device")() ? paused(kind, result) : result;
}

OMPASS_EXPORT int32_t omp_pause_resource_all(int32_t kind) {
    return paused(kind, in_use<int(int)>("omp_pause_resource_all")(kind));
}

OMPASS_EXPORT int32_t omp_pause_resource_(const int32_t *kind, const int32_t *device) {
    const int result = in_use<int(int, int)>("omp_pause_resource")(*kind, *device);
    return *device == in_use<int()>("omp_get_initial_device")() ? paused(*kind, result) : result;
}

OMPASS_EXPORT int32_t omp_pause_resource_all_(const int32_t *kind) {
    return paused(*kind, in_use<int(int)>("omp_pause_resource_all")(*kind));
}

// ---------------------------------------------------------------- display of the affinity

namespace {

using CaptureAffinity = size_t(char *, const char *, size_t, size_t);

// Writes the text to stderr, as libgomp does; LLVM's runtimes write it to stdout.
void display(CaptureAffinity *capture, const char *format, size_t length) {
    constexpr size_t kMaxBytes = 4096;
    auto *text = static_cast<char *>(malloc(kMaxBytes));
    if (!text) return;
    const size_t bytes = capture(text, format ? format : "", kMaxBytes, format ? length : 0);
    fprintf(stderr, "%.*s\n", static_cast<int>(bytes < kMaxBytes ? bytes : kMaxBytes), text);
    free(text);
}

} // namespace

// Both functions call omp_capture_affinity_, because LLVM's runtimes have two versions of the name without `_`.
OMPASS_EXPORT void omp_display_affinity(const char *format) {
    static Router router;
    const auto [next, is_own] = next_of<void(const char *)>(router, "omp_display_affinity");
    if (!is_own || !is_gcc_program()) OMPASS_JUMP next(format);
    display(in_use<CaptureAffinity>("omp_capture_affinity_"), format, format ? strlen(format) : 0);
}

OMPASS_EXPORT void omp_display_affinity_(const char *format, size_t length) {
    static Router router;
    const auto [next, is_own] = next_of<void(const char *, size_t)>(router, "omp_display_affinity_");
    if (!is_own || !is_gcc_program()) OMPASS_JUMP next(format, length);
    display(in_use<CaptureAffinity>("omp_capture_affinity_"), format, length);
}

// ---------------------------------------------------------------- Fortran's calls with integers of eight bytes

#define OMPASS_SET_8(name)                                                                                             \
    OMPASS_EXPORT void name##_8_(const int64_t *value) { in_use<void(int)>(#name)(to_int(*value)); }

// Sets a logical value, not a number.
#define OMPASS_SWITCH_8(name)                                                                                          \
    OMPASS_EXPORT void name##_8_(const int64_t *value) { in_use<void(int)>(#name)(*value != 0); }
#define OMPASS_GET_8(name)                                                                                             \
    OMPASS_EXPORT int32_t name##_8_(const int64_t *value) { return in_use<int(int)>(#name)(to_int(*value)); }

OMPASS_SET_8(omp_set_num_threads)
OMPASS_SET_8(omp_set_max_active_levels)
OMPASS_SET_8(omp_set_default_device)
OMPASS_SET_8(omp_set_num_teams)
OMPASS_SET_8(omp_set_teams_thread_limit)
OMPASS_SWITCH_8(omp_set_dynamic)
OMPASS_SWITCH_8(omp_set_nested)
OMPASS_SWITCH_8(omp_display_env)
OMPASS_GET_8(omp_get_ancestor_thread_num)
OMPASS_GET_8(omp_get_team_size)
OMPASS_GET_8(omp_get_place_num_procs)

OMPASS_EXPORT void omp_set_schedule_8_(const int32_t *kind, const int64_t *chunk) {
    in_use<void(int, int)>("omp_set_schedule")(*kind, to_int(*chunk));
}

OMPASS_EXPORT void omp_get_schedule_8_(int32_t *kind, int64_t *chunk) {
    int chunk_size = 0;
    in_use<void(int32_t *, int *)>("omp_get_schedule")(kind, &chunk_size);
    *chunk = chunk_size;
}

OMPASS_EXPORT uintptr_t omp_init_allocator_8_(const uintptr_t *space, const int64_t *n_traits, const void *traits) {
    return in_use<uintptr_t(uintptr_t, int, const void *)>("omp_init_allocator")(*space, to_int(*n_traits), traits);
}

namespace {

// Calls get(numbers), which writes `n` numbers, and widens the numbers into `wide`.
template <typename Get>
void get_wide(int n, int64_t *wide, Get &&get) {
    if (n <= 0) return;
    auto *numbers = static_cast<int *>(calloc(static_cast<size_t>(n), sizeof(int)));
    if (!numbers) return;
    get(numbers);
    for (int i = 0; i < n; i++) wide[i] = numbers[i];
    free(numbers);
}

} // namespace

OMPASS_EXPORT void omp_get_place_proc_ids_8_(const int64_t *place, int64_t *ids) {
    const int number = to_int(*place);
    auto *get = in_use<void(int, int *)>("omp_get_place_proc_ids");
    get_wide(in_use<int(int)>("omp_get_place_num_procs")(number), ids, [=](int *found) { get(number, found); });
}

OMPASS_EXPORT void omp_get_partition_place_nums_8_(int64_t *places) {
    auto *get = in_use<void(int *)>("omp_get_partition_place_nums");
    get_wide(in_use<int()>("omp_get_partition_num_places")(), places, get);
}

// ---------------------------------------------------------------- loops with ordered dependences

// In a team of one thread, LLVM's runtimes read data of the loop that they did not store. These functions then drop the
// call, because one thread runs the iterations in order and no thread waits. In larger teams they forward it by a tail
// call. wait_wrappers.cpp has the functions that wait.
#define OMPASS_POST(name)                                                                                              \
    OMPASS_EXPORT void name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, uintptr_t g, \
                            uintptr_t h) {                                                                             \
        static Router n_threads;                                                                                       \
        static Router router;                                                                                          \
        auto *next = next_of<decltype(name)>(router, #name).function;                                                  \
        if (next_of<int()>(n_threads, "omp_get_num_threads").function() > 1) OMPASS_JUMP next(a, b, c, d, e, f, g, h); \
    }

OMPASS_POST(GOMP_doacross_post)
OMPASS_POST(GOMP_doacross_ull_post)

// ---------------------------------------------------------------- scopes

// Begins a scope. If the runtime lacks the function, registers task reductions by starting a loop without iterations.
OMPASS_EXPORT void GOMP_scope_start(uintptr_t *reductions) {
    using Start = bool(long, long, long, long, long, long *, long *, uintptr_t *, void **);
    if (void *its = ompass::destination_of("GOMP_scope_start", __builtin_return_address(0), true).function)
        return reinterpret_cast<void (*)(uintptr_t *)>(its)(reductions);
    if (reductions) in_use<Start>("GOMP_loop_start")(0, 0, 0, 0, 0, nullptr, nullptr, reductions, nullptr);
}

// ---------------------------------------------------------------- functions that LLVM's runtimes lack

namespace {

constexpr int kNotRecorded = 125; // the exit status of `ompass run` for a program that it does not start

// Ends a program that runs on another runtime than its own and would compute wrong results. `ompass run` does not start
// such a program, unless the call is in a library that the program loads later.
void refuse(const char *name) {
    ompass::say(
        "the program calls %s, which does not work on the OpenMP runtime that replaces libgomp. The program ends here, "
        "because its results would be wrong. Run it without Ompass, or compile it with clang -fopenmp.",
        name);
    _exit(kNotRecorded);
}

} // namespace

#define OMPASS_REFUSE(name)                                                                                            \
    OMPASS_EXPORT uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f,         \
                                 uintptr_t g, uintptr_t h) {                                                           \
        if (ompass::runs_on_preloaded_runtime()) refuse(#name);                                                        \
        static Router router;                                                                                          \
        OMPASS_JUMP next_of<decltype(name)>(router, #name).function(a, b, c, d, e, f, g, h);                           \
    }

OMPASS_REFUSE(GOMP_target)
OMPASS_REFUSE(GOMP_target_ext)
OMPASS_REFUSE(GOMP_target_data)
OMPASS_REFUSE(GOMP_target_data_ext)
OMPASS_REFUSE(GOMP_target_update)
OMPASS_REFUSE(GOMP_target_update_ext)
OMPASS_REFUSE(GOMP_target_enter_exit_data)
OMPASS_REFUSE(GOMP_teams)
OMPASS_REFUSE(GOMP_teams4)
OMPASS_REFUSE(GOMP_teams_reg)
OMPASS_REFUSE(GOMP_loop_ull_doacross_start)
OMPASS_REFUSE(GOMP_loop_ull_doacross_static_start)
OMPASS_REFUSE(GOMP_loop_ull_doacross_dynamic_start)
OMPASS_REFUSE(GOMP_loop_ull_doacross_guided_start)
OMPASS_REFUSE(GOMP_loop_ull_doacross_runtime_start)
OMPASS_REFUSE(GOACC_parallel)
OMPASS_REFUSE(GOACC_parallel_keyed)
OMPASS_REFUSE(GOACC_data_start)
OMPASS_REFUSE(GOACC_enter_data)
OMPASS_REFUSE(GOACC_enter_exit_data)
OMPASS_REFUSE(GOACC_update)

// Refuses loops and sections that need memory shared by the team (`mem`): inscan reductions and conditional lastprivate
// variables. The runtime's functions have at most nine arguments.
#define OMPASS_REFUSE_MEMORY(name, position)                                                                           \
    OMPASS_EXPORT uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f,         \
                                 uintptr_t g, uintptr_t h, uintptr_t i, uintptr_t j) {                                 \
        const uintptr_t arguments[] = {a, b, c, d, e, f, g, h, i, j};                                                  \
        if (arguments[position] && ompass::runs_on_preloaded_runtime())                                                \
            refuse(#name " for a scan or conditional lastprivate");                                                    \
        static Router router;                                                                                          \
        OMPASS_JUMP next_of<decltype(name)>(router, #name).function(a, b, c, d, e, f, g, h, i, j);                     \
    }

OMPASS_REFUSE_MEMORY(GOMP_loop_start, 8)
OMPASS_REFUSE_MEMORY(GOMP_loop_ordered_start, 8)
OMPASS_REFUSE_MEMORY(GOMP_loop_doacross_start, 7)
OMPASS_REFUSE_MEMORY(GOMP_sections2_start, 2)

// Refuses to cancel a loop or sections: LLVM's runtimes keep the cancelled state, so later loops skip iterations.
OMPASS_EXPORT bool GOMP_cancel(int construct, bool do_cancel) {
    constexpr int kLoop = 2, kSections = 4;
    static Router router, cancellation;
    auto *next = next_of<decltype(GOMP_cancel)>(router, "GOMP_cancel").function;
    if (do_cancel && next_of<int()>(cancellation, "omp_get_cancellation").function() &&
        ompass::runs_on_preloaded_runtime()) {
        if (construct == kLoop) refuse("GOMP_cancel for a loop");
        if (construct == kSections) refuse("GOMP_cancel for sections");
    }
    OMPASS_JUMP next(construct, do_cancel);
}

// ---------------------------------------------------------------- loops with unsigned bounds of eight bytes

// LLVM's runtimes run no iterations of such a loop if it counts downwards. These functions start a loop with signed
// bounds instead. If both bounds are negative as signed numbers, or neither is, their order is the same in both types.
// The program still fetches further chunks with GOMP_loop_ull_*_next.

namespace {

using SignedStart = uintptr_t(int64_t, int64_t, int64_t, uintptr_t, uintptr_t, uintptr_t);
using SignedStartWithMemory = uintptr_t(int64_t, int64_t, int64_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                        uintptr_t, uintptr_t);

// Refuses a loop whose bounds differ in sign.
void check_signed(const char *name, int64_t start, int64_t end) {
    if ((start ^ end) < 0) refuse(name);
}

} // namespace

// The arguments of the signed loop (without `up`) fit into registers, so gcc makes a tail call to the signed loop, too.
#define OMPASS_UNSIGNED_LOOP(kind)                                                                                     \
    OMPASS_EXPORT uintptr_t GOMP_loop_ull_##kind(bool up, int64_t start, int64_t end, int64_t step, uintptr_t e,       \
                                                 uintptr_t f, uintptr_t g) {                                           \
        static Router router, signed_router;                                                                           \
        const auto [next, is_own] = next_of<decltype(GOMP_loop_ull_##kind)>(router, "GOMP_loop_ull_" #kind);           \
        if (!up && is_own) {                                                                                           \
            check_signed("GOMP_loop_ull_" #kind " down across 2^63", start, end);                                      \
            return next_of<SignedStart>(signed_router, "GOMP_loop_" #kind).function(start, end, step, e, f, g);        \
        }                                                                                                              \
        OMPASS_JUMP next(up, start, end, step, e, f, g);                                                               \
    }

OMPASS_UNSIGNED_LOOP(static_start)
OMPASS_UNSIGNED_LOOP(dynamic_start)
OMPASS_UNSIGNED_LOOP(guided_start)
OMPASS_UNSIGNED_LOOP(runtime_start)
OMPASS_UNSIGNED_LOOP(nonmonotonic_dynamic_start)
OMPASS_UNSIGNED_LOOP(nonmonotonic_guided_start)
OMPASS_UNSIGNED_LOOP(nonmonotonic_runtime_start)
OMPASS_UNSIGNED_LOOP(maybe_nonmonotonic_runtime_start)
OMPASS_UNSIGNED_LOOP(ordered_static_start)
OMPASS_UNSIGNED_LOOP(ordered_dynamic_start)
OMPASS_UNSIGNED_LOOP(ordered_guided_start)
OMPASS_UNSIGNED_LOOP(ordered_runtime_start)

// For loops that may need memory shared by the team (OMPASS_REFUSE_MEMORY).
#define OMPASS_UNSIGNED_LOOP_WITH_MEMORY(kind)                                                                         \
    OMPASS_EXPORT uintptr_t GOMP_loop_ull_##kind(bool up, int64_t start, int64_t end, int64_t step, uintptr_t e,       \
                                                 uintptr_t f, uintptr_t g, uintptr_t h, uintptr_t i,                   \
                                                 uintptr_t memory) {                                                   \
        static Router router, signed_router;                                                                           \
        if (memory && ompass::runs_on_preloaded_runtime())                                                             \
            refuse("GOMP_loop_ull_" #kind " for a scan or conditional lastprivate");                                   \
        const auto [next, is_own] = next_of<decltype(GOMP_loop_ull_##kind)>(router, "GOMP_loop_ull_" #kind);           \
        if (!up && is_own) {                                                                                           \
            check_signed("GOMP_loop_ull_" #kind " down across 2^63", start, end);                                      \
            return next_of<SignedStartWithMemory>(signed_router, "GOMP_loop_" #kind)                                   \
                .function(start, end, step, e, f, g, h, i, memory);                                                    \
        }                                                                                                              \
        OMPASS_JUMP next(up, start, end, step, e, f, g, h, i, memory);                                                 \
    }

OMPASS_UNSIGNED_LOOP_WITH_MEMORY(start)
OMPASS_UNSIGNED_LOOP_WITH_MEMORY(ordered_start)
