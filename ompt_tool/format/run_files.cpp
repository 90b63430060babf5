// SPDX-License-Identifier: Apache-2.0
// Every offset that comes from a file is checked before it is used.
#include "run_files.h"
#include "refusals.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
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

RunClock::RunClock(const format::ProcessHeader &process) : start_(process.start_ticks), rate_(process.rate) {
    if (process.clock_kind == format::ClockKind::kClockGettime) return;
    const uint64_t ticks = process.latest_ticks - process.calibration_ticks;
    const uint64_t ns = process.latest_monotonic_ns - process.calibration_monotonic_ns;
    constexpr uint64_t kLongEnough = 1'000'000; // ns between the calibration points; below, `rate` is more exact
    if (ns >= kLongEnough && ticks > 0 && ns < 1ull << 60)
        multiplier_ = static_cast<uint64_t>((static_cast<unsigned __int128>(ns) << 40) / ticks);
    else
        multiplier_ = process.rate << 8;
    if (multiplier_ == 0) multiplier_ = 1ull << 40;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

MappedFile::~MappedFile() {
    end_copying();
    if (data_) munmap(const_cast<char *>(data_), size_);
}

Problem MappedFile::open(const std::string &path) {
    path_ = path;
    struct stat status; // checked first, because opening a device may have an effect
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return {path, 0, "is not a regular file"};
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // does not block if it is a pipe by now
    if (descriptor_ < 0) return {path, 0, std::string("cannot be opened: ") + strerror(errno)};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return {path, 0, "is not a regular file"};
    if (status.st_size == 0) return {};
    void *data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, descriptor_, 0);
    if (data == MAP_FAILED) return {path, 0, std::string("cannot be mapped: ") + strerror(errno)};
    data_ = static_cast<const char *>(data);
    size_ = static_cast<size_t>(status.st_size);
    return {};
}

size_t MappedFile::copy(uint64_t offset, void *to, size_t n_bytes) const {
    size_t done = 0;
    while (done < n_bytes) {
        const ssize_t got =
            pread(descriptor_, static_cast<char *>(to) + done, n_bytes - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<size_t>(got);
    }
    memset(static_cast<char *>(to) + done, 0, n_bytes - done);
    return done;
}

void MappedFile::end_copying() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
}

namespace {

using format::ExtentHeader;
using format::ExtentKind;

// True if the file is empty or has no magic, because its writer was killed while it made the file.
bool is_unwritten(const MappedFile &file) {
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
    if (version < format::kOldestVersion || version > format::kVersion)
        return {file.path(), 8,
                "has format version " + std::to_string(version) + ", this Ompass reads versions " +
                    std::to_string(format::kOldestVersion) + " to " + std::to_string(format::kVersion)};
    if (header_bytes != format::kHeaderBytes)
        return {file.path(), 12, "has a header of a size that does not belong to its version"};
    return {};
}

constexpr const char *kEmpty = ": is empty: the program ended while it made the file, or the file could not grow.";
constexpr int kAttempts = 100; // to read the log of a thread that is writing

// Copies bytes of the file into memory owned by `copies`.
char *keep_copy(const MappedFile &file, uint64_t offset, size_t n_bytes, Copies &copies) {
    const size_t n_lines = n_bytes / sizeof(CopiedLine) + 1;
    copies.push_back(std::make_unique_for_overwrite<CopiedLine[]>(n_lines));
    char *bytes = copies.back()[0].bytes;
    file.copy(offset, bytes, n_bytes);
    return bytes;
}

// Calls visit(header, contents, offset) for every extent, up to the first without magic, which its writer did not
// finish. Reads headers without the mapping, because the file may be truncated at any time in or after the last extent.
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
        file.copy(offset, &header, sizeof header);
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
        // Reads the length first; a writing program stores it last.
        const char *const begin = contents.data() + place;
        const auto *length = reinterpret_cast<const uint32_t *>(begin + offsetof(format::DefinitionRecord, bytes));
        format::DefinitionRecord record;
        if (__atomic_load_n(length, __ATOMIC_ACQUIRE) == 0) break;
        memcpy(&record, begin, sizeof record);
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
            if (record.id != run.definitions.size() || record.kind > format::kLastDefinition)
                return {path, at, "is damaged: constructs out of order"};
            if (record.module != ~0u && record.module >= run.modules.size())
                return {path, at, "is damaged: construct in an unknown module"};
            run.definitions.push_back({record.kind, record.flags & ~format::kPlaceAround, record.module, record.address,
                                       text, (record.flags & format::kPlaceAround) != 0});
        }
        place += record.bytes;
    }
    return {};
}

