// SPDX-License-Identifier: Apache-2.0
#include "run_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace ompass {

namespace {

using format::DefinitionKind;
using format::ExtentHeader;
using format::ExtentKind;

// A file that is written from the start or appended to.
class Output {
public:
    Output(std::string path, const char *mode)
        : path_(std::move(path)), file_(std::fopen(path_.c_str(), mode)), error_(file_ ? 0 : errno) {}
    void write(const void *bytes, size_t n) {
        if (file_ && error_ == 0 && std::fwrite(bytes, 1, n, file_.get()) != n) error_ = errno;
    }
    void fill(size_t n) {
        const std::vector<char> zeros(n);
        write(zeros.data(), n);
    }
    template <typename Header>
    void header(const Header &of_file) {
        write(&of_file, sizeof of_file);
        fill(format::kHeaderBytes - sizeof of_file);
    }
    void extent(ExtentKind kind, uint64_t first, uint64_t least_bytes, const void *contents, size_t n) {
        const uint64_t used = sizeof(ExtentHeader) + n;
        const uint64_t bytes =
            (std::max(used, least_bytes) + format::kPageBytes - 1) / format::kPageBytes * format::kPageBytes;
        const ExtentHeader header = {format::kExtentMagic, kind, bytes, first, 0, 0, 0, 0, 0, 0};
        write(&header, sizeof header);
        write(contents, n);
        fill(bytes - used);
    }
    Problem close() {
        if (file_ && std::fclose(file_.release()) != 0 && error_ == 0) error_ = errno;
        if (error_) return {path_, 0, std::string("cannot be written: ") + strerror(error_)};
        return {};
    }

private:
    struct Closes {
        void operator()(FILE *file) const { std::fclose(file); }
    };
    std::string path_;
    std::unique_ptr<FILE, Closes> file_;
    int error_; // errno of the first failure; 0: none
};

std::string thread_log(const std::string &directory, size_t thread) {
    char name[40];
    std::snprintf(name, sizeof name, "/thread-%05zu.log", thread);
    return directory + name;
}

} // namespace

Problem write_run(const std::string &directory, const RunFiles &like, const std::vector<MadeLog> &logs,
                  uint64_t wall_ns) {
    Output process(directory + "/process.log", "wb");
    format::ProcessHeader header = {};
    memcpy(header.magic, format::kProcessMagic, sizeof header.magic);
    header.version = format::kVersion;
    header.header_bytes = format::kHeaderBytes;
    header.pid = like.process->pid;
    header.mode = format::Mode::kTrace;
    header.clock_kind = format::ClockKind::kClockGettime;
    header.wrappers = 1;
    header.end_reason = format::EndReason::kFinalized;
    header.rate = uint64_t{1} << 32;
    header.start_ticks = header.start_monotonic_ns = MadeLog::kBegin;
    header.start_epoch_ns = like.process->start_epoch_ns;
    header.end_ticks = header.latest_ticks = header.latest_monotonic_ns = MadeLog::kBegin + wall_ns;
    header.n_threads = static_cast<uint32_t>(logs.size());
    header.min_create_gap = ~uint64_t{0};
    header.is_final = 1;
    process.header(header);
    const std::span<const char> bytes = like.process_file.bytes();
    for (size_t offset = format::kHeaderBytes; offset + sizeof(ExtentHeader) <= bytes.size();) {
        ExtentHeader extent;
        memcpy(&extent, bytes.data() + offset, sizeof extent);
        if (extent.magic != format::kExtentMagic || extent.bytes < sizeof extent ||
            extent.bytes > bytes.size() - offset)
            break;
        if (extent.kind == ExtentKind::kDefinitions) process.write(bytes.data() + offset, extent.bytes);
        offset += extent.bytes;
    }
    if (Problem problem = process.close()) return problem;
    for (size_t i = 0; i < logs.size(); i++) {
        Output output(thread_log(directory, i), "wb");
        format::ThreadHeader of_thread = {};
        memcpy(of_thread.magic, format::kThreadMagic, sizeof of_thread.magic);
        of_thread.version = format::kVersion;
        of_thread.header_bytes = format::kHeaderBytes;
        of_thread.index = static_cast<uint32_t>(i);
        of_thread.tid = like.process->pid + static_cast<uint32_t>(i);
        of_thread.kind = i ? format::ThreadKind::kWorker : format::ThreadKind::kInitial;
        of_thread.cpu = static_cast<uint32_t>(i);
        of_thread.first_ticks = MadeLog::kBegin;
        of_thread.mark = logs[i].now();
        of_thread.open_instance = ~uint64_t{0};
        output.header(of_thread);
        output.extent(ExtentKind::kEvents, 0, 0, logs[i].words().data(), logs[i].words().size() * sizeof(uint64_t));
        if (Problem problem = output.close()) return problem;
    }
    return {};
}

Problem write_accounts(const std::string &directory, const RunFiles &run, const std::vector<ThreadAccount> &accounts) {
    for (size_t i = 0; i < accounts.size(); i++) {
        const ThreadAccount &account = accounts[i];
        std::vector<char> slots;
        const auto put = [&](auto slot, size_t id, DefinitionKind kind) {
            slot.id = static_cast<uint32_t>(id);
            slot.kind = kind;
            if (slots.size() < (id + 1) * format::kSlotBytes) slots.resize((id + 1) * format::kSlotBytes);
            memcpy(&slots[id * format::kSlotBytes], &slot, sizeof slot);
        };
        for (size_t id = 0; id < run.definitions.size(); id++) {
            const DefinitionKind kind = run.definitions[id].kind;
            const bool of_region = kind == DefinitionKind::kParallel || kind == DefinitionKind::kProgram;
            if (of_region && id < account.regions.size()) put(account.regions[id], id, kind);
            if (kind == DefinitionKind::kWait && id < account.waits.size()) put(account.waits[id], id, kind);
            if (kind == DefinitionKind::kLoop && id < account.loops.size()) put(account.loops[id], id, kind);
            if (format::is_call(kind) && id < account.calls.size()) put(account.calls[id], id, kind);
            if (of_region || kind == DefinitionKind::kWait || kind == DefinitionKind::kLoop || format::is_call(kind))
                continue;
            if (id >= account.constructs.size()) continue;
            format::ConstructSlot slot = account.constructs[id];
            if (kind == DefinitionKind::kTask) { // a log counts differently, see format::ConstructSlot
                slot.n_drawn = slot.n_undeferred;
                slot.n_completed -= std::min(slot.n_completed, slot.n_undeferred);
                slot.n_undeferred = 0;
            }
            put(slot, id, kind);
        }
        Output output(thread_log(directory, i), "ab");
        constexpr size_t kBytes = format::kSlotsPerExtent * format::kSlotBytes;
        for (size_t first = 0; first < slots.size(); first += kBytes)
            output.extent(ExtentKind::kSlots, first / format::kSlotBytes, format::kSlotExtentBytes, &slots[first],
                          std::min(kBytes, slots.size() - first));
        if (Problem problem = output.close()) return problem;
    }
    return {};
}

} // namespace ompass
