// SPDX-License-Identifier: Apache-2.0
// Stores and loads the pyramid of a run directory. Writes it under a temporary name, then renames the file, so a reader
// finds the old file, the new file or none. Does not load files that are damaged or belong to other logs. The format is
// internal; raise kFileVersion with every change.
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <type_traits>
#include <unistd.h>

#include "pyramid.h"

namespace ompass {

namespace {

constexpr uint32_t kFileVersion = 9;
constexpr const char *kFileName = "/pyramid.cache";

uint64_t checksum(const char *bytes, size_t n_bytes) {
    uint64_t sum = n_bytes;
    for (size_t i = 0; i < n_bytes; i += sizeof sum) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, std::min(sizeof word, n_bytes - i));
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    return sum;
}

// Writer and Reader have the same functions, so that transfer() accepts either: value() for plain values and vectors of
// them, each() for other vectors.
class Writer {
public:
    explicit Writer(std::FILE *file) : file_(file) {}
    static constexpr bool kReads = false;
    bool good() const { return good_; }
    uint64_t sum() const { return sum_; }

    template <typename T>
    void value(const T &value) {
        static_assert(std::is_trivially_copyable_v<T>);
        put(&value, sizeof value);
    }
    template <typename T>
    void value(const std::vector<T> &values) {
        static_assert(std::is_trivially_copyable_v<T>);
        value(values.size());
        put(values.data(), values.size() * sizeof(T));
    }
    template <typename T, typename Visit>
    void each(std::vector<T> &values, Visit visit) {
        value(values.size());
        for (T &one : values) visit(one);
    }

private:
    void put(const void *bytes, size_t n_bytes) {
        if (n_bytes == 0) return;
        sum_ = (sum_ ^ checksum(static_cast<const char *>(bytes), n_bytes)) * 0x9e3779b97f4a7c15u;
        good_ = good_ && std::fwrite(bytes, 1, n_bytes, file_) == n_bytes;
    }

    std::FILE *file_;
    bool good_ = true;
    uint64_t sum_ = 0;
};

class Reader {
public:
    explicit Reader(std::span<const char> bytes) : bytes_(bytes) {}
    static constexpr bool kReads = true;
    bool good() const { return good_; }
    bool at_end() const { return bytes_.empty(); }
    uint64_t sum() const { return sum_; }

    template <typename T>
    void value(T &value) {
        static_assert(std::is_trivially_copyable_v<T>);
        get(&value, sizeof value);
    }
    template <typename T>
    void value(std::vector<T> &values) {
        values.resize(size(sizeof(T)));
        get(values.data(), values.size() * sizeof(T));
    }
    template <typename T, typename Visit>
    void each(std::vector<T> &values, Visit visit) {
        const size_t n = size(1);
        values.clear();
        for (size_t i = 0; i < n && good_; i++) visit(values.emplace_back());
    }

private:
    size_t size(size_t of_one) {
        size_t n = 0;
        value(n);
        good_ = good_ && n <= bytes_.size() / of_one;
        return good_ ? n : 0;
    }
    void get(void *to, size_t n_bytes) {
        if (n_bytes == 0) return;
        if (!(good_ = good_ && n_bytes <= bytes_.size())) return;
        memcpy(to, bytes_.data(), n_bytes);
        sum_ = (sum_ ^ checksum(bytes_.data(), n_bytes)) * 0x9e3779b97f4a7c15u;
        bytes_ = bytes_.subspan(n_bytes);
    }

    std::span<const char> bytes_;
    bool good_ = true;
    uint64_t sum_ = 0;
};

} // namespace

// Returns the versions of the formats, and the size and modification time of each log. The result changes when a log
// is written.
std::string Pyramid::identity() const {
    std::string text = "ompass pyramid " + std::to_string(kFileVersion) + " of " + std::to_string(format::kVersion) +
                       " " + std::to_string(sizeof(WalkCheckpoint)) + "\n";
    const auto add = [&](const std::string &path) {
        struct stat status = {};
        if (!path.empty() && stat(path.c_str(), &status) != 0) status = {};
        text += std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
                std::to_string(status.st_mtim.tv_nsec) + "\n";
    };
    add(run_.process_file.path());
    for (const ThreadFile &thread : run_.threads) add(thread.file.path());
    return text;
}

