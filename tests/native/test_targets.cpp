// SPDX-License-Identifier: Apache-2.0
// Calls the callbacks of devices in constructed sequences: kinds and operations that no header knows, runtimes
// without the newer callbacks, kernels on threads of the process, and synthetic buffers of device traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "accounting/regions.h"
#include "accounting/targets.h"
#include "analyses/trace_replay.h"
#include "analyses/validate.h"
#include "device_trace.h"
#include "recording_fixture.h"
#include "target_callbacks.h"

namespace ompass {
namespace {

std::map<int, ompt_callback_t> registered;
bool has_emi = true;

ompt_set_result_t register_callback(ompt_callbacks_t event, ompt_callback_t function) {
    const bool is_emi = event >= ompt_callback_target_emi && event <= ompt_callback_target_map_emi;
    if (is_emi && !has_emi) return ompt_set_never;
    registered[event] = function;
    return ompt_set_always;
}

template <typename Callback>
Callback callback(ompt_callbacks_t event) {
    return reinterpret_cast<Callback>(registered.at(event));
}

struct Runtime {
    explicit Runtime(bool emi = true) {
        has_emi = emi;
        registered.clear();
        target_callbacks::add(register_callback);
    }
    static void begin(int kind, int device, uintptr_t place, ompt_data_t *data = nullptr) {
        target(kind, ompt_scope_begin, device, place, data);
    }
    static void end(int kind, int device, uintptr_t place) { target(kind, ompt_scope_end, device, place, nullptr); }
    // target() and move() pass values that no enumeration has.
    __attribute__((no_sanitize("enum"))) static void target(int kind, ompt_scope_endpoint_t endpoint, int device,
                                                            uintptr_t place, ompt_data_t *data) {
        if (has_emi)
            callback<ompt_callback_target_emi_t>(ompt_callback_target_emi)(
                static_cast<ompt_target_t>(kind), endpoint, device, nullptr, nullptr, data, address(place));
        else
            callback<ompt_callback_target_t>(ompt_callback_target)(static_cast<ompt_target_t>(kind), endpoint, device,
                                                                   nullptr, 1, address(place));
    }
    __attribute__((no_sanitize("enum"))) static void move(int operation, const void *source, int from, int to,
                                                          size_t bytes, uintptr_t place = 0) {
        const auto number = static_cast<ompt_target_data_op_t>(operation);
        void *const memory = const_cast<void *>(source);
        if (!has_emi)
            return callback<ompt_callback_target_data_op_t>(ompt_callback_target_data_op)(
                1, 1, number, memory, from, nullptr, to, bytes, address(place));
        for (const auto endpoint : {ompt_scope_begin, ompt_scope_end})
            callback<ompt_callback_target_data_op_emi_t>(ompt_callback_target_data_op_emi)(
                endpoint, nullptr, nullptr, nullptr, number, memory, from, nullptr, to, bytes, address(place));
    }
    static void submit(ompt_scope_endpoint_t endpoint, unsigned n_teams) {
        if (has_emi)
            callback<ompt_callback_target_submit_emi_t>(ompt_callback_target_submit_emi)(endpoint, nullptr, nullptr,
                                                                                         n_teams);
        else if (endpoint == ompt_scope_begin)
            callback<ompt_callback_target_submit_t>(ompt_callback_target_submit)(1, 1, n_teams);
    }
    static void initialize(int device, ompt_function_lookup_t lookup = nullptr, ompt_device_t *handle = nullptr) {
        callback<ompt_callback_device_initialize_t>(ompt_callback_device_initialize)(device, "made", handle, lookup,
                                                                                     nullptr);
    }
    static void finalize(int device) {
        callback<ompt_callback_device_finalize_t>(ompt_callback_device_finalize)(device);
    }
};

class Targets : public Recording {
protected:
    // Ends the recording, and checks that profile and trace have equally many target constructs. Returns their rows.
    std::vector<TargetRow> rows() {
        recorder::stop(format::EndReason::kFinalized);
        EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
        EXPECT_FALSE(open_run(directory_, run_));
        std::vector<ThreadAccount> kept = read_accounts(run_), replayed;
        EXPECT_FALSE(replay_trace(run_, replayed));
        profile_ = make_profile(run_, kept, false);
        const RunProfile again = make_profile(run_, replayed, true);
        EXPECT_EQ(profile_.targets.size(), again.targets.size());
        return profile_.targets;
    }
    uint32_t flags_of(const TargetRow &row) const { return run_.definitions[static_cast<size_t>(row.construct)].flags; }