Problem read_process(RunFiles &run, std::vector<std::string> &losses) {
    run.process_file = {};
    run.process_copies.clear(), run.modules.clear(), run.definitions.clear(), run.instances.clear(), losses.clear();
    Problem problem = run.process_file.open(run.directory + "/process.log");
    if (problem) return problem;
    if (is_unwritten(run.process_file)) {
        static const format::ProcessHeader unwritten = {};
        run.process = &unwritten;
        return {};
    }
    if (Problem short_file = check_length(run.process_file)) return short_file;
    run.process = reinterpret_cast<const format::ProcessHeader *>(
        keep_copy(run.process_file, 0, sizeof(format::ProcessHeader), run.process_copies));
    problem = check_header(run.process_file, format::kProcessMagic, run.process->version, run.process->header_bytes);
    if (problem) return problem;
    if (run.process->n_counters > format::kMaxCounters)
        return {run.process_file.path(), 32, "is damaged: too many counters"};
    return for_each_extent(
        run.process_file, losses,
        [&](const ExtentHeader &header, std::span<const char> contents, uint64_t offset) -> Problem {
            if (header.kind == ExtentKind::kDefinitions) return read_definitions(run, contents, offset);
            if (header.kind != ExtentKind::kInstances)
                return {run.process_file.path(), offset, "is damaged: unexpected kind of extent"};
            const char *instances = run.process->is_final ? contents.data()
                                                          : keep_copy(run.process_file, offset + sizeof header,
                                                                      contents.size(), run.process_copies);
            for (size_t i = 0; (i + 1) * sizeof(format::RegionInstance) <= contents.size(); i++)
                run.instances.push_back(reinterpret_cast<const format::RegionInstance *>(instances) + i);
            return {};
        });
}

using Words = std::span<const uint64_t>;

// Returns the number of a copy of the first extent of events, the window, which the thread writes repeatedly. `head`
// was read before the copy was made. Returns kNoNumber if the number has changed since.
uint64_t number_of_copy(const MappedFile &file, const ExtentHeader &head, uint64_t offset) {
    ExtentHeader after;
    file.copy(offset, &after, sizeof after);
    return after.first == head.first ? head.first : format::kNoNumber;
}

bool has_grown(const MappedFile &file) {
    struct stat now;
    return stat(file.path().c_str(), &now) == 0 && static_cast<uint64_t>(now.st_size) > file.bytes().size();
}

// Returns a problem unless each slot is unused or has the id of its place.
Problem check_slots(const std::string &path, size_t slot_bytes, const ExtentHeader &extent,
                    std::span<const char> contents, uint64_t offset) {
    for (size_t i = 0; i < format::kSlotsPerExtent && (i + 1) * slot_bytes <= contents.size(); i++) {
        uint32_t id; // in slots of either kind
        memcpy(&id, contents.data() + i * slot_bytes, sizeof id);
        if (id != 0 && id != extent.first + i)
            return {path, offset + sizeof extent + i * slot_bytes, "is damaged: statistics out of place"};
    }
    return {};
}