template <typename Archive>
void Pyramid::transfer(Archive &archive) {
    archive.value(end_);
    archive.value(end_ns_);
    archive.value(cpus_);
    archive.each(ran_, [&](std::vector<uint64_t> &row) { archive.value(row); });
    struct Region {
        uint64_t id;
        RecordedRegion region;
    };
    std::vector<Region> regions;
    if constexpr (!Archive::kReads)
        for (const auto &[id, region] : regions_) regions.push_back({id, region});
    archive.value(regions);
    if constexpr (Archive::kReads)
        for (const Region &region : regions) regions_[region.id] = region.region;
    levels_.resize(1);
    archive.value(levels_[0].shift);
    archive.each(levels_[0].threads, [&](ThreadBins &thread) {
        for (BinRow &row : thread) {
            archive.value(row.offsets);
            archive.value(row.shares);
        }
    });
    archive.each(checkpoints_, [&](std::vector<WalkCheckpoint> &marks) {
        archive.each(marks, [&](WalkCheckpoint &mark) {
            archive.value(mark.place);
            archive.value(mark.last);
            archive.value(mark.data);
            archive.value(mark.frames);
            archive.value(mark.parts);
            archive.value(mark.kernels);
            archive.value(mark.loops);
            archive.value(mark.off_cpu_intervals);
        });
    });
}

// True if the loaded values are safe to use, whatever the file contained.
bool Pyramid::fits_run() const {
    const BinLevel &finest = levels_[0];
    if (end_ns_ == 0 || finest.shift > BinShare::kMostShift || finest.threads.size() != run_.threads.size() ||
        checkpoints_.size() != run_.threads.size() || cpus_.size() != run_.threads.size())
        return false;
    if (ran_.size() != cpus_.size()) return false;
    for (const std::vector<uint64_t> &row : ran_)
        if (row.size() != cpus_.size()) return false;
    const uint64_t n_bins = ((end_ns_ - 1) >> finest.shift) + 1;
    for (const ThreadBins &thread : finest.threads)
        for (size_t i = 0; i < kDimensions; i++) {
            const BinRow &row = thread[i];
            if (row.offsets.size() != n_bins + 1 || row.offsets.front() != 0 ||
                row.offsets.back() != row.shares.size() || !std::ranges::is_sorted(row.offsets))
                return false;
            const auto beyond = [&](Dimension dimension, uint32_t n_keys) {
                return i == static_cast<size_t>(dimension) &&
                       std::ranges::any_of(row.shares, [&](BinShare share) { return share.key() >= n_keys; });
            };
            if (beyond(Dimension::kState, format::kStates) || beyond(Dimension::kOffCpu, kOffCpuKeys)) return false;
        }
    const auto known = [&](uint32_t construct) { return construct < run_.definitions.size(); };
    for (const std::vector<WalkCheckpoint> &marks : checkpoints_)
        for (const WalkCheckpoint &mark : marks) {
            if (mark.frames.empty() || mark.parts.empty() || !known(mark.last.creation.construct)) return false;
            if (!known(mark.last.call.construct)) return false;
            if (!known(mark.last.wait_place) || !known(mark.last.waited_for)) return false;
            if (mark.frames[0].kind != IntervalWatcher::Frame::kOutside) return false;
            for (const auto &frame : mark.frames)
                if (!known(frame.construct) || !known(frame.wait_place) ||
                    frame.to_owner > static_cast<size_t>(&frame - mark.frames.data()))
                    return false;
            for (const auto &part : mark.parts)
                if (!known(part.construct)) return false;
            for (const OpenKernel &kernel : mark.kernels)
                if (!known(kernel.construct)) return false;
            for (const OpenLoop &loop : mark.loops)
                if (!known(loop.construct)) return false;
        }
    return true;
}

bool Pyramid::load(const std::string &identity) {
    MappedFile file;
    if (file.open(run_.directory + kFileName)) return false;
    const std::span<const char> bytes = file.bytes();
    uint64_t sum = 0;
    if (bytes.size() < identity.size() + sizeof sum) return false;
    if (memcmp(bytes.data(), identity.data(), identity.size()) != 0) return false;
    memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
    Reader reader(bytes.subspan(identity.size(), bytes.size() - identity.size() - sizeof sum));
    transfer(reader);
    if (reader.good() && reader.at_end() && reader.sum() == sum && fits_run()) return true;
    regions_.clear();
    levels_.clear();
    checkpoints_.clear();
    return false;
}

// Stores the pyramid, unless the disk is full or the directory is not writable.
void Pyramid::store(const std::string &identity) {
    const std::string path = run_.directory + kFileName;
    const std::string temporary = path + "." + std::to_string(getpid());
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) return;
    std::FILE *file = fdopen(descriptor, "wb");
    if (!file) {
        close(descriptor);
        unlink(temporary.c_str());
        return;
    }
    bool written = std::fwrite(identity.data(), 1, identity.size(), file) == identity.size();
    Writer writer(file);
    transfer(writer);
    const uint64_t sum = writer.sum();
    written = written && writer.good() && std::fwrite(&sum, sizeof sum, 1, file) == 1;
    written = std::fclose(file) == 0 && written;
    if (!written || rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

} // namespace ompass
