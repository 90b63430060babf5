// SPDX-License-Identifier: Apache-2.0
// The sequences to align, their alignments, and the verification of the alignments. The sequences are random from a
// fixed seed: families descend from common ancestors by mutations, insertions and deletions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "alignment.hpp"
#include "random.hpp"

namespace bots {

class Proteins {
public:
    // `length`: residues of the ancestors.
    Proteins(std::int64_t n_sequences, std::int64_t length) : sequences_(static_cast<std::size_t>(n_sequences)) {
        for (std::size_t i = 0; i < sequences_.size(); i++) {
            Random random(mix(kSeed + i));
            sequences_[i] = descendant_of(mix(~kSeed + i / kFamily), static_cast<std::size_t>(length), random);
            longest_ = std::max(longest_, sequences_[i].size());
        }
        alignments_.resize(n_pairs());
    }

    std::size_t n_sequences() const { return sequences_.size(); }
    std::size_t n_pairs() const { return sequences_.size() * (sequences_.size() - 1) / 2; }
    std::size_t longest() const { return longest_; }
    Sequence sequence(std::size_t i) const { return sequences_[i]; }

    // Returns the alignment of sequences i and j, for i > j.
    PairAlignment &alignment(std::size_t i, std::size_t j) { return alignments_[i * (i - 1) / 2 + j]; }
    const PairAlignment &alignment(std::size_t i, std::size_t j) const { return alignments_[i * (i - 1) / 2 + j]; }

    void forget() { std::fill(alignments_.begin(), alignments_.end(), PairAlignment{}); }

    // Returns the number of pairs of residues, summed over all pairs of sequences.
    double n_cells() const {
        double cells = 0, residues = 0;
        for (const std::vector<Residue> &sequence : sequences_) {
            cells += residues * static_cast<double>(sequence.size());
            residues += static_cast<double>(sequence.size());
        }
        return cells;
    }

    // Compares each alignment's score with the best score from Gotoh's algorithm, which does not divide the problem.
    std::string check() {
        if (best_scores_.empty()) {
            Aligner aligner(longest_);
            for (std::size_t i = 1; i < n_sequences(); i++)
                for (std::size_t j = 0; j < i; j++)
                    best_scores_.push_back(aligner.best_score(sequence(i), sequence(j)));
        }
        for (std::size_t i = 1, pair = 0; i < n_sequences(); i++)
            for (std::size_t j = 0; j < i; j++, pair++)
                if (alignment(i, j).score != best_scores_[pair])
                    return "sequences " + std::to_string(i) + " and " + std::to_string(j) +
                           " can be aligned with score " + std::to_string(best_scores_[pair]) + ", not " +
                           std::to_string(alignment(i, j).score);
        return "";
    }

    std::string describe() const {
        std::int64_t score = 0;
        std::uint64_t n_paired = 0, n_equal = 0;
        for (const PairAlignment &alignment : alignments_) {
            score += alignment.score;
            n_paired += alignment.n_paired;
            n_equal += alignment.n_equal;
        }
        return std::to_string(n_pairs()) + " pairs, total score " + std::to_string(score) + ", " +
               std::to_string(n_equal) + " of " + std::to_string(n_paired) + " paired residues are equal";
    }

private:
    static constexpr std::uint64_t kSeed = 19920215;
    static constexpr std::size_t kFamily = 8; // sequences of one ancestor
    static constexpr std::uint64_t kMutation = 30, kDeletion = 3, kInsertion = 3; // in percent of residues
    static constexpr std::uint64_t kLongestInsertion = 8;

    static std::vector<Residue> descendant_of(std::uint64_t ancestor_seed, std::size_t length, Random &random) {
        Random ancestor(ancestor_seed);
        const auto residue = [](Random &from) { return static_cast<Residue>((from.draw() >> 32) % kAlphabet); };
        const auto happens = [&random](std::uint64_t percent) { return (random.draw() >> 32) % 100 < percent; };
        std::vector<Residue> sequence;
        for (std::size_t i = 0; i < length; i++) {
            const Residue inherited = residue(ancestor);
            if (happens(kInsertion))
                for (std::uint64_t n = 1 + random.draw() % kLongestInsertion; n > 0; n--)
                    sequence.push_back(residue(random));
            if (happens(kDeletion)) continue;
            sequence.push_back(happens(kMutation) ? residue(random) : inherited);
        }
        return sequence;
    }

    std::vector<std::vector<Residue>> sequences_;
    std::size_t longest_ = 0;
    std::vector<PairAlignment> alignments_;
    std::vector<Score> best_scores_; // by pair; empty until a result is checked
};

} // namespace bots