// Reads one log. Sets `window_moved` if events are missing because the thread wrote its window during the read.
Problem read_thread(RunFiles &run, const std::string &path, ThreadFile &thread, bool &window_moved) {
    Problem problem = thread.file.open(path);
    if (problem) return problem;
    if (is_unwritten(thread.file)) {
        run.remarks.push_back(path + kEmpty);
        return {};
    }
    if (Problem short_file = check_length(thread.file)) return short_file;
    const auto *header = reinterpret_cast<const format::ThreadHeader *>(
        keep_copy(thread.file, 0, sizeof(format::ThreadHeader), thread.copies));
    problem = check_header(thread.file, format::kThreadMagic, header->version, header->header_bytes);
    if (problem) return problem;
    thread.header = header;
    std::map<uint64_t, std::pair<Words, uint64_t>> events; // by number, with their offsets
    bool has_window = false;
    const auto add_events = [&](const ExtentHeader &extent, std::span<const char> contents, uint64_t offset) {
        uint64_t number = extent.first;
        const char *words = contents.data();
        if (!has_window && !run.process->is_final) {
            words = keep_copy(thread.file, offset + sizeof extent, contents.size(), thread.copies);
            number = number_of_copy(thread.file, extent, offset);
            window_moved = number == format::kNoNumber;
        }
        has_window = true;
        if (number != format::kNoNumber)
            events.try_emplace(number,
                               Words(reinterpret_cast<const uint64_t *>(words), contents.size() / sizeof(uint64_t)),
                               offset + sizeof extent);
    };
    problem = for_each_extent(
        thread.file, run.losses,
        [&](const ExtentHeader &extent, std::span<const char> contents, uint64_t offset) -> Problem {
            if (extent.kind == ExtentKind::kSlots) {
                if (!run.process->is_final)
                    contents = {keep_copy(thread.file, offset + sizeof extent, contents.size(), thread.copies),
                                contents.size()};
                if (Problem misplaced =
                        check_slots(path, format::slot_bytes(header->version), extent, contents, offset))
                    return misplaced;
                thread.slots.push_back(contents);
                thread.first_slot.push_back(static_cast<uint32_t>(extent.first));
            } else if (extent.kind == ExtentKind::kEvents) {
                add_events(extent, contents, offset);
            } else {
                return {path, offset, "is damaged: unexpected kind of extent"};
            }
            return {};
        });
    for (const auto &[number, extent] : events) {
        if (number != thread.events.size()) break; // extents before it are missing
        thread.events.push_back(extent.first);
        thread.event_offsets.push_back(extent.second);
    }
    if (thread.events.size() < events.size())
        run.losses.push_back(path + ": events are missing in the middle, and those after them cannot be read.");
    return problem;
}

std::string log_name(uint32_t index) {
    char name[32];
    snprintf(name, sizeof name, "thread-%05u.log", index);
    return name;
}

// Drops logs whose number is far beyond the number of threads: they do not belong to this run, and tables by number
// must stay small. Logs are numbered in the order in which threads begin.
void drop_foreign_logs(RunFiles &run, std::vector<uint32_t> &indices) {
    constexpr uint64_t kBegunMeanwhile = 1024; // threads whose log is missing or not counted when a program is killed
    const uint64_t limit = run.process->n_threads + indices.size() + kBegunMeanwhile;
    while (!indices.empty() && indices.back() >= limit) {
        run.losses.push_back(run.directory + "/" + log_name(indices.back()) +
                             ": is left out: the run has far fewer threads.");
        indices.pop_back();
    }
}

// Lists the numbers of the thread logs in the directory, in order.
Problem list_logs(const std::string &directory, std::vector<uint32_t> &indices) {
    DIR *listing = opendir(directory.c_str());
    if (!listing) return {directory, 0, std::string("cannot be opened: ") + strerror(errno)};
    while (const dirent *entry = readdir(listing)) {
        uint32_t index;
        if (sscanf(entry->d_name, "thread-%5" SCNu32 ".log", &index) == 1 && entry->d_name == log_name(index))
            indices.push_back(index);
    }
    closedir(listing);
    std::sort(indices.begin(), indices.end());
    return {};
}

