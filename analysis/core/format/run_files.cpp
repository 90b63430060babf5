// SPDX-License-Identifier: Apache-2.0
// Mapping and bounds. Every offset that comes from a file is checked before it is used.
#include "run_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ompass {

std::string Problem::text() const { return path + ": " + what + " (at byte " + std::to_string(offset) + ")"; }

RunClock::RunClock(const format::ProcessHeader &process) : start_(process.start_ticks) {
    if (process.clock_kind == format::ClockKind::kClockGettime) return;
    const uint64_t ticks = process.latest_ticks - process.calibration_ticks;
    const uint64_t ns = process.latest_monotonic_ns - process.calibration_monotonic_ns;
    constexpr uint64_t kLongEnough = 1'000'000; // nanoseconds: below, the first guess is the better one
    if (ns >= kLongEnough && ticks > 0 && ns < 1ull << 60)
        multiplier_ = static_cast<uint64_t>((static_cast<unsigned __int128>(ns) << 40) / ticks);
    else
        multiplier_ = process.rate << 8;
    if (multiplier_ == 0) multiplier_ = 1ull << 40;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_) munmap(const_cast<char *>(data_), size_);
}

Problem MappedFile::open(const std::string &path) {
    path_ = path;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return {path, 0, std::string("cannot be opened: ") + strerror(errno)};
    struct stat status;
    Problem problem;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        problem = {path, 0, "is not a regular file"};
    else if (status.st_size > 0) {
        size_ = static_cast<size_t>(status.st_size);
        void *data = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
        if (data == MAP_FAILED)
            problem = {path, 0, std::string("cannot be mapped: ") + strerror(errno)}, size_ = 0;
        else
            data_ = static_cast<const char *>(data);
    }
    close(descriptor);
    return problem;
}

