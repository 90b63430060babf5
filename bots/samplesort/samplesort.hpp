// SPDX-License-Identifier: Apache-2.0
// Sample sort: a sorted random sample of the elements provides the pivots between buckets. Blocks of the array are
// sorted, and their pieces are moved to the buckets, which are then sorted. Blocks and buckets have about 4 sqrt(n)
// elements. All phases are loops with independent iterations, except the choice of pivots and the offsets of the
// buckets.
//
//   work  Theta(n log n)
//   span  Theta(sqrt(n) log n), expected: sorts of the sample, a block or a bucket are not divided; the sums over the
//         sqrt(n) / kBlockFactor blocks for a bucket's size, and over as many buckets for the offsets, are shorter
//
// Sources: Frazer and McKellar, "Samplesort: a sampling approach to minimal storage tree sorting" (JACM 1970);
// Blelloch, Gibbons, Simhadri, "Low depth cache-oblivious algorithms" (SPAA 2010) for the form with sqrt(n) blocks,
// which Acar, Chargueraud, Rainey measure. sort.hpp has quicksort and the input. The tasks are in samplesort_tasks.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../sort/sort.hpp"

namespace bots {

class SampleSort {
public:
    // Prepares a sort of the n elements at `data`, in place; scratch has room for n elements.
    SampleSort(Element *data, Element *scratch, std::size_t n)
        : data_(data), scratch_(scratch), n_(n),
          block_(std::max<std::size_t>(1, kBlockFactor * static_cast<std::size_t>(std::sqrt(static_cast<double>(n))))),
          n_blocks_((n + block_ - 1) / block_), n_buckets_(n_blocks_), pivots_(n_buckets_ > 0 ? n_buckets_ - 1 : 0),
          sample_(kOversampling * n_buckets_), pieces_((n_buckets_ + 1) * n_blocks_), buckets_(n_buckets_ + 1) {}

    std::size_t n_blocks() const { return n_blocks_; }
    std::size_t n_buckets() const { return n_buckets_; }

    // The phases, in the order in which they must be called. A phase with an index must be called for all indices, in
    // any order.

    void choose_pivots() {
        if (pivots_.empty()) return;
        Random random(kSeed);
        for (Element &element : sample_) element = data_[random.draw() % n_];
        quicksort(sample_.data(), sample_.data() + sample_.size());
        for (std::size_t i = 0; i < pivots_.size(); i++) pivots_[i] = sample_[(i + 1) * kOversampling];
    }

    // Sorts a block and finds where its piece for each bucket begins.
    void sort_block(std::size_t block) {
        Element *const first = data_ + block * block_;
        Element *const last = data_ + std::min(n_, (block + 1) * block_);
        quicksort(first, last);
        const Element *next = first;
        std::size_t *const begin = pieces_of(block);
        begin[0] = block * block_;
        for (std::size_t i = 0; i < pivots_.size(); i++) {
            next = std::lower_bound(next, static_cast<const Element *>(last), pivots_[i]);
            begin[i + 1] = static_cast<std::size_t>(next - data_);
        }
        begin[n_buckets_] = static_cast<std::size_t>(last - data_);
    }

    // Computes the number of elements of a bucket.
    void measure_bucket(std::size_t bucket) {
        std::size_t size = 0;
        for (std::size_t block = 0; block < n_blocks_; block++)
            size += pieces_of(block)[bucket + 1] - pieces_of(block)[bucket];
        buckets_[bucket + 1] = size;
    }

    void place_buckets() {
        for (std::size_t bucket = 0; bucket < n_buckets_; bucket++) buckets_[bucket + 1] += buckets_[bucket];
    }

    // Collects the pieces of a bucket and sorts them, in the scratch array.
    void sort_bucket(std::size_t bucket) {
        Element *const first = scratch_ + buckets_[bucket];
        Element *next = first;
        for (std::size_t block = 0; block < n_blocks_; block++)
            next = std::copy(data_ + pieces_of(block)[bucket], data_ + pieces_of(block)[bucket + 1], next);
        quicksort(first, next);
    }

    void return_bucket(std::size_t bucket) {
        std::copy(scratch_ + buckets_[bucket], scratch_ + buckets_[bucket + 1], data_ + buckets_[bucket]);
    }

private:
    static constexpr std::size_t kBlockFactor = 4; // a block has 4 sqrt(n) elements, and a piece 16 on average
    static constexpr std::size_t kOversampling = 16;
    static constexpr std::uint64_t kSeed = 1970;

    std::size_t *pieces_of(std::size_t block) { return pieces_.data() + block * (n_buckets_ + 1); }

    Element *data_;
    Element *scratch_;
    std::size_t n_;
    std::size_t block_; // elements in a block
    std::size_t n_blocks_;
    std::size_t n_buckets_;
    std::vector<Element> pivots_;
    std::vector<Element> sample_; // the pivots are chosen from it
    std::vector<std::size_t> pieces_; // by block: the start of its piece for each bucket, and the end of the block
    std::vector<std::size_t> buckets_; // start of each bucket, and the end of the last bucket
};

} // namespace bots
