// SPDX-License-Identifier: Apache-2.0
// Finds the OpenMP runtime, decides if the library schedules the program, and sets all hooks accordingly.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <strings.h>
#include <unistd.h>
#include <utility>

#include "options.h"
#include "placement/domains.h"
#include "process/loaded_code.h"
#include "process/runtimes.h"
#include "runtime/activation.h"
#include "runtime/libomp_abi.h"
#include "runtime/runtime.h"
#include "scheduler/checkers.h"
#include "scheduler/stacks.h"
#include "scheduler/team.h"
#include "tools/observer.h"
#include "tools/statistics.h"

// The C++ ABI's atexit(). If `library` is null, the handler runs at exit only, not when a library is unloaded.
extern "C" int __cxa_atexit(void (*handler)(void *), void *argument, void *library) noexcept;
// Defined by the linker. lld exports them unless they are hidden.
extern "C" [[gnu::visibility("hidden")]] omp_ext::abi::Hook __start_omp_ext_hooks[], __stop_omp_ext_hooks[];

namespace omp_ext {

namespace abi {

int (*omp_get_num_threads)();
int (*omp_get_level)();
int (*omp_get_thread_num)();
int32_t (*kmpc_global_thread_num)(void *);
int32_t (*kmpc_omp_task_parts)(void *, int32_t, void *);
void (*kmpc_proxy_task_completed)(int32_t, void *);

namespace {

enum State { kUnresolved, kLeftAlone, kActive };

std::atomic<int> state{kUnresolved};
enum Tasks { kNone, kNoted, kMayCome, kSeveralRoots = 4 }; // kSeveralRoots: a flag added to the others
std::atomic<int> tasks{kNone};
std::atomic<bool> has_root{false}; // a thread outside of regions has begun a region
thread_local bool is_known_root __attribute__((tls_model("initial-exec"))) = false;
std::atomic<bool> other_waits_may_come{false};
bool runtime_is_known;
bool handles_forks;
bool cancellation;
bool tool;
bool tool_observes; // the observer is the OMPT tool, so the library can report light tasks to it
bool runtime_tasks_may_come;
bool target_tasks_may_come;
bool options_are_read;
bool has_reported_unknown; // the message about an unknown runtime has been printed
uint64_t n_loads; // libraries loaded before the last search for runtimes
ompass::Library runtime_code; // the runtime whose tasks we schedule; written before any hook calls our functions
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *find_real(const char *name) { return ompass::find_in_own_runtime(name); }

Hook &hook_at(size_t i) { return __start_omp_ext_hooks[i]; }
size_t n_hooks() { return static_cast<size_t>(__stop_omp_ext_hooks - __start_omp_ext_hooks); }

// ---------------------------------------------------------------- references of the program

struct References {
    bool placement = false;
    bool tasks = false;
    bool other_waits = false;
    bool runtime_tasks = false; // tasks that the runtime must know
    bool target_tasks = false;
    char unknown[64] = ""; // a task function that we do not know; empty: none
};

// True for a function that we neither replace nor expect, and to which the program may pass a task made by
// __kmpc_omp_task_alloc. Compilers newer than this library call such functions, for example for taskgraph.
bool is_unknown_task_function(const char *name) {
    if (strncmp(name, "__kmpc_", 7) != 0 || !strstr(name, "task")) return false;
    for (const char *start :
         {"__kmpc_omp_target_task_alloc", "__kmpc_proxy_task_completed", "__kmpc_omp_has_task_team"})
        if (strncmp(name, start, strlen(start)) == 0) return false;
    for (size_t i = 0; i < n_hooks(); i++)
        if (strcmp(name, hook_at(i).name) == 0) return false;
    return true;
}

void add_references(const ompass::LoadedLibrary &library, References &references) {
    if (library.range().holds(&state) || library.range().begin == runtime_code.begin) return;
    library.for_each_reference([&](const char *name, uint32_t) {
        const auto starts_with = [&](const char *start) { return strncmp(name, start, strlen(start)) == 0; };
        const bool is_openmp = (name[0] == '_' && (starts_with("__kmpc_") || starts_with("__tgt_"))) ||
                               (name[0] == 'G' && starts_with("GOMP_")) || (name[0] == 'o' && starts_with("omp_"));
        if (!is_openmp) return;
        for (const char *one : {"omp_child_task_affinity", "omp_ext_set_strict", "omp_ext_set_region_strict",
                                "__kmpc_omp_reg_task_with_affinity"})
            references.placement |= strcmp(name, one) == 0;
        for (const char *one : {"__kmpc_omp_task_alloc", "GOMP_task", "GOMP_taskloop", "GOMP_taskloop_ull"})
            references.tasks |= strcmp(name, one) == 0;
        for (const char *start : {"__kmpc_critical", "GOMP_critical", "omp_set_lock", "omp_test_lock",
                                  "omp_set_nest_lock", "omp_test_nest_lock", "__kmpc_task_allow_completion_event",
                                  "omp_fulfill_event", "__kmpc_omp_taskyield", "GOMP_taskyield"})
            references.other_waits |= starts_with(start);
        references.target_tasks |= starts_with("__kmpc_omp_target");
        if (is_unknown_task_function(name)) snprintf(references.unknown, sizeof references.unknown, "%s", name);
        for (const char *start :
             {"__kmpc_task_reduction_modifier_", "__kmpc_taskred_modifier_", "__kmpc_task_allow_completion_event",
              "__kmpc_omp_target", "__kmpc_proxy_task", "__tgt_target", "GOMP_target", "GOMP_taskgroup_reduction",
              "GOMP_task_reduction", "GOMP_workshare_task_reduction", "GOMP_parallel_reductions", "omp_fulfill_event"})
            references.runtime_tasks |= starts_with(start);
    });
}

void look_for_references(const ompass::LoadedLibraries &libraries, void *references) {
    for (const ompass::LoadedLibrary &library : libraries)
        add_references(library, *static_cast<References *>(references));
}

// ---------------------------------------------------------------- deciding

// Finds the functions that we call, and checks for the functions that must be hooked to count all tasks. Returns false
// if one is missing.
bool find_runtime() {
    static const char *const needed[] = {"__kmpc_omp_task_alloc",      "__kmpc_omp_task",
                                         "__kmpc_omp_task_begin_if0",  "__kmpc_omp_task_complete_if0",
                                         "__kmpc_omp_taskwait",        "__kmpc_taskgroup",
                                         "__kmpc_end_taskgroup",       "__kmpc_barrier",
                                         "__kmp_invoke_microtask",     "__kmpc_cancel_barrier",
                                         "__kmpc_serialized_parallel", "__kmpc_end_serialized_parallel"};
    for (const char *name : needed)
        if (!find_real(name)) return false;
    const auto find = [](auto &function, const char *name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find_real(name));
        return function != nullptr;
    };
    return find(omp_get_num_threads, "omp_get_num_threads") && find(omp_get_level, "omp_get_level") &&
           find(omp_get_thread_num, "omp_get_thread_num") && find(kmpc_global_thread_num, "__kmpc_global_thread_num") &&
           find(kmpc_omp_task_parts, "__kmpc_omp_task_parts") &&
           find(kmpc_proxy_task_completed, "__kmpc_proxy_task_completed");
}

// True if a tool may be active.
bool find_tool() {
    const char *libraries = environment("OMP_TOOL_LIBRARIES");
    const char *start = environment("OMP_TOOL");
    if (start && strcasecmp(start, "disabled") == 0) return false;
    if (libraries && *libraries) return true;
    const auto is_tool = [](void *symbol) { return symbol && !runtime_code.holds(symbol) && !ompass::is_ours(symbol); };
    return is_tool(dlsym(RTLD_DEFAULT, "ompt_start_tool")) || is_tool(find_real("ompt_start_tool"));
}

bool find_cancellation() {
    auto *asks = reinterpret_cast<int (*)()>(find_real("omp_get_cancellation"));
    // A call would start the runtime too early, so this function reads the environment as the runtime does.
    const char *text = environment("OMP_CANCELLATION");
    return asks && text &&
           (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0 || strcasecmp(text, "yes") == 0 ||
            strcasecmp(text, "on") == 0 || strcasecmp(text, ".true.") == 0 || strcasecmp(text, "t") == 0 ||
            strcasecmp(text, ".t.") == 0 || strcasecmp(text, "y") == 0 || strcasecmp(text, "enabled") == 0);
}

// True if the library is linked or preloaded before the runtime. Otherwise the program's calls do not reach it.
bool is_in_front() { return ompass::is_ours(dlsym(RTLD_DEFAULT, "__kmp_invoke_microtask")); }

void decide_on_light_tasks() {
    const bool may_suspend_waits =
        options.waits == Waits::kRelaxed || (options.waits == Waits::kUsual && domains::count() > 1 && options.strict);
    // No event notifies an observer that a thread leaves a light task for another task.
    const bool is_unseen = tool && (!tool_observes || may_suspend_waits);
    tasks_may_be_light.store(options.light_tasks && !runtime_tasks_may_come && !is_unseen && !cancellation &&
                                 !is_under_tsan(),
                             std::memory_order_relaxed);
}

void set_target(Hook &hook, void *target) {
    if (target) __atomic_store_n(hook.target, target, __ATOMIC_RELEASE);
}

// Forwards calls for other runtimes from now on. set_targets sets the targets of calls for the scheduled runtime.
void set_destination(size_t i, const ompass::Destination &destination) {
    Hook &hook = hook_at(i);
    hook.real = destination.own;
    hook.is_for_own = destination.is_for_all && destination.is_own;
    if (!destination.is_for_all)
        set_target(hook, hook.routing);
    else if (!destination.is_own)
        set_target(hook, destination.function);
}

void set_targets(bool to_ours) {
    for (size_t i = 0; i < n_hooks(); i++) {
        Hook &hook = hook_at(i);
        // `real` is null if an old runtime lacks the function; our functions then do not call it.
        void *own = to_ours ? hook.ours : hook.real;
        if (!own) continue;
        __atomic_store_n(&hook.own, own, __ATOMIC_RELEASE);
        if (hook.is_for_own) set_target(hook, own);
    }
}

void after_fork_in_child() {
    pthread_mutex_init(&lock, nullptr);
    forget_teams();
    forget_events();
    forget_gates();
}

void decide() {
    if (!handles_forks) {
        handles_forks = true;
        pthread_atfork(nullptr, nullptr, after_fork_in_child);
    }
    // Reads and prints nothing until a runtime is loaded (perhaps by dlopen): preloaded libraries run in shells, too.
    const uint64_t n_loads_now = ompass::loader_counts().loaded;
    if (n_loads == n_loads_now || !ompass::find_exported("omp_get_num_threads")) return;
    n_loads = n_loads_now;
    if (!options_are_read) options = read_options();
    options_are_read = true;
    ompass::find_destinations(n_hooks(), [](size_t i) { return hook_at(i).name; }, set_destination);
    runtime_code = ompass::own_runtime();
    // The hooks keep addresses of the runtime's functions.
    if (runtime_code.end) ompass::keep_loaded(reinterpret_cast<const void *>(runtime_code.begin));
    References references;
    ompass::look_at_libraries(look_for_references, &references);
    const bool wanted = options.schedule == 1 || (options.schedule < 0 && references.placement);
    if (references.tasks) tasks.store(kMayCome, std::memory_order_relaxed);
    if (references.other_waits) note_other_waits();
    runtime_is_known = find_runtime();
    if (wanted && !runtime_is_known && !std::exchange(has_reported_unknown, true))
        say("this library does not know the OpenMP runtime of this process and leaves all tasks to it.");
    if (runtime_code.end == 0) return; // dlopen may still load an LLVM runtime
    if (wanted && runtime_is_known && !is_in_front()) {
        say("the OpenMP runtime is loaded before this library (link this library first, or preload it); the runtime "
            "schedules all tasks.");
        runtime_is_known = false;
    }
    if (wanted && runtime_is_known && *references.unknown) {
        say("the program calls %s, which this library does not know; the runtime schedules all tasks.",
            references.unknown);
        runtime_is_known = false;
    }
    cancellation = find_cancellation();
    tool = find_tool();
    runtime_tasks_may_come = references.runtime_tasks;
    target_tasks_may_come = references.target_tasks;
    if (wanted && runtime_is_known) {
        domains::initialize();
        decide_on_light_tasks();
    }
    set_targets(wanted && runtime_is_known);
    if (options.display) {
        domains::display();
        display_settings();
        display_stacks();
    }
    state.store(wanted && runtime_is_known ? kActive : kLeftAlone, std::memory_order_release);
}

// Decides for programs whose runtime is loaded already, so the scheduler handles their first region. The
// constructor of another library may have called resolve() before.
__attribute__((constructor)) void start() { resolve(); }

void print_at_exit(void *) {
    if (options.statistics && first_team()) print_statistics();
}

// Destructors of other libraries may still use OpenMP. An exit handler registered here runs after all of them.
__attribute__((destructor)) void stop() {
    if (__cxa_atexit(print_at_exit, nullptr, nullptr) != 0) print_at_exit(nullptr);
}

} // namespace

void resolve() {
    if (state.load(std::memory_order_acquire) != kUnresolved) return;
    pthread_mutex_lock(&lock);
    if (state.load(std::memory_order_relaxed) == kUnresolved) decide();
    pthread_mutex_unlock(&lock);
}

void *target_for(Hook &hook, const void *caller) {
    const ompass::Router::Target found = hook.router->target(hook.name, caller);
    void *target = found.function;
    if (found.is_own) {
        target = __atomic_load_n(&hook.own, __ATOMIC_ACQUIRE);
        if (!target) { // dlopen loaded the runtime
            resolve();
            target = __atomic_load_n(&hook.own, __ATOMIC_ACQUIRE);
        }
    }
    if (!target) end_for_lack_of(hook.name);
    return target;
}

void end_for_lack_of(const char *name) {
    say("no OpenMP runtime of this process has the function %s, which the program calls.", name);
    _exit(127);
}

bool is_in_runtime(const void *code) { return runtime_code.holds(code); }

bool may_create_tasks() { return (tasks.load(std::memory_order_relaxed) & kMayCome) != 0; }
void note_first_task_creation() {
    int none = kNone;
    tasks.compare_exchange_strong(none, kNoted, std::memory_order_relaxed);
    task_creation_is_noted.store(true, std::memory_order_relaxed);
}
void adopt_noted_tasks() {
    const int now = tasks.load(std::memory_order_relaxed);
    // Inside a region, some of its threads may already have called may_create_tasks(), and others not.
    if ((now & kMayCome) || (is_known_root && now != kNoted) || omp_get_level() != 0) return;
    if (!std::exchange(is_known_root, true) && has_root.exchange(true, std::memory_order_relaxed))
        tasks.fetch_or(kSeveralRoots, std::memory_order_relaxed);
    int noted = kNoted; // the exchange fails if another root may be in a region
    tasks.compare_exchange_strong(noted, kMayCome, std::memory_order_relaxed);
}

void note_other_waits() { other_waits_may_come.store(true, std::memory_order_relaxed); }

bool may_create_target_tasks() { return target_tasks_may_come; }
bool cancellation_is_on() { return cancellation; }
bool tool_is_active() { return tool; }

} // namespace abi

