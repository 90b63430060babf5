// SPDX-License-Identifier: Apache-2.0
#include "made_runtime.h"

#include <array>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <thread>

namespace ompass::events {

namespace {

constexpr size_t kCallbacks = 64;
std::array<ompt_callback_t, kCallbacks> callbacks;

ompt_set_result_t set_callback(ompt_callbacks_t event, ompt_callback_t function) {
    if (event >= kCallbacks) return ompt_set_never;
    callbacks[event] = function;
    return ompt_set_always;
}

ompt_data_t *get_thread_data() { return nullptr; }

ompt_interface_fn_t look_up(const char *name) {
    if (strcmp(name, "ompt_set_callback") == 0) return reinterpret_cast<ompt_interface_fn_t>(set_callback);
    if (strcmp(name, "ompt_get_thread_data") == 0) return reinterpret_cast<ompt_interface_fn_t>(get_thread_data);
    return nullptr;
}

// Calls the tool's function for this event, if the tool has registered one.
template <typename Function, typename... Arguments>
void report(ompt_callbacks_t event, Arguments... arguments) {
    if (callbacks[event]) reinterpret_cast<Function>(callbacks[event])(arguments...);
}

// Returns the return address with this number. It lies in libc, because the tool takes this program for the runtime.
const void *address_of(uint32_t code) {
    static const char *const program = reinterpret_cast<const char *>(dlsym(RTLD_DEFAULT, "qsort"));
    return code ? program + 8 * code : nullptr;
}

class Player {
public:
    Player(const Sequence &sequence, bool in_turn)
        : sequence_(sequence), in_turn_(in_turn), cells_(sequence.n_cells), over_(sequence.steps.size() + 1) {
        over_[0] = 1;
        static const int other_data = 0;
        garbage_[0].value = 1;
        garbage_[1].value = ~uint64_t{0};
        garbage_[2].value = 0x1234'5678'9abc'def0;
        garbage_[3].ptr = const_cast<int *>(&other_data);
        garbage_[4].ptr = garbage_.data();
        garbage_[5].value = 64;
        garbage_[6].value = uint64_t{1} << 63;
        garbage_[7].value = 0x0000'7fff'ffff'ffc0;
    }

    void play() {
        std::vector<std::thread> others;
        for (uint16_t thread = 1; thread < sequence_.n_threads; thread++)
            others.emplace_back([this, thread] { act(thread); });
        act(0);
        for (std::thread &other : others) other.join();
    }

private:
    void act(uint16_t thread) {
        for (size_t i = 0; i < sequence_.steps.size(); i++) {
            const Step &step = sequence_.steps[i];
            if (step.thread != thread) continue;
            if (in_turn_)
                wait_for(i);
            else
                for (const uint32_t before : step.after) wait_for(before);
            perform(step);
            over_[i + 1].store(1, std::memory_order_release);
            over_[i + 1].notify_all();
        }
    }
    void wait_for(size_t step) const { over_[step].wait(0, std::memory_order_acquire); }
    ompt_data_t *cell(int32_t number) {
        if (number <= kGarbage) return &garbage_[static_cast<size_t>(kGarbage - number) % garbage_.size()];
        return number == kNull ? nullptr : &cells_[static_cast<size_t>(number)];
    }