namespace {

using format::ExtentHeader;
using format::ExtentKind;

// A writer that was killed while it made the file left it empty, or without its magic.
bool is_unborn(const MappedFile &file) {
    const std::span<const char> bytes = file.bytes();
    static const char nothing[8] = {};
    return bytes.size() < 8 ? bytes.empty()
                            : bytes.size() >= format::kHeaderBytes && memcmp(bytes.data(), nothing, 8) == 0;
}

Problem check_length(const MappedFile &file) {
    if (file.bytes().size() >= format::kHeaderBytes) return {};
    return {file.path(), file.bytes().size(), "is too short to be a log of Ompass"};
}

Problem check_header(const MappedFile &file, const char *magic, uint32_t version, uint32_t header_bytes) {
    if (memcmp(file.bytes().data(), magic, 8) != 0) return {file.path(), 0, "is not a log of Ompass"};
    if (version != format::kVersion)
        return {file.path(), 8,
                "has format version " + std::to_string(version) + ", this Ompass reads version " +
                    std::to_string(format::kVersion)};
    if (header_bytes != format::kHeaderBytes)
        return {file.path(), 12, "has a header of a size that does not belong to its version"};
    return {};
}

constexpr int kAttempts = 100; // to read the log of a thread that writes

// Calls visit(header, contents, offset) for every extent. An extent without its magic is where a writer died: the end.
template <typename Visit>
Problem for_each_extent(const MappedFile &file, std::vector<std::string> &losses, Visit visit) {
    const std::span<const char> bytes = file.bytes();
    for (uint64_t offset = format::kHeaderBytes; offset < bytes.size();) {
        if (bytes.size() - offset < sizeof(ExtentHeader)) {
            losses.push_back(file.path() + ": the file ends inside the head of an extent at byte " +
                             std::to_string(offset) + ".");
            break;
        }
        ExtentHeader header;
        memcpy(&header, bytes.data() + offset, sizeof header);
        if (header.magic == 0) break;
        if (header.magic != format::kExtentMagic) return {file.path(), offset, "is damaged: no extent begins here"};
        if (header.bytes < sizeof header || header.bytes % 4096 != 0)
            return {file.path(), offset + 8, "is damaged: impossible length of an extent"};
        uint64_t available = header.bytes;
        if (header.bytes > bytes.size() - offset) {
            available = (bytes.size() - offset) & ~uint64_t{7};
            losses.push_back(file.path() + ": the file was truncated inside the extent at byte " +
                             std::to_string(offset) + ".");
        }
        Problem problem = visit(header, bytes.subspan(offset + sizeof header, available - sizeof header), offset);
        if (problem) return problem;
        offset += header.bytes;
    }
    return {};
}

Problem read_definitions(RunFiles &run, std::span<const char> contents, uint64_t offset) {
    const std::string &path = run.process_file.path();
    for (size_t place = 0; place + sizeof(format::DefinitionRecord) <= contents.size();) {
        format::DefinitionRecord record;
        memcpy(&record, contents.data() + place, sizeof record);
        if (record.bytes == 0) break;
        const uint64_t at = offset + sizeof(ExtentHeader) + place;
        if (record.bytes % 8 != 0 || record.bytes < sizeof record || record.bytes > contents.size() - place ||
            record.text_bytes > record.bytes - sizeof record)
            return {path, at, "is damaged: impossible length of a definition"};
        const std::string text(contents.data() + place + sizeof record, record.text_bytes);
        if (record.kind == format::DefinitionKind::kModule) {
            if (record.id != run.modules.size()) return {path, at, "is damaged: modules out of order"};
            const size_t zero = text.find('\0');
            if (zero == std::string::npos) return {path, at, "is damaged: module without a path"};
            run.modules.push_back({text.substr(zero + 1), text.substr(0, zero), record.address});
        } else {
            if (record.id != run.definitions.size() || record.kind > format::DefinitionKind::kPhase)
                return {path, at, "is damaged: constructs out of order"};
            if (record.module != ~0u && record.module >= run.modules.size())
                return {path, at, "is damaged: construct in an unknown module"};
            run.definitions.push_back({record.kind, record.flags, record.module, record.address, text});
        }
        place += record.bytes;
    }
    return {};
}

Problem read_process(RunFiles &run) {
    Problem problem = run.process_file.open(run.directory + "/process.log");
    if (problem) return problem;
    run.log_bytes += run.process_file.bytes().size();
    if (is_unborn(run.process_file)) {
        static const format::ProcessHeader unborn = {};
        run.process = &unborn;
        return {};
    }
    if (Problem short_file = check_length(run.process_file)) return short_file;
    run.process = reinterpret_cast<const format::ProcessHeader *>(run.process_file.bytes().data());
    problem = check_header(run.process_file, format::kProcessMagic, run.process->version, run.process->header_bytes);
    if (problem) return problem;
    if (run.process->n_counters > format::kMaxCounters)
        return {run.process_file.path(), 32, "is damaged: too many counters"};
    return for_each_extent(run.process_file, run.losses,
                           [&](const ExtentHeader &header, std::span<const char> contents, uint64_t offset) -> Problem {
                               if (header.kind == ExtentKind::kDefinitions)
                                   return read_definitions(run, contents, offset);
                               if (header.kind != ExtentKind::kInstances)
                                   return {run.process_file.path(), offset, "is damaged: unexpected kind of extent"};
                               for (size_t i = 0; (i + 1) * sizeof(format::RegionInstance) <= contents.size(); i++)
                                   run.instances.push_back(
                                       reinterpret_cast<const format::RegionInstance *>(contents.data()) + i);
                               return {};
                           });
}

using Words = std::span<const uint64_t>;

// The first extent of events is a window that its thread may be writing anew: copies it to a place of our own. Its number,
// or kNoNumber if that changed meanwhile.
uint64_t copy_window(const ExtentHeader &window, std::span<const char> contents, std::vector<uint64_t> &copy) {
    const uint64_t number = __atomic_load_n(&window.first, __ATOMIC_ACQUIRE);
    copy.resize(contents.size() / sizeof(uint64_t));
    memcpy(copy.data(), contents.data(), copy.size() * sizeof(uint64_t));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&window.first, __ATOMIC_RELAXED) == number ? number : format::kNoNumber;
}

bool has_grown(const MappedFile &file) {
    struct stat now;
    return stat(file.path().c_str(), &now) == 0 && static_cast<uint64_t>(now.st_size) > file.bytes().size();
}

// A slot is unused, or has the id of its place.
Problem check_slots(const std::string &path, const ExtentHeader &extent, std::span<const char> contents,
                    uint64_t offset) {
    for (size_t i = 0; i < format::kSlotsPerExtent && (i + 1) * format::kSlotBytes <= contents.size(); i++) {
        uint32_t id; // in slots of either kind
        memcpy(&id, contents.data() + i * format::kSlotBytes, sizeof id);
        if (id != 0 && id != extent.first + i)
            return {path, offset + sizeof extent + i * format::kSlotBytes, "is damaged: statistics out of place"};
    }
    return {};
}

