// SPDX-License-Identifier: Apache-2.0
// A sorted set of 64-bit keys in chunks, for the first addresses of ranges. Needs little more memory than the keys.
// Inserting keys in ascending order is cheap. A search is two binary searches that stay in cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ompass {

class OrderedKeys {
public:
    // The position of a key, valid until the next insertion or removal.
    struct Place {
        size_t chunk, index;
        bool operator==(const Place &) const = default;
    };

    Place end() const { return {chunks_.size(), 0}; }
    uint64_t key(Place place) const { return chunks_[place.chunk]->keys[place.index]; }
    Place next(Place place) const {
        if (++place.index == chunks_[place.chunk]->size) place = {place.chunk + 1, 0};
        return place;
    }

    // Returns the place of the largest key <= `key`, or of the smallest key if all are larger.
    Place floor(uint64_t key) const {
        if (firsts_.empty()) return end();
        const size_t n_chunks = n_up_to(firsts_.data(), firsts_.size(), key);
        if (n_chunks == 0) return {0, 0};
        const Chunk &chunk = *chunks_[n_chunks - 1];
        return {n_chunks - 1, n_up_to(chunk.keys, chunk.size, key) - 1};
    }

    // Inserts a key that is not in the set. Requires below == floor(key).
    void insert(Place below, uint64_t key) {
        if (chunks_.empty()) return add_chunk(0, key);
        auto [at, index] = below;
        index += this->key(below) < key;
        if (chunks_[at]->size == kChunkKeys) {
            // Does not split a chunk that grows at its end, so ascending keys fill their chunks.
            if (index == kChunkKeys) {
                if (at + 1 == chunks_.size() || chunks_[at + 1]->size == kChunkKeys) return add_chunk(at + 1, key);
                at++;
                index = 0;
            } else if (split(at); index > chunks_[at]->size) {
                index -= chunks_[at]->size;
                at++;
            }
        }
        Chunk &chunk = *chunks_[at];
        std::move_backward(chunk.keys + index, chunk.keys + chunk.size, chunk.keys + chunk.size + 1);
        chunk.keys[index] = key;
        chunk.size++;
        firsts_[at] = chunk.keys[0];
    }

    // Removes a key that is in the set.
    void erase(uint64_t key) {
        const Place place = floor(key);
        Chunk &chunk = *chunks_[place.chunk];
        std::move(chunk.keys + place.index + 1, chunk.keys + chunk.size, chunk.keys + place.index);
        if (--chunk.size > 0) {
            firsts_[place.chunk] = chunk.keys[0];
            return;
        }
        chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(place.chunk));
        firsts_.erase(firsts_.begin() + static_cast<ptrdiff_t>(place.chunk));
    }

    size_t memory_bytes() const { return chunks_.size() * (sizeof(Chunk) + 2 * sizeof(uint64_t)); }

private:
    static constexpr size_t kChunkKeys = 255; // a chunk has 2 KiB
    struct Chunk {
        size_t size = 0;
        uint64_t keys[kChunkKeys];
    };

    // Returns how many of n sorted keys are at most `key`.
    static size_t n_up_to(const uint64_t *keys, size_t n, uint64_t key) {
        return static_cast<size_t>(std::upper_bound(keys, keys + n, key) - keys);
    }

    void add_chunk(size_t at, uint64_t key) {
        auto chunk = std::make_unique<Chunk>();
        chunk->keys[chunk->size++] = key;
        chunks_.insert(chunks_.begin() + static_cast<ptrdiff_t>(at), std::move(chunk));
        firsts_.insert(firsts_.begin() + static_cast<ptrdiff_t>(at), key);
    }

    void split(size_t at) {
        Chunk &full = *chunks_[at];
        auto upper = std::make_unique<Chunk>();
        const size_t kept = full.size / 2;
        upper->size = full.size - kept;
        std::copy(full.keys + kept, full.keys + full.size, upper->keys);
        full.size = kept;
        firsts_.insert(firsts_.begin() + static_cast<ptrdiff_t>(at) + 1, upper->keys[0]);
        chunks_.insert(chunks_.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(upper));
    }

    std::vector<uint64_t> firsts_; // firsts_[i] == chunks_[i]->keys[0]
    std::vector<std::unique_ptr<Chunk>> chunks_;
};

} // namespace ompass
