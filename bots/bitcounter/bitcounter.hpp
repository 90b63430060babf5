// SPDX-License-Identifier: Apache-2.0
//
// Counts the bits that are set in each of many vectors, whose lengths are so unequal that halving a range of vectors
// leaves five sixths of its work in one half, at every level of the recursion.
//
//   work  Theta(words)
//   span  Theta(log vectors + words of the longest vector)
//
// Sources: Contreras and Martonosi, "Characterizing and improving the performance of Intel Threading Building Blocks"
// (IISWC 2008), for the benchmark: bit counting over "a highly unbalanced working set", 5,740 tasks; the unbalance is
// this version's. Mula, Kurz, Lemire, "Faster population counts using AVX2 instructions" (Computer Journal 2018), for
// the carry-save adders of Harley and Seal. The tasks are in bitcounter_tasks.hpp.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "random.hpp"

namespace bots {

// Two words; may lie at any word.
using WordPair [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = std::uint64_t;

// Adds three bits in every position: sum becomes the low bit of the result, the high bit is returned.
inline WordPair add_bits(WordPair &sum, WordPair a, WordPair b) {
    const WordPair differ = sum ^ a;
    const WordPair carry = (sum & a) | (differ & b);
    sum = differ ^ b;
    return carry;
}

// The number of bits set in each word of a pair.
inline WordPair bits_of(WordPair words) {
    words -= (words >> 1) & 0x5555555555555555u;
    words = (words & 0x3333333333333333u) + ((words >> 2) & 0x3333333333333333u);
    words = (words + (words >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    words += words >> 8;
    words += words >> 16;
    words += words >> 32;
    return words & 0x7fu;
}

// The bits set in [words, words + n). Sixteen pairs at a time pass through a tree of adders, so that only one count is
// taken for all of them; what stays in the adders is counted at the end.
inline std::uint64_t count_bits(const std::uint64_t *words, std::size_t n) {
    constexpr std::size_t kBlock = 32;
    WordPair ones{}, twos{}, fours{}, eights{}, sixteens_count{};
    const std::uint64_t *const blocks_end = words + n / kBlock * kBlock;
    const std::uint64_t *const end = words + n;
    for (; words < blocks_end; words += kBlock) {
        const WordPair *const in = reinterpret_cast<const WordPair *>(words);
        WordPair eight_carries[2];
        for (int half = 0; half < 2; half++) {
            const WordPair *const pairs = in + 8 * half;
            const WordPair two_a = add_bits(ones, pairs[0], pairs[1]);
            const WordPair two_b = add_bits(ones, pairs[2], pairs[3]);
            const WordPair four_a = add_bits(twos, two_a, two_b);
            const WordPair two_c = add_bits(ones, pairs[4], pairs[5]);
            const WordPair two_d = add_bits(ones, pairs[6], pairs[7]);
            const WordPair four_b = add_bits(twos, two_c, two_d);
            eight_carries[half] = add_bits(fours, four_a, four_b);
        }
        sixteens_count += bits_of(add_bits(eights, eight_carries[0], eight_carries[1]));
    }
    const WordPair counts =
        16 * sixteens_count + 8 * bits_of(eights) + 4 * bits_of(fours) + 2 * bits_of(twos) + bits_of(ones);
    std::uint64_t n_set = counts[0] + counts[1];
    for (; words < end; words++) n_set += static_cast<std::uint64_t>(std::popcount(*words));
    return n_set;
}

// The vectors, random from a fixed seed, with their counts, and the means to judge these. Vector i is longer than
// vector i + 1: its length is proportional to (i + 1)^(-3/4).
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

    // After `rounds` counts of every vector.
    std::string check(std::int64_t rounds) const {
        for (std::size_t i = 0; i < counts_.size(); i++) {
            const std::uint64_t expected = static_cast<std::uint64_t>(rounds) * expected_[i];
            if (counts_[i] != expected)
                return "vector " + std::to_string(i) + " was counted to " + std::to_string(counts_[i]) + " bits, not " +
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

    // (i + 1)^(-3/4), from square roots, which are the same on every machine.
    static double share_of(std::size_t i) {
        const double root = std::sqrt(static_cast<double>(i + 1));
        return 1 / (root * std::sqrt(root));
    }

    std::vector<std::size_t> starts_; // of every vector in words_, and the end of the last
    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> counts_;
    std::vector<std::uint64_t> expected_; // of one round, by another way of counting
};

} // namespace bots