// `window_moved`: events are not complete, for their thread has written on meanwhile.
Problem read_thread(RunFiles &run, const std::string &path, ThreadFile &thread, bool &window_moved) {
    Problem problem = thread.file.open(path);
    if (problem) return problem;
    if (is_unborn(thread.file)) {
        run.remarks.push_back(path + ": the program ended while this log was being made.");
        return {};
    }
    if (Problem short_file = check_length(thread.file)) return short_file;
    const auto *header = reinterpret_cast<const format::ThreadHeader *>(thread.file.bytes().data());
    problem = check_header(thread.file, format::kThreadMagic, header->version, header->header_bytes);
    if (problem) return problem;
    thread.header = header;
    std::map<uint64_t, Words> events; // by number
    bool has_window = false;
    const auto add_events = [&](const ExtentHeader &extent, std::span<const char> contents) {
        uint64_t number = extent.first;
        Words words(reinterpret_cast<const uint64_t *>(contents.data()), contents.size() / sizeof(uint64_t));
        if (!has_window && run.process->end_reason == format::EndReason::kRunning) { // or killed
            const auto *window = reinterpret_cast<const ExtentHeader *>(contents.data()) - 1;
            number = copy_window(*window, contents, thread.window);
            words = thread.window;
            window_moved = number == format::kNoNumber;
        }
        has_window = true;
        if (number != format::kNoNumber) events.try_emplace(number, words);
    };
    problem =
        for_each_extent(thread.file, run.losses,
                        [&](const ExtentHeader &extent, std::span<const char> contents, uint64_t offset) -> Problem {
                            if (extent.kind == ExtentKind::kSlots) {
                                if (Problem misplaced = check_slots(path, extent, contents, offset)) return misplaced;
                                thread.slots.push_back(contents);
                                thread.first_slot.push_back(static_cast<uint32_t>(extent.first));
                            } else if (extent.kind == ExtentKind::kEvents) {
                                add_events(extent, contents);
                            } else {
                                return {path, offset, "is damaged: unexpected kind of extent"};
                            }
                            return {};
                        });
    for (const auto &[number, words] : events)
        if (number == thread.events.size()) thread.events.push_back(words);
    if (thread.events.size() < events.size())
        run.losses.push_back(path + ": events are missing in the middle, and those after them cannot be read.");
    return problem;
}

} // namespace

Problem open_run(const std::string &directory, RunFiles &run) {
    run.directory = directory;
    DIR *listing = opendir(directory.c_str());
    if (!listing) return {directory, 0, std::string("cannot be opened: ") + strerror(errno)};
    std::vector<unsigned> indices;
    while (const dirent *entry = readdir(listing)) {
        unsigned index;
        int length = 0;
        if (sscanf(entry->d_name, "thread-%u.log%n", &index, &length) == 1 && entry->d_name[length] == 0 &&
            index < (1u << 16))
            indices.push_back(index);
    }
    closedir(listing);
    Problem problem = read_process(run);
    if (problem) return problem;
    if (run.definitions.empty()) { // killed before the first definition
        run.definitions.push_back({});
        run.remarks.push_back(run.process_file.path() + ": the program ended while this log was being made.");
    }
    std::sort(indices.begin(), indices.end());
    run.threads.resize(indices.empty() ? 0 : indices.back() + 1);
    for (const unsigned index : indices) {
        char name[32];
        snprintf(name, sizeof name, "/thread-%05u.log", index);
        // What seems lost may only have been written while we read.
        const size_t n_losses = run.losses.size(), n_remarks = run.remarks.size();
        for (int attempt = 1; attempt <= kAttempts; attempt++) {
            bool window_moved = false;
            run.losses.resize(n_losses), run.remarks.resize(n_remarks);
            ThreadFile &thread = run.threads[index] = {};
            problem = read_thread(run, directory + name, thread, window_moved);
            if (problem) return problem;
            if ((!window_moved && run.losses.size() == n_losses) || !has_grown(thread.file)) break;
        }
        run.log_bytes += run.threads[index].file.bytes().size();
    }
    if (indices.size() < run.process->n_threads)
        run.losses.push_back(directory + ": " + std::to_string(run.process->n_threads - indices.size()) +
                             " thread logs are missing.");
    run.remarks.insert(run.remarks.end(), run.losses.begin(), run.losses.end());
    return {};
}

} // namespace ompass