    RunFiles run_;
    RunProfile profile_;
};

constexpr int kHost = 4;

TEST_F(Targets, unknown_kinds_and_operations_keep_their_numbers) {
    begin("trace");
    Runtime runtime;
    runtime.initialize(0);
    runtime.begin(77, 0, 0x1000);
    runtime.move(99, &runtime, kHost, 0, 10);
    runtime.move(99, &runtime, kHost, 0, 20);
    runtime.move(1000, &runtime, kHost, 0, 1);
    runtime.end(77, 0, 0x1000);
    const std::vector<TargetRow> found = rows();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(flags_of(found[0]), format::pack_target_flags(77, 0));
    ASSERT_EQ(found[0].operations.size, 2u);
    EXPECT_EQ(found[0].operations.values[0], 99u);
    EXPECT_EQ(found[0].operations_n.values[0], 2u);
    EXPECT_EQ(found[0].operations_bytes.values[0], 30u);
    EXPECT_EQ(found[0].operations.values[1], 255u);
    EXPECT_EQ(found[0].n_to, 0u);
}

TEST_F(Targets, transfers_of_openmp_6_have_a_direction) {
    begin("trace");
    Runtime runtime;
    runtime.initialize(0);
    runtime.initialize(1);
    runtime.begin(ompt_target, 0, 0x1000);
    runtime.move(7, &runtime, kHost, 0, 100); // ompt_target_data_transfer
    runtime.move(23, &runtime, 0, kHost, 30); // its asynchronous form
    runtime.move(7, &runtime, 0, 1, 5);
    runtime.move(8, nullptr, kHost, 0, 7); // ompt_target_data_memset
    runtime.end(ompt_target, 0, 0x1000);
    const std::vector<TargetRow> found = rows();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].to_bytes, 100u);
    EXPECT_EQ(found[0].from_bytes, 30u);
    EXPECT_EQ(found[0].operations.size, 4u);
    EXPECT_EQ(found[0].operations.values[2], 7u | format::kBetweenDevices << format::kDirectionShift);
}

TEST_F(Targets, more_kinds_of_operations_than_entries_are_summed_up) {
    begin("trace");
    Runtime runtime;
    runtime.begin(ompt_target, 0, 0x1000);
    for (int operation = 30; operation < 50; operation++) runtime.move(operation, nullptr, kHost, 0, 1);
    runtime.end(ompt_target, 0, 0x1000);
    const std::vector<TargetRow> found = rows();
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found[0].operations.size, format::kTargetOperations);
    EXPECT_EQ(found[0].operations.values[format::kTargetOperations - 1], 0u);
    EXPECT_EQ(found[0].operations_n.values[format::kTargetOperations - 1], 20u - (format::kTargetOperations - 1));
}

TEST_F(Targets, the_same_memory_to_the_same_device_is_a_repetition) {
    begin("trace");
    Runtime runtime;
    const char memory[64] = {};
    for (int device : {0, 1, 0}) {
        runtime.begin(ompt_target, device, 0x1000);
        runtime.move(2, memory, kHost, device, 64); // first on device 0, first on device 1, again on device 0
        runtime.move(18, memory, kHost, device, 64); // again
        runtime.move(2, memory, kHost, device, 32); // another length on 0, and on 1; again on 0
        runtime.move(3, memory, device, kHost, 64);
        runtime.end(ompt_target, device, 0x1000);
    }
    const std::vector<TargetRow> found = rows();
    ASSERT_EQ(found.size(), 2u);
    const TargetRow &first = format::pack_target_flags(1, 0) == flags_of(found[0]) ? found[0] : found[1];
    const TargetRow &second = &first == &found[0] ? found[1] : found[0];
    EXPECT_EQ(first.n_repeated, 4u);
    EXPECT_EQ(first.repeated_bytes, 64u + 64 + 64 + 32);
    EXPECT_EQ(second.n_repeated, 1u);
}

TEST_F(Targets, runtimes_without_the_newer_callbacks_give_the_same_counts) {
    begin("trace");
    Runtime runtime(false);
    EXPECT_FALSE(registered.count(ompt_callback_target_emi));
    runtime.begin(ompt_target, 0, 0x1000);
    runtime.move(1, nullptr, kHost, 0, 100);
    runtime.move(2, &runtime, kHost, 0, 100);
    runtime.submit(ompt_scope_begin, 3);
    runtime.move(3, &runtime, 0, kHost, 100);
    runtime.end(ompt_target, 0, 0x1000);
    runtime.move(2, &runtime, kHost, 0, 8, 0x2000); // a call outside of constructs
    const std::vector<TargetRow> found = rows();
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].n_runs, 1u);
    EXPECT_EQ(found[0].n_launches, 1u);
    EXPECT_EQ(found[0].to_bytes, 100u);
    EXPECT_EQ(found[0].from_bytes, 100u);
    EXPECT_EQ(found[0].alloc_bytes, 100u);
    EXPECT_EQ(flags_of(found[1]) & 0xff, format::kDataCall);
}

