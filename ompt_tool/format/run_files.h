// SPDX-License-Identifier: Apache-2.0
// Maps and checks a run directory: headers, definitions, and the extents of each log. Checks all bounds and returns
// spans. Throws no exceptions and prints nothing, because the tool uses this code for its summary.
//
// Any process can read a run at any moment. While the program runs, open_run() copies the data that the program may
// change or truncate (headers, statistics, regions in flight, the window of each thread). The result is a snapshot.
// None of its pages can vanish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint.h"
#include "format.h"

namespace ompass {

// A problem and its offset in a file. An empty `what` means that there is no problem.
struct Problem {
    std::string path;
    uint64_t offset = 0;
    std::string what;
    explicit operator bool() const { return !what.empty(); }
    std::string text() const;
};

// A regular file mapped for reading. The destructor unmaps it.
class MappedFile {
public:
    MappedFile() = default;
    MappedFile(MappedFile &&other) noexcept;
    MappedFile &operator=(MappedFile &&other) noexcept;
    ~MappedFile();

    Problem open(const std::string &path);
    // Returns the bytes that the file had at open(). The caller must not touch pages that have been truncated since.
    std::span<const char> bytes() const { return {data_, size_}; }
    const std::string &path() const { return path_; }

    // Copies the file's present bytes, and writes zeros beyond the file's end. Returns the number of bytes copied.
    size_t copy(uint64_t offset, void *to, size_t n_bytes) const;
    void end_copying(); // closes the file, which stays mapped

private:
    std::string path_;
    const char *data_ = nullptr;
    size_t size_ = 0;
    int descriptor_ = -1;
};

struct Module {
    std::string path, build_id;
    uint64_t base = 0;
};

struct Definition {
    format::DefinitionKind kind = format::DefinitionKind::kProgram;
    uint32_t flags = 0;
    uint32_t module = ~0u;
    uint64_t address = 0;
    std::string name;
    bool is_place_around = false; // `module` and `address` describe the task or region around the construct
};

// Copied bytes of a file, with the same alignment as in the file.
struct alignas(64) CopiedLine {
    char bytes[64];
};
using Copies = std::vector<std::unique_ptr<CopiedLine[]>>;

using Words = std::span<const uint64_t>;

// An extent of events, with its place in the file.
struct EventExtent {
    format::ExtentHeader head;
    Words words; // unused tail included
    uint64_t offset;
};

struct ThreadFile {
    MappedFile file;
    const format::ThreadHeader *header = nullptr; // null: the file has none
    std::vector<std::span<const char>> slots; // arrays of kSlotsPerExtent slots
    std::vector<uint32_t> first_slot; // id of the first slot of each array
    std::vector<std::span<const uint64_t>> events; // words of each event extent in order of time, unused tail included
    std::vector<uint64_t> event_offsets; // offset of each event extent in the file
    Checkpoint checkpoint; // state of the thread before the first event; empty if the events begin with the thread
    bool lacks_events = false; // kept.log has overwritten events without which the later ones cannot be read
    Copies copies; // copies of the data above that the thread may still write
};

struct RunFiles {
    std::string directory;
    MappedFile process_file;
    const format::ProcessHeader *process = nullptr;
    Copies process_copies;
    MappedFile kept_file; // kept.log; empty unless the run keeps only the last part of its trace
    Copies kept_copies;
    // Ticks. After this moment, kept.log has either all events of a thread or none. 0: it has overwritten no events.
    uint64_t window_begin = 0;
    std::vector<Module> modules;
    std::vector<Definition> definitions;
    std::vector<const format::RegionInstance *> instances; // by index
    std::vector<ThreadFile> threads; // by index of the log; some may be missing
    std::vector<std::string> losses; // sentences about truncated or missing files; also in remarks
    std::vector<std::string> missing; // about unwritten data, and the runtime's contradictions; also in remarks
    std::vector<std::string> remarks; // sentences about all missing data; none of it is an error
    uint64_t log_bytes = 0;
};

// Converts ticks to nanoseconds at the rate of the run's calibration.
class RunClock {
public:
    explicit RunClock(const format::ProcessHeader &process);
    uint64_t ns(uint64_t ticks) const {
        return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * multiplier_) >> 40);
    }
    uint64_t since_start(uint64_t ticks) const { return ticks > start_ ? ns(ticks - start_) : 0; }
    uint64_t ticks(uint64_t ns) const {
        return static_cast<uint64_t>((static_cast<unsigned __int128>(ns) << 40) / multiplier_);
    }
    uint64_t limit_ticks(uint64_t ns) const { return rate_ ? format::limit_ticks(ns, rate_) : ticks(ns); }
    double hz() const { return 1e9 / (static_cast<double>(multiplier_) / 1099511627776.0); }

private:
    uint64_t start_;
    uint64_t rate_; // ProcessHeader::rate
    uint64_t multiplier_ = 1ull << 40; // ns per tick, 24.40 fixed point, never 0
};

// Maps and checks the whole directory. Returns a problem if it is unreadable. Callers that need only statistics pass
// `with_kept` = false to save time; if the program still runs with OMPASS_KEEP_LAST, `run` then has no events.
Problem open_run(const std::string &directory, RunFiles &run, bool with_kept = true);

} // namespace ompass