std::string counted(uint64_t n, const char *noun) { return std::to_string(n) + " " + noun + (n == 1 ? "" : "s"); }

// Lists the data that the tool could not write, without records of the trace, which do not concern the profile.
void list_missing(RunFiles &run) {
    const format::ProcessHeader &process = *run.process;
    if (!process.n_lost) return;
    const std::string because = ": " + refusal_text(process.first_refusal) + ".";
    std::string pieces =
        counted(process.n_lost, "piece") + " of the record " + (process.n_lost == 1 ? "is" : "are") + " missing";
    if (process.n_unlogged) pieces += ", the logs of " + counted(process.n_unlogged, "thread") + " among them";
    run.missing.push_back(run.directory + ": " + pieces + because);
    if (process.n_unlogged_tasks)
        run.missing.push_back(run.directory + ": " + counted(process.n_unlogged_tasks, "completed task") +
                              (process.n_unlogged_tasks == 1 ? " is" : " are") + " in no log and in no figure.");
    else if (process.n_unlogged && process.end_reason == format::EndReason::kRunning)
        run.missing.push_back(run.directory + ": the tasks of threads without a log are counted when recording ends.");
}

// Reads one log. Reads it again if data are missing that the program may have written during the read.
Problem read_thread_at_rest(RunFiles &run, uint32_t index) {
    const size_t n_losses = run.losses.size(), n_remarks = run.remarks.size();
    for (int attempt = 1; attempt <= kAttempts; attempt++) {
        bool window_moved = false;
        run.losses.resize(n_losses), run.remarks.resize(n_remarks);
        ThreadFile &thread = run.threads[index] = {};
        const std::string path = run.directory + "/" + log_name(index);
        if (Problem problem = read_thread(run, path, thread, window_moved)) return problem;
        thread.file.end_copying();
        if ((!window_moved && run.losses.size() == n_losses) || !has_grown(thread.file)) break;
    }
    run.log_bytes += run.threads[index].file.bytes().size();
    return {};
}

} // namespace

// Reads process.log twice while the program runs: before the other logs, for their number, and after them, because
// process.log then has all definitions that they use.
Problem open_run(const std::string &directory, RunFiles &run) {
    run.directory = directory;
    std::vector<std::string> losses; // in process.log
    std::vector<uint32_t> indices;
    Problem problem = read_process(run, losses);
    if (Problem unlisted = list_logs(directory, indices)) return unlisted;
    if (problem) return problem;
    const uint32_t n_begun = run.process->n_threads;
    drop_foreign_logs(run, indices);
    run.threads.resize(indices.empty() ? 0 : indices.back() + 1);
    for (const uint32_t index : indices)
        if ((problem = read_thread_at_rest(run, index))) return problem;
    if (!run.process->is_final && (problem = read_process(run, losses))) return problem;
    run.process_file.end_copying();
    run.log_bytes += run.process_file.bytes().size();
    if (run.definitions.empty()) { // killed before the first definition
        run.definitions.push_back({});
        run.remarks.push_back(run.process_file.path() + kEmpty);
    }
    const bool counts_unlogged = !run.process->n_lost || run.process->first_refusal; // false: an older recording
    if (indices.size() + run.process->n_unlogged < n_begun && counts_unlogged)
        losses.push_back(directory + ": " + std::to_string(n_begun - indices.size()) + " thread logs are missing.");
    list_missing(run);
    run.losses.insert(run.losses.end(), losses.begin(), losses.end());
    run.remarks.insert(run.remarks.end(), run.missing.begin(), run.missing.end());
    run.remarks.insert(run.remarks.end(), run.losses.begin(), run.losses.end());
    return {};
}

} // namespace ompass