bool runtime::tasks_wait_for_children_only() { return !abi::other_waits_may_come.load(std::memory_order_relaxed); }

void give_tasks_to_the_runtime() { abi::tasks_may_be_light.store(false, std::memory_order_relaxed); }

void note_strict() {
    if (runtime::is_watched()) give_tasks_to_the_runtime();
}

void note_observer() {
    pthread_mutex_lock(&abi::lock);
    const void *its_code = reinterpret_cast<const void *>(observer->task_begins);
    // Another active tool would not see light tasks.
    abi::tool_observes = ompass::library_of(its_code).holds(code_of_tool());
    if (!abi::tool_observes)
        give_tasks_to_the_runtime();
    else if (abi::state.load(std::memory_order_relaxed) == abi::kActive)
        abi::decide_on_light_tasks();
    pthread_mutex_unlock(&abi::lock);
}

bool is_active() {
    abi::resolve();
    return abi::state.load(std::memory_order_acquire) == abi::kActive;
}

void activate() {
    abi::resolve();
    if (abi::state.load(std::memory_order_acquire) != abi::kLeftAlone) return;
    pthread_mutex_lock(&abi::lock);
    if (abi::state.load(std::memory_order_relaxed) == abi::kLeftAlone && options.schedule != 0 &&
        abi::runtime_is_known) {
        domains::initialize();
        abi::decide_on_light_tasks();
        // Some threads of the present regions have begun without the scheduler. So the others must not join it.
        int may_come = abi::kMayCome;
        abi::tasks.compare_exchange_strong(may_come, abi::kNoted, std::memory_order_relaxed);
        abi::set_targets(true);
        abi::state.store(abi::kActive, std::memory_order_release);
    }
    pthread_mutex_unlock(&abi::lock);
}

} // namespace omp_ext