TEST_F(Targets, an_end_without_a_begin_and_a_nested_construct_are_not_counted) {
    begin("trace");
    Runtime runtime;
    runtime.end(ompt_target, 0, 0x1000);
    runtime.submit(ompt_scope_end, 1);
    runtime.begin(ompt_target, 0, 0x1000);
    runtime.begin(ompt_target_update, 0, 0x2000);
    runtime.move(2, &runtime, kHost, 0, 10);
    runtime.end(ompt_target_update, 0, 0x2000);
    runtime.end(ompt_target, 0, 0x1000);
    const std::vector<TargetRow> found = rows();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].n_runs, 1u);
    EXPECT_EQ(found[0].to_bytes, 10u);
}

// Events of the host thread inside a kernel are not recorded. The region's other times stay exact.
TEST_F(Targets, time_in_a_construct_is_offload_and_events_of_kernels_are_ignored) {
    begin("trace");
    Runtime runtime;
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    TaskState *implicit = begin_implicit(*thread, begin_region(*thread, address(0x100)), 1);
    runtime.begin(ompt_target, 0, 0x1000);
    runtime.submit(ompt_scope_begin, 0);
    EXPECT_EQ(recorder::thread(), nullptr);
    runtime.submit(ompt_scope_end, 0);
    EXPECT_EQ(recorder::thread(), thread);
    runtime.end(ompt_target, 0, 0x1000);
    end_implicit(*thread, implicit);
    end_region(*thread);
    const std::vector<TargetRow> found = rows();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].n_launches, 1u);
    ASSERT_EQ(profile_.regions.size(), 2u);
    const RegionRow &region = profile_.regions[0].construct < 0 ? profile_.regions[1] : profile_.regions[0];
    EXPECT_GT(region.offload_ns, 0u);
    EXPECT_NEAR(static_cast<double>(region.offload_ns), static_cast<double>(found[0].time_ns), 2);
    EXPECT_LE(found[0].launch_ns, found[0].time_ns);
}

// ---------------------------------------------------------------- device traces

// A device whose clock ticks every 4 ns, with buffers of records that the test makes.
struct MadeDevice {
    static inline std::vector<ompt_record_ompt_t> records;
    static inline ompt_callback_buffer_request_t request;
    static inline ompt_callback_buffer_complete_t complete;
    static inline unsigned n_flushes;

