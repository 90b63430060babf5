// SPDX-License-Identifier: Apache-2.0
// A run directory, mapped and checked: headers, definitions, and the extents of each log. Bounds are checked here,
// once; what follows works on spans. No exceptions and no printing, since the tool's own summary reads with it too.
//
// A run may be read at any moment. While its program runs, what changes or may be cut off is copied (headers, statistics,
// regions in flight, the window of each thread): the result is a snapshot, and no page of it can vanish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format.h"

namespace ompass {

// What is wrong with a file, and where. `what` empty: nothing.
struct Problem {
    std::string path;
    uint64_t offset = 0;
    std::string what;
    explicit operator bool() const { return !what.empty(); }
    std::string text() const;
};

// A regular file mapped for reading; unmapped with the object. Moves, never copies.
class MappedFile {
public:
    MappedFile() = default;
    MappedFile(MappedFile &&other) noexcept;
    MappedFile &operator=(MappedFile &&other) noexcept;
    ~MappedFile();

    Problem open(const std::string &path);
    // As long as it was when it was opened. A page that has been cut off since then must not be touched.
    std::span<const char> bytes() const { return {data_, size_}; }
    const std::string &path() const { return path_; }

    // Copies bytes of the file as it is now; zeros beyond its end. Returns how many there were.
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
};

// Bytes of a file in memory of our own, aligned as they are in the file.
struct alignas(64) CopiedLine {
    char bytes[64];
};
using Copies = std::vector<std::unique_ptr<CopiedLine[]>>;

struct ThreadFile {
    MappedFile file;
    const format::ThreadHeader *header = nullptr; // null: the thread left none
    std::vector<std::span<const char>> slots; // whole arrays of slots, kSlotsPerExtent each
    std::vector<uint32_t> first_slot; // id of the first one of each
    std::vector<std::span<const uint64_t>> events; // words of each event extent in order of time, unused tail included
    std::vector<uint64_t> event_offsets; // where each begins in the file, of which it may be a copy
    Copies copies; // of all that, as far as the thread may be writing it
};

struct RunFiles {
    std::string directory;
    MappedFile process_file;
    const format::ProcessHeader *process = nullptr;
    Copies process_copies;
    std::vector<Module> modules;
    std::vector<Definition> definitions;
    std::vector<const format::RegionInstance *> instances; // by index
    std::vector<ThreadFile> threads; // by index of the log; some may be missing
    std::vector<std::string> losses; // what was there and is not any more: truncated or missing files; also in remarks
    std::vector<std::string> missing; // what the tool could not write, and why; also in remarks
    std::vector<std::string> remarks; // what a killed writer left unfinished: sentences, not errors
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
    uint64_t rate_; // the first guess
    uint64_t multiplier_ = 1ull << 40; // ns per tick, 24.40 fixed point, never 0
};

// Maps and checks the whole directory. Returns what makes it unreadable.
Problem open_run(const std::string &directory, RunFiles &run);

} // namespace ompass
