// SPDX-License-Identifier: Apache-2.0
// A set of any number of CPUs, by the system's numbers, and the affinity of the calling thread. libc's set holds 1024
// CPUs at most, and hwloc's set needs a library that may be missing.
#pragma once

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sched.h>
#include <unistd.h>
#include <vector>

namespace omp_ext {

class CpuSet {
public:
    void add(unsigned cpu) {
        if (cpu / 64 >= words_.size()) words_.resize(cpu / 64 + 1);
        words_[cpu / 64] |= uint64_t{1} << (cpu % 64);
    }
    bool has(unsigned cpu) const { return cpu / 64 < words_.size() && (words_[cpu / 64] >> (cpu % 64) & 1) != 0; }
    int size() const {
        int n = 0;
        for (const uint64_t word : words_) n += std::popcount(word);
        return n;
    }
    bool empty() const { return size() == 0; }
    bool contains(const CpuSet &other) const { return (other & *this) == other; }

    // Returns the numbers of the CPUs in rising order.
    std::vector<unsigned> numbers() const {
        std::vector<unsigned> found;
        for (unsigned cpu = 0; cpu < words_.size() * 64; cpu++)
            if (has(cpu)) found.push_back(cpu);
        return found;
    }

    friend CpuSet operator&(const CpuSet &left, const CpuSet &right) {
        CpuSet both;
        both.words_.resize(left.words_.size() < right.words_.size() ? left.words_.size() : right.words_.size());
        for (size_t i = 0; i < both.words_.size(); i++) both.words_[i] = left.words_[i] & right.words_[i];
        return both;
    }
    CpuSet &operator|=(const CpuSet &other) {
        if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
        for (size_t i = 0; i < other.words_.size(); i++) words_[i] |= other.words_[i];
        return *this;
    }
    friend bool operator==(const CpuSet &left, const CpuSet &right) {
        const CpuSet &more = left.words_.size() < right.words_.size() ? right : left;
        const CpuSet &fewer = &more == &left ? right : left;
        for (size_t i = 0; i < more.words_.size(); i++)
            if (more.words_[i] != (i < fewer.words_.size() ? fewer.words_[i] : 0)) return false;
        return true;
    }

    // Returns the CPUs on which the calling thread may run; an empty set if the system refuses.
    static CpuSet of_calling_thread() {
        CpuSet set;
        // The kernel refuses a set smaller than its own.
        for (size_t n_words = 16; n_words <= 4096; n_words *= 2) {
            set.words_.assign(n_words, 0);
            if (sched_getaffinity(0, n_words * 8, reinterpret_cast<cpu_set_t *>(set.words_.data())) == 0) return set;
            if (errno != EINVAL) break;
        }
        set.words_.clear();
        return set;
    }
    // Binds the calling thread; returns false if the system refuses.
    bool bind_calling_thread() const {
        return sched_setaffinity(0, words_.size() * 8, reinterpret_cast<const cpu_set_t *>(words_.data())) == 0;
    }

private:
    std::vector<uint64_t> words_; // bit i of word w: CPU 64 * w + i
};

} // namespace omp_ext
