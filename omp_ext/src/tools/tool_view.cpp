// SPDX-License-Identifier: Apache-2.0
// The view of held tasks for OMPT tools that do not know this library. The runtime reports the creation of such a task
// only when the task begins, perhaps on another thread and after the creator's end. This file stands between the
// runtime and the tool: it reports creations when they happen, and suppresses the runtime's late reports. It replaces
// only the callback task_create. A tool that observes the library (omp_ext_tool.h) needs none of this.
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <omp-tools.h>
#include <string>
#include <utility>

#include "options.h"
#include "runtime/activation.h"
#include "runtime/libomp_abi.h"
#include "tools/observer.h"

namespace omp_ext {

namespace {

ompt_start_tool_result_t *tool; // tool of the process
ompt_function_lookup_t look_up;
ompt_set_callback_t set_in_runtime;
ompt_get_task_info_t get_task_info;
ompt_callback_task_create_t notify_tool;

// The task that the runtime reports next on this thread.
thread_local ompt_data_t *held_task __attribute__((tls_model("initial-exec"))) = nullptr; // null: not reported yet
thread_local const void *next_code __attribute__((tls_model("initial-exec"))) = nullptr;

void on_task_create(ompt_data_t *parent, const ompt_frame_t *frame, ompt_data_t *data, int flags, int has_dependences,
                    const void *code) {
    const void *true_code = std::exchange(next_code, nullptr);
    if (const ompt_data_t *reported = std::exchange(held_task, nullptr)) {
        *data = *reported;
        delete reported;
    } else {
        notify_tool(parent, frame, data, flags, has_dependences, true_code ? true_code : code);
    }
}

// ---------------------------------------------------------------- as an observer

// Reports the creation. Returns the tool's data of the task; on_task_create moves them to the runtime's task.
void *task_created(const void *code, int flags, int has_dependences, int) {
    if (!notify_tool) return nullptr;
    int creator_flags = 0, thread = 0;
    ompt_data_t *creator = nullptr, *parallel = nullptr;
    ompt_frame_t *frame = nullptr;
    if (!get_task_info(0, &creator_flags, &creator, &frame, &parallel, &thread) || !creator) return nullptr;
    auto *data = new ompt_data_t{};
    notify_tool(creator, frame, data, flags, has_dependences, code);
    return data;
}

// The tool, like the runtime, sees the pattern of a taskloop as an empty undeferred task.
void task_starts(void *task, int, int) { held_task = static_cast<ompt_data_t *>(task); }

void undeferred_starts(const void *code) { next_code = code; }

constexpr omp_ext_observer kView = {
    .bytes = sizeof(omp_ext_observer),
    .creation_begins = nullptr,
    .creation_ends = nullptr,
    .task_created = task_created,
    .task_depends = nullptr,
    .task_starts = task_starts,
    .undeferred_starts = undeferred_starts,
    .wait_begins = nullptr,
    .wait_ends = nullptr,
    .steal_begins = nullptr,
    .steal_ends = nullptr,
    .task_begins = nullptr,
    .undeferred_begins = nullptr,
    .task_ends = nullptr,
    .counters = nullptr,
    .counted_task = nullptr,
};

// ---------------------------------------------------------------- between runtime and tool

ompt_set_result_t set_callback(ompt_callbacks_t event, ompt_callback_t callback) {
    if (event != ompt_callback_task_create) return set_in_runtime(event, callback);
    notify_tool = reinterpret_cast<ompt_callback_task_create_t>(callback);
    return set_in_runtime(event, callback ? reinterpret_cast<ompt_callback_t>(on_task_create) : nullptr);
}

int get_callback(ompt_callbacks_t event, ompt_callback_t *callback) {
    const auto get = reinterpret_cast<ompt_get_callback_t>(look_up("ompt_get_callback"));
    const int found = get(event, callback);
    if (found && event == ompt_callback_task_create) *callback = reinterpret_cast<ompt_callback_t>(notify_tool);
    return found;
}

ompt_interface_fn_t look_up_for_tool(const char *name) {
    if (strcmp(name, "ompt_set_callback") == 0) return reinterpret_cast<ompt_interface_fn_t>(set_callback);
    if (strcmp(name, "ompt_get_callback") == 0) return reinterpret_cast<ompt_interface_fn_t>(get_callback);
    return look_up(name);
}

int initialize(ompt_function_lookup_t real_look_up, int device, ompt_data_t *) {
    look_up = real_look_up;
    set_in_runtime = reinterpret_cast<ompt_set_callback_t>(look_up("ompt_set_callback"));
    get_task_info = reinterpret_cast<ompt_get_task_info_t>(look_up("ompt_get_task_info"));
    const int started =
        tool->initialize(set_in_runtime && get_task_info ? look_up_for_tool : look_up, device, &tool->tool_data);
    if (started && !observer && notify_tool) {
        observer = &kView;
        give_tasks_to_the_runtime();
    }
    return started;
}

void finalize(ompt_data_t *) { tool->finalize(&tool->tool_data); }

using StartTool = ompt_start_tool_result_t *(*)(unsigned, const char *);

// Starts the first tool of OMP_TOOL_LIBRARIES that accepts the runtime, as the runtime does if no tool is linked.
ompt_start_tool_result_t *start_tool_of_libraries(unsigned version, const char *runtime) {
    const char *text = environment("OMP_TOOL_LIBRARIES");
    std::string libraries = text ? text : "";
    for (char *rest = libraries.data(), *name; (name = strtok_r(nullptr, ":", &rest));) {
        void *library = dlopen(name, RTLD_LAZY);
        if (!library) continue;
        const auto start = reinterpret_cast<StartTool>(dlsym(library, "ompt_start_tool"));
        if (start && start != static_cast<StartTool>(ompt_start_tool))
            if (ompt_start_tool_result_t *result = start(version, runtime)) return result;
        dlclose(library);
    }
    return nullptr;
}

} // namespace

const void *code_of_tool() {
    return tool ? reinterpret_cast<const void *>(tool->initialize) : dlsym(RTLD_DEFAULT, "ompt_start_tool");
}

} // namespace omp_ext

// Starts the tool of the process. The runtime calls this function in place of the tool's. If the library does not
// schedule the program, this function only calls the tool's.
OMPASS_EXPORT ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    using namespace omp_ext;
    const auto following = reinterpret_cast<StartTool>(dlsym(RTLD_NEXT, "ompt_start_tool"));
    const bool schedules = is_active();
    // A tool can observe only one runtime: the runtime whose tasks we schedule, if any.
    if (!abi::is_in_runtime(__builtin_return_address(0))) {
        if (schedules || !following) return nullptr;
        OMPASS_JUMP following(version, runtime);
    }
    tool = following ? following(version, runtime) : nullptr;
    if (!schedules) return tool;
    if (!tool) tool = start_tool_of_libraries(version, runtime);
    if (!tool) return nullptr;
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    return &result;
}
