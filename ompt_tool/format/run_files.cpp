// SPDX-License-Identifier: Apache-2.0
// Checks every offset in a file before it uses the offset.
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
    constexpr uint64_t kLongEnough = 1'000'000; // ns between the calibration points; if shorter, `rate` is more exact
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
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // must not block on a pipe
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
    return {file.path(), file.bytes().size(), "is too short to be an Ompass log"};
}

Problem check_header(const MappedFile &file, const char *magic, uint32_t version, uint32_t header_bytes) {
    if (memcmp(file.bytes().data(), magic, 8) != 0) return {file.path(), 0, "is not an Ompass log"};
    if (version < format::kOldestVersion || version > format::kVersion)
        return {file.path(), 8,
                "has format version " + std::to_string(version) + ", this Ompass reads versions " +
                    std::to_string(format::kOldestVersion) + " to " + std::to_string(format::kVersion)};
    if (header_bytes != format::kHeaderBytes)
        return {file.path(), 12, "has a header whose size does not fit its version"};
    return {};
}

constexpr const char *kEmpty = ": is empty: the program ended while it made the file, or the file could not grow.";
constexpr const char *kNameless =
    ": names no construct, so the figures lack all tasks and regions: the program ended while it wrote the first name, "
    "or the file could not grow.";
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
        // Not min(offset + header.bytes, bytes.size()): the sum may exceed 64 bits.
        const uint64_t available = std::min<uint64_t>(header.bytes, bytes.size() - offset);
        if (available < header.bytes)
            losses.push_back(file.path() + ": the file was truncated inside the extent at byte " +
                             std::to_string(offset) + ".");
        const std::span<const char> contents = bytes.subspan(offset, available & ~uint64_t{7}).subspan(sizeof header);
        if (Problem problem = visit(header, contents, offset)) return problem;
        offset += available;
    }
    return {};
}

// Counts the extents of one kind in process.log, by their numbers. Numbers are missing if the disk refused extents,
// which the tool then kept in memory.
class NumberedExtents {
public:
    // Returns the number of refused extents before this one.
    uint64_t refused_before(const RunFiles &run, const ExtentHeader &header) {
        constexpr uint64_t kMost = 256; // more than a full disk causes; a damaged head may have any number
        const uint64_t n = header.first > next_ ? header.first - next_ : 0;
        const uint64_t n_refused = n <= std::min<uint64_t>(run.process->n_lost, kMost) ? n : 0;
        next_ += n_refused + 1;
        return n_refused;
    }

private:
    uint64_t next_ = 0;
};

