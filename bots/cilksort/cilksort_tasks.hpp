// SPDX-License-Identifier: Apache-2.0
// Cilksort as Acar et al. measure it: the mergesort of sort/ with one cut-off for the sorts and one for the merges.
// Below them, quicksort sorts a part, and merges are not split. The serial program is a quicksort of the whole array.
//
//   work  Theta(n log n)
//   span  Theta(cut-offs + log^3 n)
//
// Source: Acar, Chargueraud, Rainey, "Parallel work inflation, memory effects, and their empirical analysis", case
// study 1: cut-offs of 200 to 10,000 elements, and a cut-off of 8000/P with P threads.
#pragma once

#include <cstddef>

#include "../sort/sort_tasks.hpp"

namespace bots {

struct CilksortCuts {
    std::size_t sorts;
    std::size_t merges;

    static constexpr std::size_t kSmallestSort = static_cast<std::size_t>(kInsertion);
    static constexpr std::size_t kSmallestMerge = static_cast<std::size_t>(kInsertion);
    std::size_t sort_grain() const { return sorts; }
    std::size_t merge_grain() const { return merges; }
    static void sort(Element *data, Element *, std::size_t n) { sort_leaf(data, n); }
};

} // namespace bots
