// SPDX-License-Identifier: Apache-2.0
// Reads files of samples. Checks every length in a file before using it.
#include "sample_files.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <sys/stat.h>

namespace ompass {

namespace {

using Words = std::span<const uint64_t>;

constexpr uint32_t kFirstWithAllStates = 3; // version of the samples format
constexpr uint32_t kFirstWithValues = 4;
constexpr uint8_t kOutsideBefore = 5; // kOutsideStates of older versions

// Reads one record. Returns false if the words are not exactly one record of the kind that the header declares.
bool read_record(const format::SamplesHeader &header, Words words, Sample &sample) {
    size_t next = sizeof sample.head / sizeof(uint64_t);
    const auto take = [&](size_t n) {
        const bool fits = n <= words.size() - next;
        const Words taken = fits ? words.subspan(next, n) : Words();
        next = fits ? next + n : words.size();
        return std::vector<uint64_t>(taken.begin(), taken.end());
    };
    if (has_loads(header.event)) {
        const std::vector<uint64_t> load = take(sizeof sample.load / sizeof(uint64_t));
        if (load.empty()) return false;
        memcpy(&sample.load, load.data(), sizeof sample.load);
    }
    const size_t n_registers = format::n_registers(header.registers);
    sample.chain = take(sample.head.n_chain);
    sample.registers = take(n_registers);
    sample.values = take(header.n_values);
    const std::vector<uint64_t> bits = take(header.stack_bytes / 512);
    if (sample.chain.size() != sample.head.n_chain || sample.registers.size() != n_registers ||
        sample.values.size() != header.n_values || bits.size() != header.stack_bytes / 512)
        return false;
    for (uint32_t word = 0; word < header.stack_bytes / 8; word++) {
        if (!(bits[word / 64] >> (word % 64) & 1)) continue;
        if (next == words.size()) return false;
        sample.stack.emplace_back(word * 8, words[next++]);
    }
    if (header.version < kFirstWithAllStates && sample.head.state == kOutsideBefore)
        sample.head.state = format::kOutsideStates;
    const bool has_state = sample.head.state < format::kStates || sample.head.state == format::kOutsideStates;
    return next == words.size() && has_state;
}

Problem read_extent(const std::string &path, Words words, uint64_t offset, SampledThread &thread) {
    for (size_t place = 0; place < words.size();) {
        const auto n_words = static_cast<uint16_t>(words[place]);
        if (n_words == 0) return {};
        const uint64_t at = offset + place * sizeof(uint64_t);
        Sample sample = {};
        if (n_words * sizeof(uint64_t) < sizeof sample.head || n_words > words.size() - place)
            return {path, at, "is damaged: impossible length of a sample"};
        memcpy(&sample.head, &words[place], sizeof sample.head);
        if (!read_record(thread.header, words.subspan(place, n_words), sample))
            return {path, at, "is damaged: incomplete sample"};
        thread.samples.push_back(std::move(sample));
        place += n_words;
    }
    return {};
}

Problem read_file(const std::string &path, uint32_t index, std::optional<SampledThread> &found) {
    MappedFile file;
    if (Problem problem = file.open(path)) return problem;
    std::vector<uint64_t> words(file.bytes().size() / sizeof(uint64_t));
    file.copy(0, words.data(), words.size() * sizeof(uint64_t)); // a copy, because the program may truncate the file
    const size_t n_bytes = words.size() * sizeof(uint64_t);
    SampledThread thread = {};
    if (n_bytes < format::kHeaderBytes || words[0] == 0) return {}; // the program was killed before it wrote the header
    memcpy(&thread.header, words.data(), sizeof thread.header);
    if (memcmp(thread.header.magic, format::kSamplesMagic, sizeof thread.header.magic) != 0)
        return {path, 0, "is not an Ompass samples file"};
    if (thread.header.version == 0 || thread.header.version > format::kSamplesVersion ||
        thread.header.header_bytes != format::kHeaderBytes)
        return {path, 8, "has a samples format version that this Ompass does not read"};
    if (thread.header.stack_bytes % 512 || thread.header.index != index)
        return {path, 16, "is damaged: inconsistent header"};
    if (thread.header.version < kFirstWithValues) thread.header.n_values = 0;
    if (thread.header.n_values && thread.header.n_values != format::n_values(thread.header.registers))
        return {path, 64, "is damaged: impossible number of values of registers"};
    for (size_t offset = format::kHeaderBytes; offset + sizeof(format::ExtentHeader) <= n_bytes;) {
        format::ExtentHeader extent;
        memcpy(&extent, &words[offset / 8], sizeof extent);
        if (extent.magic == 0) break;
        if (extent.magic != format::kExtentMagic || extent.kind != format::ExtentKind::kSamples ||
            extent.bytes < sizeof extent || extent.bytes % 4096)
            return {path, offset, "is damaged: no extent of samples begins here"};
        const size_t available = std::min<uint64_t>(extent.bytes, n_bytes - offset), begin = offset + sizeof extent;
        const Words contents = Words(words).subspan(begin / 8, (available - sizeof extent) / 8);
        if (Problem problem = read_extent(path, contents, begin, thread)) return problem;
        offset += available; // offset + extent.bytes may overflow
    }
    found = std::move(thread);
    return {};
}

} // namespace

Problem read_samples(const RunFiles &run, uint32_t index, std::optional<SampledThread> &thread) {
    thread.reset();
    char name[32];
    snprintf(name, sizeof name, "/thread-%05u.samples", index);
    const std::string path = run.directory + name;
    struct stat status;
    return stat(path.c_str(), &status) == 0 ? read_file(path, index, thread) : Problem();
}

} // namespace ompass