    static ompt_device_time_t time(ompt_device_t *) { return 1000; }
    static double translate(ompt_device_t *, ompt_device_time_t time) { return static_cast<double>(time) * 4e-9; }
    static ompt_set_result_t set(ompt_device_t *, unsigned, unsigned) { return ompt_set_always; }
    static int start(ompt_device_t *, ompt_callback_buffer_request_t asked, ompt_callback_buffer_complete_t full) {
        request = asked;
        complete = full;
        return 1;
    }
    static int stop(ompt_device_t *) { return 1; }
    // Delivers the records in as many buffers as they need.
    static int flush(ompt_device_t *) {
        n_flushes++;
        while (!records.empty()) {
            ompt_buffer_t *buffer = nullptr;
            size_t bytes = 0;
            request(0, &buffer, &bytes);
            const size_t n = std::min(records.size(), bytes / sizeof records[0]);
            memcpy(buffer, records.data(), n * sizeof records[0]);
            records.erase(records.begin(), records.begin() + static_cast<ptrdiff_t>(n));
            complete(0, buffer, n * sizeof records[0], 0, 1);
        }
        return 1;
    }
    static int advance(ompt_device_t *, ompt_buffer_t *, size_t bytes, ompt_buffer_cursor_t at,
                       ompt_buffer_cursor_t *next) {
        *next = at + sizeof(ompt_record_ompt_t);
        return *next < bytes;
    }
    static ompt_record_t type_of(ompt_buffer_t *buffer, ompt_buffer_cursor_t at) {
        return record_of(buffer, at)->type == 0 ? ompt_record_invalid : ompt_record_ompt;
    }
    static ompt_record_ompt_t *record_of(ompt_buffer_t *buffer, ompt_buffer_cursor_t at) {
        return reinterpret_cast<ompt_record_ompt_t *>(static_cast<char *>(buffer) + at);
    }
    static ompt_interface_fn_t lookup(const char *name) {
        const std::map<std::string, ompt_interface_fn_t> functions = {
            {"ompt_get_device_time", reinterpret_cast<ompt_interface_fn_t>(&time)},
            {"ompt_translate_time", reinterpret_cast<ompt_interface_fn_t>(&translate)},
            {"ompt_set_trace_ompt", reinterpret_cast<ompt_interface_fn_t>(&set)},
            {"ompt_start_trace", reinterpret_cast<ompt_interface_fn_t>(&start)},
            {"ompt_stop_trace", reinterpret_cast<ompt_interface_fn_t>(&stop)},
            {"ompt_flush_trace", reinterpret_cast<ompt_interface_fn_t>(&flush)},
            {"ompt_advance_buffer_cursor", reinterpret_cast<ompt_interface_fn_t>(&advance)},
            {"ompt_get_record_type", reinterpret_cast<ompt_interface_fn_t>(&type_of)},
            {"ompt_get_record_ompt", reinterpret_cast<ompt_interface_fn_t>(&record_of)}};
        const auto found = functions.find(name);
        return found == functions.end() ? nullptr : found->second;
    }
    static ompt_record_ompt_t kernel(ompt_id_t target, uint64_t begin, uint64_t end) {
        ompt_record_ompt_t record = {};
        record.type = ompt_callback_target_submit;
        record.time = begin;
        record.target_id = target;
        record.record.target_kernel.end_time = end;
        return record;
    }
    static ompt_record_ompt_t transfer(ompt_id_t target, uint64_t begin, uint64_t end, size_t bytes) {
        ompt_record_ompt_t record = {};
        record.type = ompt_callback_target_data_op;
        record.time = begin;
        record.target_id = target;
        record.record.target_data_op.optype = ompt_target_data_transfer_to_device;
        record.record.target_data_op.bytes = bytes;
        record.record.target_data_op.end_time = end;
        return record;
    }
};

TEST_F(Targets, device_times_come_from_the_buffers_of_the_trace) {
    begin("trace");
    Runtime runtime;
    int handle = 0;
    runtime.initialize(0, MadeDevice::lookup, &handle);
    ompt_data_t one = {}, other = {};
    runtime.begin(ompt_target, 0, 0x1000, &one);
    runtime.end(ompt_target, 0, 0x1000);
    runtime.begin(ompt_target, 0, 0x2000, &other);
    runtime.end(ompt_target, 0, 0x2000);
    EXPECT_NE(one.value, other.value);
    constexpr unsigned kKernels = 5000; // more than one buffer holds
    for (unsigned i = 0; i < kKernels; i++) MadeDevice::records.push_back(MadeDevice::kernel(one.value, i, i + 10));
    MadeDevice::records.push_back(MadeDevice::transfer(other.value, 100, 125, 4096));
    MadeDevice::records.push_back(MadeDevice::kernel(12345, 0, 1)); // of an unknown construct
    MadeDevice::records.push_back({}); // invalid
    MadeDevice::records.push_back(MadeDevice::kernel(other.value, 20, 10)); // the device's clock ran backwards
    runtime.finalize(0);
    EXPECT_TRUE(MadeDevice::records.empty());
    const std::vector<TargetRow> found = rows();
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].n_device_kernels, kKernels);
    EXPECT_EQ(found[0].device_kernel_ns, kKernels * 40u);
    EXPECT_EQ(found[1].n_device_transfers, 1u);
    EXPECT_EQ(found[1].device_transfer_ns, 100u);
    EXPECT_EQ(found[1].n_device_kernels, 1u);
    EXPECT_EQ(found[1].device_kernel_ns, 0u);
}

TEST_F(Targets, a_device_without_trace_functions_is_not_traced) {
    begin("trace");
    Runtime runtime;
    int handle = 0;
    const auto nothing = [](const char *) -> ompt_interface_fn_t { return nullptr; };
    EXPECT_FALSE(device_trace::begin(0, &handle, nothing));
    EXPECT_FALSE(device_trace::begin(-1, &handle, MadeDevice::lookup));
    MadeDevice::n_flushes = 0;
    runtime.initialize(1, nothing, &handle);
    target_callbacks::flush();
    runtime.finalize(1);
    EXPECT_EQ(MadeDevice::n_flushes, 0u);
    rows();
    EXPECT_EQ(run_.definitions.back().kind, format::DefinitionKind::kDevice);
    EXPECT_EQ(run_.definitions.back().flags, format::pack_device_flags(1, false));
}

} // namespace
} // namespace ompass