    void perform(const Step &step) {
        ompt_data_t *first = cell(step.first), *second = cell(step.second);
        const void *code = address_of(step.code);
        const auto endpoint = static_cast<ompt_scope_endpoint_t>(step.endpoint);
        const auto count = static_cast<unsigned>(step.count);
        const auto flags = static_cast<int>(step.flags);
        const auto sync = static_cast<ompt_sync_region_t>(step.kind);
        const auto mutex = static_cast<ompt_mutex_t>(step.kind);
        ompt_data_t nothing = ompt_data_none;
        ompt_frame_t frame = {};
        switch (step.call) {
        case Call::kThreadBegin:
            return report<ompt_callback_thread_begin_t>(ompt_callback_thread_begin,
                                                        static_cast<ompt_thread_t>(step.kind), &nothing);
        case Call::kThreadEnd: return report<ompt_callback_thread_end_t>(ompt_callback_thread_end, &nothing);
        case Call::kParallelBegin:
            return report<ompt_callback_parallel_begin_t>(ompt_callback_parallel_begin, second, &frame, first, count,
                                                          flags, code);
        case Call::kParallelEnd:
            return report<ompt_callback_parallel_end_t>(ompt_callback_parallel_end, first, second, flags, code);
        case Call::kImplicitTask:
            return report<ompt_callback_implicit_task_t>(ompt_callback_implicit_task, endpoint, first, second, count,
                                                         step.thread, flags);
        case Call::kCreate:
            return report<ompt_callback_task_create_t>(ompt_callback_task_create, first, &frame, second, flags,
                                                       static_cast<int>(step.count), code);
        case Call::kSchedule:
            return report<ompt_callback_task_schedule_t>(ompt_callback_task_schedule, first,
                                                         static_cast<ompt_task_status_t>(step.kind), second);
        case Call::kDependence:
            return report<ompt_callback_task_dependence_t>(ompt_callback_task_dependence, first, second);
        case Call::kDependences: {
            ompt_dependence_t clauses[4] = {};
            for (ompt_dependence_t &clause : clauses) {
                clause.variable.value = 0x1000 + 8 * step.count;
                clause.dependence_type = static_cast<ompt_dependence_type_t>(step.kind);
            }
            return report<ompt_callback_dependences_t>(ompt_callback_dependences, second, clauses,
                                                       static_cast<int>(step.count % 5));
        }
        case Call::kWait:
            return report<ompt_callback_sync_region_t>(ompt_callback_sync_region_wait, sync, endpoint, first, second,
                                                       code);
        case Call::kRegion:
            return report<ompt_callback_sync_region_t>(ompt_callback_sync_region, sync, endpoint, first, second, code);
        case Call::kAcquire:
            return report<ompt_callback_mutex_acquire_t>(ompt_callback_mutex_acquire, mutex, 0u, 0u, step.count, code);
        case Call::kAcquired:
            return report<ompt_callback_mutex_t>(ompt_callback_mutex_acquired, mutex, step.count, code);
        case Call::kReleased:
            return report<ompt_callback_mutex_t>(ompt_callback_mutex_released, mutex, step.count, code);
        case Call::kWork:
            return report<ompt_callback_work_t>(ompt_callback_work, static_cast<ompt_work_t>(step.kind), endpoint,
                                                first, second, step.count, code);
        case Call::kMasked: return report<ompt_callback_masked_t>(ompt_callback_masked, endpoint, first, second, code);
        case Call::kDispatch: {
            ompt_dispatch_chunk_t chunk = {0, step.count};
            ompt_data_t instance = {};
            instance.ptr = &chunk;
            return report<ompt_callback_dispatch_t>(ompt_callback_dispatch, first, second,
                                                    static_cast<ompt_dispatch_t>(step.kind), instance);
        }
        case Call::kCalls: return;
        }
    }

    const Sequence &sequence_;
    const bool in_turn_;
    std::vector<ompt_data_t> cells_;
    std::array<ompt_data_t, 8> garbage_{};
    std::vector<std::atomic<int>> over_; // by number of the step, from 1: 1 if it is over; number 0 is always over
};

} // namespace

std::string MadeRuntime::start(const char *library) {
    void *const loaded = dlopen(library, RTLD_NOW);
    if (!loaded) return dlerror();
    const auto start_tool =
        reinterpret_cast<ompt_start_tool_result_t *(*)(unsigned, const char *)>(dlsym(loaded, "ompt_start_tool"));
    tool_ = start_tool ? start_tool(202411, "a fake runtime") : nullptr;
    if (!tool_) return "the tool does not start";
    return tool_->initialize(look_up, 0, &tool_->tool_data) ? "" : "the tool does not initialize";
}

void MadeRuntime::play(const Sequence &sequence, bool in_turn) const { Player(sequence, in_turn).play(); }

void MadeRuntime::finish() { tool_->finalize(&tool_->tool_data); }

} // namespace ompass::events
