// SPDX-License-Identifier: Apache-2.0
// Global alignment of two sequences with affine gap penalties in linear space. The scores in the middle row of the
// matrix are computed from both ends; the best path through that row divides the problem into two halves, which are
// solved in the same way. The result is the score, and the numbers of paired and of equal residues.
//
//   work  Theta(m n) for sequences of m and n residues: each level of the division computes half as many scores
//   span  the same: a pair of sequences is one task
//
// Sources: Gotoh, "An improved algorithm for matching biological sequences" (J. Mol. Biol., 1982); Myers and Miller,
// "Optimal alignments in linear space" (CABIOS, 1988); Thompson, Higgins, Gibson, "CLUSTAL W" (Nucleic Acids Research,
// 1994), whose pairwise stage is the benchmark of Duran et al. (ICPP 2009); Olivier et al. (2013) run it on 100
// sequences. The tasks are in alignment_tasks.hpp, the sequences in proteins.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "substitution.hpp"

namespace bots {

using Sequence = std::span<const Residue>;

// The result for a pair of sequences.
struct PairAlignment {
    Score score = 0;
    std::uint32_t n_paired = 0; // residues opposite to a residue
    std::uint32_t n_equal = 0;  // residues opposite to an equal residue

    bool operator==(const PairAlignment &) const = default;
};

// Aligns pairs of sequences, one after the other, and reuses its memory.
class Aligner {
public:
    // `longest`: residues of the longest sequence that align gets.
    explicit Aligner(std::size_t longest) : partner_(longest) {
        for (Rows *rows : {&forward_, &backward_}) {
            rows->best.resize(longest + 1);
            rows->in_gap.resize(longest + 1);
        }
    }

    PairAlignment align(Sequence a, Sequence b) {
        a_ = a.data();
        b_ = b.data();
        std::fill_n(partner_.begin(), a.size(), kNobody);
        divide(a, b, kGapOpen, kGapOpen);
        return evaluate(a, b);
    }

    // Returns the score of the best alignment, computed by one sweep over the matrix. align must reach this score.
    Score best_score(Sequence a, Sequence b) {
        sweep<false>(a, b, kGapOpen, forward_);
        return forward_.best[b.size()];
    }

private:
    static constexpr Score kImpossible = -(1 << 28); // below every score, but subtractions from it do not overflow
    static constexpr std::size_t kNobody = SIZE_MAX;

    // A row of the matrix, for one prefix of a. Element j is for the prefix of b with j residues: `best` is the best
    // score of all alignments of the two prefixes, `in_gap` the best of those that end with a residue of a opposite to
    // a gap.
    struct Rows {
        std::vector<Score> best;
        std::vector<Score> in_gap;
    };

    static Score gap(std::size_t length) {
        return length == 0 ? 0 : -kGapOpen - kGapExtend * static_cast<Score>(length);
    }

    // Computes the last row for a and b or, if kBackward, for both reversed. `open`: the cost of opening a gap opposite
    // to the first residues of a.
    template <bool kBackward>
    static void sweep(Sequence a, Sequence b, Score open, Rows &rows) {
        Score *const best = rows.best.data();
        Score *const in_gap = rows.in_gap.data();
        const std::size_t n = b.size();
        const Residue *const residues = b.data();
        for (std::size_t j = 0; j <= n; j++) best[j] = gap(j);
        for (std::size_t j = 0; j <= n; j++) in_gap[j] = kImpossible;
        for (std::size_t i = 1; i <= a.size(); i++) {
            const auto &scores = kSubstitution[kBackward ? a[a.size() - i] : a[i - 1]];
            Score diagonal = best[0];
            best[0] = in_gap[0] = -open - kGapExtend * static_cast<Score>(i);
            Score along = best[0] - kGapOpen - kGapExtend; // best score that ends with a residue of b opposite to a gap
            for (std::size_t j = 1; j <= n; j++) {
                const Score above = best[j];
                const Score down = std::max(in_gap[j] - kGapExtend, above - kGapOpen - kGapExtend);
                const Score paired = diagonal + scores[residues[kBackward ? n - j : j - 1]];
                const Score not_along = std::max(paired, down);
                diagonal = above;
                in_gap[j] = down;
                best[j] = std::max(not_along, along);
                // `not_along` replaces best[j], which keeps the dependence chain from step to step short. The result is
                // the same, because opening a gap directly after a gap never pays.
                along = std::max(along - kGapExtend, not_along - kGapOpen - kGapExtend);
            }
        }
    }

    // Pairs residues of a and b for the best score. `open_front`, `open_back`: the cost of opening a gap opposite the
    // first or last residues of a; zero where the gap continues in the neighbouring part.
    void divide(Sequence a, Sequence b, Score open_front, Score open_back) {
        if (a.empty() || b.empty()) return;
        if (a.size() == 1) return pair_one(a, b, std::min(open_front, open_back));
        const std::size_t middle = a.size() / 2;
        sweep<false>(a.first(middle), b, open_front, forward_);
        sweep<true>(a.subspan(middle), b, open_back, backward_);
        const std::size_t n = b.size();
        Score best = kImpossible;
        std::size_t cut = 0;
        bool in_gap = false; // true if one gap is opposite to the residues on both sides of the middle
        for (std::size_t j = 0; j <= n; j++) {
            const Score apart = forward_.best[j] + backward_.best[n - j];
            const Score joined = forward_.in_gap[j] + backward_.in_gap[n - j] + kGapOpen; // opened once, not twice
            if (std::max(apart, joined) <= best) continue;
            best = std::max(apart, joined);
            cut = j;
            in_gap = joined > apart;
        }
        if (in_gap) {
            divide(a.first(middle - 1), b.first(cut), open_front, 0);
            divide(a.subspan(middle + 1), b.subspan(cut), 0, open_back);
        } else {
            divide(a.first(middle), b.first(cut), open_front, kGapOpen);
            divide(a.subspan(middle), b.subspan(cut), kGapOpen, open_back);
        }
    }

    // Pairs the only residue of a with the best partner in b, or with none if a gap scores better.
    void pair_one(Sequence a, Sequence b, Score open) {
        const std::size_t n = b.size();
        Score best = -open - kGapExtend + gap(n);
        for (std::size_t j = 0; j < n; j++) {
            const Score score = gap(j) + kSubstitution[a[0]][b[j]] + gap(n - 1 - j);
            if (score <= best) continue;
            best = score;
            partner_[static_cast<std::size_t>(a.data() - a_)] = static_cast<std::size_t>(b.data() - b_) + j;
        }
    }

    // Computes the result from the partners. Between two pairs, the unpaired residues of each sequence are opposite to
    // one gap.
    PairAlignment evaluate(Sequence a, Sequence b) const {
        PairAlignment result;
        std::size_t next_a = 0, next_b = 0; // the first residues after the last pair
        for (std::size_t i = 0; i < a.size(); i++) {
            const std::size_t j = partner_[i];
            if (j == kNobody) continue;
            result.score += gap(i - next_a) + gap(j - next_b) + kSubstitution[a[i]][b[j]];
            result.n_paired++;
            result.n_equal += a[i] == b[j];
            next_a = i + 1;
            next_b = j + 1;
        }
        result.score += gap(a.size() - next_a) + gap(b.size() - next_b);
        return result;
    }

    const Residue *a_ = nullptr; // the sequences that are being aligned
    const Residue *b_ = nullptr;
    std::vector<std::size_t> partner_; // for each residue of a, its partner in b
    Rows forward_, backward_;
};

} // namespace bots
