// SPDX-License-Identifier: Apache-2.0
// Counts the set bits of many vectors. Their lengths are so unequal that the first half of the vectors has five sixths
// of the work, the first quarter five sixths of that, and so on.
//
//   work  Theta(rounds * words of all vectors)
//   span  Theta(rounds * (log vectors + words of the longest vector))
//
// Sources: Contreras and Martonosi, "Characterizing and improving the performance of Intel Threading Building Blocks"
// (IISWC 2008), for the benchmark: bit counting over "a highly unbalanced working set", 5,740 tasks. This version
// chooses its own lengths. The tasks are in bitcounter_tasks.hpp.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "instruction_set.hpp"
#include "random.hpp"

namespace bots {

// Returns the number of set bits in [words, words + n). One function per instruction set inlines it. The loop is
// unrolled, because otherwise about half of the instructions would control it.
[[gnu::always_inline]] inline std::uint64_t sum_of_bits(const std::uint64_t *words, std::size_t n) {
    std::uint64_t n_set = 0;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < n; i++) n_set += static_cast<std::uint64_t>(std::popcount(words[i]));
    return n_set;
}

using CountBits = std::uint64_t (*)(const std::uint64_t *words, std::size_t n);

inline std::uint64_t count_bits_baseline(const std::uint64_t *words, std::size_t n) { return sum_of_bits(words, n); }

#if defined(__x86_64__)
[[gnu::target("popcnt")]] inline std::uint64_t count_bits_popcnt(const std::uint64_t *words, std::size_t n) {
    return sum_of_bits(words, n);
}
#endif

inline CountBits choose_count_bits() {
#if defined(__x86_64__)
    // Processors with AVX2 also have the instruction popcnt.
    if (best_instruction_set() != InstructionSet::kBaseline) return count_bits_popcnt;
#endif
    return count_bits_baseline;
}

inline const CountBits count_bits = choose_count_bits();

// The vectors, random from a fixed seed, their counts, and the verification of the counts. The length of vector i is
// proportional to (i + 1)^(-3/4).
class BitVectors {
public:
    BitVectors(std::int64_t n_vectors, std::int64_t mean_words) {
        const auto n = static_cast<std::size_t>(n_vectors);
        double sum = 0;
        for (std::size_t i = 0; i < n; i++) sum += share_of(i);
        const double scale = static_cast<double>(mean_words) * static_cast<double>(n) / sum;
        starts_.reserve(n + 1);
        starts_.push_back(0);
        for (std::size_t i = 0; i < n; i++)
            starts_.push_back(starts_[i] + 1 + static_cast<std::size_t>(scale * share_of(i)));
        words_.resize(starts_[n]);
        counts_.resize(n);
        expected_.resize(n);
        Random random(kSeed);
        for (std::size_t i = 0; i < n; i++) {
            for (std::size_t word = starts_[i]; word < starts_[i + 1]; word++) {
                words_[word] = random.draw();
                expected_[i] += static_cast<std::uint64_t>(std::popcount(words_[word]));
            }
        }
    }

    void clear_counts() { counts_.assign(counts_.size(), 0); }

    // Adds the bits of the vectors [first, last) to their counts.
    void count(std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); i++)
            counts_[i] += count_bits(words_.data() + starts_[i], starts_[i + 1] - starts_[i]);
    }

    // Verifies the counts after `rounds` counts of every vector.
    std::string check(std::int64_t rounds) const {
        for (std::size_t i = 0; i < counts_.size(); i++) {
            const std::uint64_t expected = static_cast<std::uint64_t>(rounds) * expected_[i];
            if (counts_[i] != expected)
                return "vector " + std::to_string(i) + " has the count " + std::to_string(counts_[i]) + ", not " +
                       std::to_string(expected);
        }
        return "";
    }

    std::string describe() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : counts_) sum += count;
        return std::to_string(sum) + " bits in " + std::to_string(size()) + " vectors of 1 to " +
               std::to_string(starts_[1]) + " words";
    }

    std::int64_t size() const { return static_cast<std::int64_t>(counts_.size()); }
    std::size_t n_words() const { return words_.size(); }

private:
    static constexpr std::uint64_t kSeed = 2008;

    // Returns (i + 1)^(-3/4), from square roots, which give the same bits on every machine.
    static double share_of(std::size_t i) {
        const double root = std::sqrt(static_cast<double>(i + 1));
        return 1 / (root * std::sqrt(root));
    }

    std::vector<std::size_t> starts_; // index in words_ of each vector's first word, and of the end of the last vector
    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> counts_;
    std::vector<std::uint64_t> expected_; // counts of one round, added up as the words are drawn
};

} // namespace bots