// Reads the definitions of an extent. Makes nameless definitions in place of those that were in the `n_refused` missing
// extents before it.
Problem read_definitions(RunFiles &run, std::span<const char> contents, uint64_t offset, uint64_t n_refused) {
    const std::string &path = run.process_file.path();
    const uint64_t n_lost = n_refused * (format::kDefinitionExtentBytes / sizeof(format::DefinitionRecord));
    const auto fill = [&](auto &list, uint64_t n, const auto &lost) {
        if (n > list.size() && n - list.size() <= n_lost) list.resize(n, lost);
    };
    const Module lost_module = {"(lost)", "", 0};
    for (size_t place = 0; place + sizeof(format::DefinitionRecord) <= contents.size();) {
        // Reads the length first, because a running program stores it last.
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
            fill(run.modules, record.id, lost_module);
            if (record.id != run.modules.size()) return {path, at, "is damaged: modules out of order"};
            const size_t zero = text.find('\0');
            if (zero == std::string::npos) return {path, at, "is damaged: module without a path"};
            run.modules.push_back({text.substr(zero + 1), text.substr(0, zero), record.address});
        } else {
            fill(run.definitions, record.id, Definition());
            fill(run.modules, record.module + uint64_t{1}, lost_module);
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
    NumberedExtents definition_extents, instance_extents;
    uint64_t n_refused = 0; // extents of definitions
    return for_each_extent(
        run.process_file, losses,
        [&](const ExtentHeader &header, std::span<const char> contents, uint64_t offset) -> Problem {
            if (header.kind == ExtentKind::kDefinitions) {
                n_refused += definition_extents.refused_before(run, header);
                return read_definitions(run, contents, offset, n_refused);
            }
            if (header.kind != ExtentKind::kInstances)
                return {run.process_file.path(), offset, "is damaged: unexpected kind of extent"};
            const char *instances = run.process->is_final ? contents.data()
                                                          : keep_copy(run.process_file, offset + sizeof header,
                                                                      contents.size(), run.process_copies);
            static const format::RegionInstance unused = {};
            const uint64_t n_lost = instance_extents.refused_before(run, header) *
                                    ((format::kInstanceExtentBytes - sizeof header) / sizeof(format::RegionInstance));
            run.instances.insert(run.instances.end(), n_lost, &unused);
            for (size_t i = 0; (i + 1) * sizeof(format::RegionInstance) <= contents.size(); i++)
                run.instances.push_back(reinterpret_cast<const format::RegionInstance *>(instances) + i);
            return {};
        });
}

// Sets the kinds of lost definitions. The slots in the threads' logs hold these kinds.
void find_lost_kinds(RunFiles &run) {
    if (!run.process->n_lost) return;
    for (const ThreadFile &thread : run.threads)
        for (size_t extent = 0; extent < thread.slots.size(); extent++) {
            const size_t slot_bytes = format::slot_bytes(thread.header->version);
            for (size_t i = 0; (i + 1) * slot_bytes <= thread.slots[extent].size(); i++) {
                struct { // all slots begin with these fields
                    uint32_t id;
                    format::DefinitionKind kind;
                } slot;
                memcpy(&slot, thread.slots[extent].data() + i * slot_bytes, sizeof slot);
                if (slot.id == 0 || slot.id >= run.definitions.size() || slot.kind > format::kLastDefinition) continue;
                Definition &definition = run.definitions[slot.id];
                if (definition.kind == format::DefinitionKind::kProgram) definition.kind = slot.kind;
            }
        }
}

using EventExtents = std::map<uint64_t, EventExtent>; // of a thread, by number

// Returns the number of the copied window, or kNoNumber if the number has changed during the copy. `head` was read
// before the copy. The window is the first extent of events, which the thread empties and reuses.
uint64_t number_of_copy(const MappedFile &file, const ExtentHeader &head, uint64_t offset) {
    ExtentHeader after;
    file.copy(offset, &after, sizeof after);
    return after.first == head.first ? head.first : format::kNoNumber;
}

bool has_grown(const MappedFile &file) {
    struct stat now;
    return stat(file.path().c_str(), &now) == 0 && static_cast<uint64_t>(now.st_size) > file.bytes().size();
}

// Returns a problem if a used slot does not have the id of its place.
Problem check_slots(const std::string &path, size_t slot_bytes, const ExtentHeader &extent,
                    std::span<const char> contents, uint64_t offset) {
    for (size_t i = 0; i < format::kSlotsPerExtent && (i + 1) * slot_bytes <= contents.size(); i++) {
        uint32_t id; // first field of all kinds of slots
        memcpy(&id, contents.data() + i * slot_bytes, sizeof id);
        if (id != 0 && id != extent.first + i)
            return {path, offset + sizeof extent + i * slot_bytes, "is damaged: statistics out of place"};
    }
    return {};
}

// Uses the extents from number 0 up to the first missing number.
void use_all_events(RunFiles &run, ThreadFile &thread, const EventExtents &events) {
    for (const auto &[number, extent] : events) {
        if (number != thread.events.size()) break; // the extent before it is missing
        thread.events.push_back(extent.words);
        thread.event_offsets.push_back(extent.offset);
    }
    if (thread.events.size() < events.size())
        run.losses.push_back(thread.file.path() +
                             ": events are missing in the middle, and those after them cannot be read.");
}

// Reads one log, and puts its event extents into `events`. Sets `window_moved` if events are missing because the thread
// changed its window during the read.
Problem read_thread(RunFiles &run, const std::string &path, ThreadFile &thread, EventExtents &events,
                    bool &window_moved) {
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
    events.clear();
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
            events.try_emplace(number, EventExtent{extent,
                                                   Words(reinterpret_cast<const uint64_t *>(words),
                                                         contents.size() / sizeof(uint64_t)),
                                                   offset + sizeof extent});
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
    return problem;
}

std::string log_name(uint32_t index) {
    char name[32];
    snprintf(name, sizeof name, "thread-%05u.log", index);
    return name;
}

// Drops logs with numbers far above the number of threads, so that tables that are indexed by the number stay small.
// Threads get numbers in the order in which they begin, so these logs do not belong to this run.
void drop_foreign_logs(RunFiles &run, std::vector<uint32_t> &indices) {
    constexpr uint64_t kBegunMeanwhile = 1024; // upper limit of the threads that are uncounted or have no log
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

std::string kept_log(const RunFiles &run) { return run.directory + "/kept.log"; }

bool keeps_last(const RunFiles &run) {
    struct stat status;
    return stat(kept_log(run).c_str(), &status) == 0;
}

// Adds the extents of kept.log to `events`, with their words only if `with_words`. A running program may be writing any
// extent.
Problem read_kept_extents(RunFiles &run, std::vector<EventExtents> &events, bool with_words) {
    MappedFile &file = run.kept_file;
    const auto number_now = [&](uint64_t offset) {
        ExtentHeader head;
        file.copy(offset, &head, sizeof head);
        return head.first;
    };
    return for_each_extent(
        file, run.losses, [&](const ExtentHeader &head, std::span<const char> contents, uint64_t offset) -> Problem {
            if (head.kind != ExtentKind::kEvents) return {file.path(), offset, "is damaged: unexpected kind of extent"};
            const uint64_t begin = offset + sizeof head;
            const char *words = contents.data();
            if (!with_words) contents = {};
            if (!run.process->is_final) words = keep_copy(file, begin, contents.size(), run.kept_copies);
            const bool is_whole = run.process->is_final || number_now(offset) == head.first;
            if (is_whole && head.first != format::kNoNumber && head.thread < events.size())
                events[head.thread].try_emplace(head.first, EventExtent{head,
                                                                        Words(reinterpret_cast<const uint64_t *>(words),
                                                                              contents.size() / sizeof(uint64_t)),
                                                                        begin});
            return {};
        });
}

// The readable end of one thread's trace: its latest extents, back to the first gap.
struct KeptEvents {
    std::vector<const EventExtent *> extents;
    std::vector<size_t> checkpoints; // indices in `extents` of the extents in which a checkpoint ends
    bool has_lost = false; // true if extents before these are missing

    uint64_t ticks_of(size_t checkpoint) const { return extents[checkpoints[checkpoint]]->head.checkpoint_ticks; }

    // Returns the words of a checkpoint, or none if its start is missing.
    std::vector<uint64_t> words_of(size_t checkpoint) const {
        const size_t last = checkpoints[checkpoint];
        size_t first = last;
        while (first > 0 && extents[first]->head.first_checkpoint_word) first--;
        std::vector<uint64_t> words;
        for (size_t i = first; i <= last; i++) {
            const Words all = extents[i]->words;
            if (extents[i]->head.first_checkpoint_word != words.size()) return {};
            const size_t n = std::min<size_t>(extents[i]->head.n_checkpoint_words, all.size());
            words.insert(words.end(), all.begin(), all.begin() + static_cast<ptrdiff_t>(n));
        }
        return words;
    }
};

KeptEvents kept_events(const EventExtents &events) {
    KeptEvents kept;
    for (auto each = events.rbegin(); each != events.rend(); ++each) {
        if (!kept.extents.empty() && each->first + 1 != kept.extents.back()->head.first) break;
        kept.extents.push_back(&each->second);
    }
    std::reverse(kept.extents.begin(), kept.extents.end());
    kept.has_lost = !kept.extents.empty() && kept.extents[0]->head.first != 0;
    for (size_t i = 0; i < kept.extents.size(); i++)
        if (kept.extents[i]->head.checkpoint_ticks) kept.checkpoints.push_back(i);
    return kept;
}

// Makes a thread's events begin at the checkpoint with this index; ~0: at the first extent.
void use_events_from(ThreadFile &thread, const KeptEvents &kept, size_t checkpoint) {
    const bool is_first = checkpoint == ~size_t{0};
    if (!is_first && !thread.checkpoint.take(kept.words_of(checkpoint))) return;
    for (size_t i = is_first ? 0 : kept.checkpoints[checkpoint]; i < kept.extents.size(); i++) {
        const Words words = kept.extents[i]->words;
        const size_t skipped = std::min<size_t>(kept.extents[i]->head.n_checkpoint_words, words.size());
        thread.events.push_back(words.subspan(skipped));
        thread.event_offsets.push_back(kept.extents[i]->offset + skipped * sizeof(uint64_t));
    }
}

// Returns the first moment that is at least 1 ns after the start.
uint64_t after_start(const RunFiles &run) { return run.process->start_ticks + RunClock(*run.process).ticks(1) + 1; }

// Reads kept.log. Sets run.window_begin to the earliest time from which all threads have events, except threads
// without a checkpoint. The events of each thread begin at its last checkpoint up to that time, or else, if the thread
// has lost none, at its first event.
Problem read_kept(RunFiles &run, std::vector<EventExtents> &events, bool with_words) {
    if (!keeps_last(run)) return {};
    if (Problem problem = run.kept_file.open(kept_log(run))) return problem;
    if (!is_unwritten(run.kept_file)) {
        if (Problem problem = check_length(run.kept_file)) return problem;
        format::KeptHeader header;
        memcpy(&header, run.kept_file.bytes().data(), sizeof header);
        if (Problem problem = check_header(run.kept_file, format::kKeptMagic, header.version, header.header_bytes))
            return problem;
        if (Problem problem = read_kept_extents(run, events, with_words)) return problem;
    }
    run.kept_file.end_copying();
    run.log_bytes += run.kept_file.bytes().size();
    std::vector<KeptEvents> kept;
    for (const EventExtents &each : events) {
        KeptEvents &of_thread = kept.emplace_back(kept_events(each));
        const auto is_damaged = [&](size_t i) {
            Checkpoint checkpoint;
            return !checkpoint.take(of_thread.words_of(i));
        };
        while (with_words && !of_thread.checkpoints.empty() && is_damaged(0))
            of_thread.checkpoints.erase(of_thread.checkpoints.begin());
        if (!of_thread.has_lost) continue;
        const bool is_unreadable = of_thread.checkpoints.empty();
        run.threads[kept.size() - 1].lacks_events = is_unreadable;
        const uint64_t begin = is_unreadable ? after_start(run) : of_thread.ticks_of(0);
        run.window_begin = std::max(run.window_begin, begin);
    }
    if (!with_words) return {};
    for (size_t i = 0; i < kept.size(); i++) {
        size_t n = 0; // checkpoints up to the start of the window
        while (n < kept[i].checkpoints.size() && kept[i].ticks_of(n) <= run.window_begin) n++;
        if (n || !kept[i].has_lost) use_events_from(run.threads[i], kept[i], n - 1);
    }
    return {};
}

std::string counted(uint64_t n, const char *noun) { return std::to_string(n) + " " + noun + (n == 1 ? "" : "s"); }

// Lists the data that the tool could not write. Omits records of the trace, which the profile does not need.
void list_missing(RunFiles &run) {
    const format::ProcessHeader &process = *run.process;
    if (!process.n_lost) return;
    const std::string because = ": " + refusal_text(process.first_refusal) + ".";
    std::string pieces =
        counted(process.n_lost, "piece") + " of the recording " + (process.n_lost == 1 ? "is" : "are") + " missing";
    if (process.n_unlogged) pieces += ", the logs of " + counted(process.n_unlogged, "thread") + " among them";
    run.missing.push_back(run.directory + ": " + pieces + because);
    if (process.n_unlogged_tasks)
        run.missing.push_back(run.directory + ": " + counted(process.n_unlogged_tasks, "completed task") +
                              (process.n_unlogged_tasks == 1 ? " is" : " are") + " in no log and in no figure.");
    else if (process.n_unlogged && process.end_reason == format::EndReason::kRunning)
        run.missing.push_back(run.directory + ": the tasks of threads without a log are counted when recording ends.");
}

// Lists the runtime's contradictions of its own earlier events, and the OMPT values that the tool did not know.
void list_contradictions(RunFiles &run) {
    static const char *const texts[] = {
#define OMPASS_TEXT(name, text) text,
        OMPASS_CONTRADICTIONS(OMPASS_TEXT)};
    static const char *const kinds[] = {OMPASS_UNKNOWN_VALUES(OMPASS_TEXT)};
#undef OMPASS_TEXT
    const format::ProcessHeader &process = *run.process;
    std::string what;
    for (size_t i = 0; i < std::size(texts); i++)
        if (process.contradictions >> i & 1) (what += what.empty() ? "" : "; ") += texts[i];
    if (!what.empty())
        run.missing.push_back(run.directory + ": the OpenMP runtime contradicted its earlier events " +
                              counted(process.n_contradictions, "time") +
                              ", and the tool ignored or completed these events: the runtime " + what + ".");
    const format::UnknownValue &unknown = process.unknown_value;
    if (process.n_unknown_values && unknown.kind < std::size(kinds))
        run.missing.push_back(run.directory + ": the OpenMP runtime reported " +
                              counted(process.n_unknown_values, "number") +
                              " that this version of Ompass does not know; the first is " + kinds[unknown.kind] + " " +
                              std::to_string(unknown.value) + ".");
}

// Reads one log. Reads it again if data are missing that the program may have written during the read.
Problem read_thread_at_rest(RunFiles &run, uint32_t index, EventExtents &events) {
    const size_t n_losses = run.losses.size(), n_remarks = run.remarks.size();
    for (int attempt = 1; attempt <= kAttempts; attempt++) {
        bool window_moved = false;
        run.losses.resize(n_losses), run.remarks.resize(n_remarks);
        ThreadFile &thread = run.threads[index] = {};
        const std::string path = run.directory + "/" + log_name(index);
        if (Problem problem = read_thread(run, path, thread, events, window_moved)) return problem;
        if (!keeps_last(run)) use_all_events(run, thread, events);
        thread.file.end_copying();
        if ((!window_moved && run.losses.size() == n_losses) || !has_grown(thread.file)) break;
    }
    run.log_bytes += run.threads[index].file.bytes().size();
    return {};
}

} // namespace

// Reads process.log before the other logs, for the number of threads. If the program is still running, reads
// process.log again after the other logs, because it then has all definitions that they use.
Problem open_run(const std::string &directory, RunFiles &run, bool with_kept) {
    run.directory = directory;
    std::vector<std::string> losses; // in process.log
    std::vector<uint32_t> indices;
    Problem problem = read_process(run, losses);
    if (Problem unlisted = list_logs(directory, indices)) return unlisted;
    if (problem) return problem;
    const uint32_t n_begun = run.process->n_threads;
    drop_foreign_logs(run, indices);
    run.threads.resize(indices.empty() ? 0 : indices.back() + 1);
    std::vector<EventExtents> events(run.threads.size());
    for (const uint32_t index : indices)
        if ((problem = read_thread_at_rest(run, index, events[index]))) return problem;
    if ((problem = read_kept(run, events, with_kept || run.process->is_final))) return problem;
    if (!run.process->is_final && (problem = read_process(run, losses))) return problem;
    run.process_file.end_copying();
    run.log_bytes += run.process_file.bytes().size();
    if (run.definitions.empty()) {
        run.definitions.push_back({});
        run.remarks.push_back(run.process_file.path() + (run.process->version ? kNameless : kEmpty));
    }
    find_lost_kinds(run);
    const bool counts_unlogged = !run.process->n_lost || run.process->first_refusal; // false: an older recording
    const uint64_t n_known = indices.size() + run.process->n_unlogged; // list_missing() reports those without a log
    if (n_known < n_begun && counts_unlogged)
        losses.push_back(directory + ": " + counted(n_begun - n_known, "thread log") +
                         (n_begun - n_known == 1 ? " is" : " are") + " missing.");
    list_missing(run);
    list_contradictions(run);
    run.losses.insert(run.losses.end(), losses.begin(), losses.end());
    run.remarks.insert(run.remarks.end(), run.missing.begin(), run.missing.end());
    run.remarks.insert(run.remarks.end(), run.losses.begin(), run.losses.end());
    return {};
}

} // namespace ompass
