// SPDX-License-Identifier: Apache-2.0
// Cilksort: mergesort of the four quarters of an array, in two rounds of merges through a scratch array. Quicksort
// sorts the leaves of the recursion, insertion sort the leaves of the quicksort.
//
//   work  Theta(n log n)
//   span  Theta(log^3 n), with the merges split as in sort_tasks.hpp
//
// Sources: Akl and Santoro, "Optimal parallel merging and sorting without memory conflicts" (IEEE Trans. Computers,
// 1987) for the merge; Frigo, Leiserson, Randall (PLDI 1998) and Duran et al. (ICPP 2009) for the benchmark, which
// Olivier et al. (2013) run on 128M integers. The leaves, quicksort and merge, are kernels in the sense of ompass.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "ompass.h"
#include "random.hpp"

namespace bots {

using Element = std::int32_t;

inline constexpr std::size_t kSortLeaf = 2048; // mergesort leaves up to this many elements to quicksort
inline constexpr std::size_t kMergeLeaf = 2048; // merges of up to this many elements are not split
inline constexpr std::ptrdiff_t kInsertion = 20; // quicksort leaves up to this many elements to insertion sort

inline void insertion_sort(Element *first, Element *last) {
    for (Element *next = first; next < last; next++) {
        const Element element = *next;
        Element *hole = next;
        for (; hole > first && element < hole[-1]; hole--) *hole = hole[-1];
        *hole = element;
    }
}

inline Element median_of_three(Element a, Element b, Element c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// Sorts by Hoare's partition around the median of the first, middle and last element. Recurses into the smaller part
// only, so that the stack stays logarithmic.
inline void quicksort(Element *first, Element *last) {
    while (last - first > kInsertion) {
        const Element pivot = median_of_three(*first, first[(last - first) / 2], last[-1]);
        Element *low = first;
        Element *high = last - 1;
        while (low <= high) {
            while (*low < pivot) low++;
            while (pivot < *high) high--;
            if (low > high) break;
            std::swap(*low++, *high--);
        }
        high++; // now [first, high) <= pivot <= [low, last), and only pivots in between
        if (high - first < last - low) {
            quicksort(first, high);
            first = low;
        } else {
            quicksort(low, last);
            last = high;
        }
    }
    insertion_sort(first, last);
}

// Sorts a leaf, [data, data + n), in place.
inline void sort_leaf(Element *data, std::size_t n) {
    const ompass::Kernel kernel("quicksort");
    kernel.write(data, n * sizeof(Element));
    quicksort(data, data + n);
}

// Merges sorted a and b into out. No branch depends on the elements' values.
inline void merge_leaf(const Element *a, std::size_t n_a, const Element *b, std::size_t n_b, Element *out) {
    const ompass::Kernel kernel("merge");
    kernel.read(a, n_a * sizeof(Element));
    kernel.read(b, n_b * sizeof(Element));
    kernel.write(out, (n_a + n_b) * sizeof(Element));
    const Element *const a_end = a + n_a;
    const Element *const b_end = b + n_b;
    while (a < a_end && b < b_end) {
        const Element from_a = *a;
        const Element from_b = *b;
        const bool b_is_next = from_b < from_a;
        *out++ = b_is_next ? from_b : from_a;
        a += !b_is_next;
        b += b_is_next;
    }
    std::copy(b, b_end, std::copy(a, a_end, out));
}

// Sorts [data, data + n); scratch has room for as many elements.
inline void sort_serial(Element *data, Element *scratch, std::size_t n) {
    if (n <= kSortLeaf) return sort_leaf(data, n);
    const std::size_t quarter = n / 4;
    const std::size_t half = 2 * quarter;
    const std::size_t last = n - 3 * quarter;
    sort_serial(data, scratch, quarter);
    sort_serial(data + quarter, scratch + quarter, quarter);
    sort_serial(data + half, scratch + half, quarter);
    sort_serial(data + 3 * quarter, scratch + 3 * quarter, last);
    merge_leaf(data, quarter, data + quarter, quarter, scratch);
    merge_leaf(data + half, quarter, data + 3 * quarter, last, scratch + half);
    merge_leaf(scratch, half, scratch + half, n - half, data);
}

// The numbers to sort, random from a fixed seed, the scratch array, and the verification of the result.
class SortInput {
public:
    // Sets no initial values: the thread that fills an element touches it first.
    explicit SortInput(std::size_t n)
        : n_(n), data_(std::make_unique_for_overwrite<Element[]>(n)),
          scratch_(std::make_unique_for_overwrite<Element[]>(n)) {}

    void fill() {
        begin_filling();
        fill(0, n_);
    }

    // To fill the array with several threads, call begin_filling once, then fill for ranges that make up the array.
    void begin_filling() { fingerprint_ = 0; }
    void fill(std::size_t first, std::size_t last) {
        Random random(kSeed);
        random.skip(first);
        std::uint64_t fingerprint = 0;
        for (std::size_t i = first; i < last; i++) {
            data_[i] = static_cast<Element>(random.draw() >> 32);
            scratch_[i] = 0;
            fingerprint += fingerprint_of(data_[i]);
        }
        fingerprint_ += fingerprint;
    }

    // Checks that the elements are sorted and the same as before: the sum of their scrambled values does not depend on
    // their order.
    std::string check() const {
        std::uint64_t fingerprint = 0;
        for (std::size_t i = 0; i < n_; i++) fingerprint += fingerprint_of(data_[i]);
        if (fingerprint != fingerprint_) return "the sorted elements differ from the input's elements";
        const Element *const end = data_.get() + n_;
        const Element *const unsorted = std::is_sorted_until(data_.get(), data_.get() + n_);
        if (unsorted == end) return "";
        return "element " + std::to_string(unsorted - data_.get()) + " is smaller than the one before";
    }

    std::string describe() const { return std::to_string(n_) + " elements, sorted"; }

    Element *data() { return data_.get(); }
    Element *scratch() { return scratch_.get(); }
    std::size_t size() const { return n_; }

private:
    static constexpr std::uint64_t kSeed = 20090922;

    static std::uint64_t fingerprint_of(Element element) { return mix(static_cast<std::uint32_t>(element) + 1u); }

    std::size_t n_;
    std::unique_ptr<Element[]> data_;
    std::unique_ptr<Element[]> scratch_;
    std::atomic<std::uint64_t> fingerprint_ = 0; // the sum of the input's scrambled values
};

} // namespace bots
