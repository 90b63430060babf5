// SPDX-License-Identifier: Apache-2.0
// The memory of light tasks and of dependences: blocks of whole cache lines. The pool reuses each block for requests of
// the same size and never returns it to the system. Blocks of more than kMostLines lines come from aligned_alloc, and
// are freed at once.
//
// Contract: only the owner, one thread at a time, calls take, give, lend, take_back and keep. Any thread calls
// give_back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace omp_ext {

class BlockPool {
public:
    static constexpr size_t kLine = 64;
    static constexpr size_t kMostLines = 64;

    static size_t lines_for(size_t bytes) { return (bytes + kLine - 1) / kLine; }

    // Returns memory that shares no cache line with other memory.
    void *take(size_t n_lines) {
        if (__builtin_expect(n_lines > kMostLines, 0)) return allocate(n_lines);
        Free *block = free_[n_lines];
        if (__builtin_expect(!block, 0)) return refill(n_lines);
        free_[n_lines] = block->next;
        return block;
    }

    void give(void *memory, size_t n_lines) {
        if (__builtin_expect(n_lines > kMostLines, 0)) return free(memory);
        auto *block = static_cast<Free *>(memory);
        block->next = free_[n_lines];
        free_[n_lines] = block;
    }

    // Threads that send each other tasks exchange blocks, because a block is in the cache of its last user. A pool
    // keeps one lent block of another pool for each of its own that is still lent, so no pool grows at the expense of
    // another. Larger blocks than kMostLines are not counted. lend() returns true if it counted the block.
    bool lend(size_t n_lines) {
        if (__builtin_expect(n_lines > kMostLines, 0)) return false;
        n_to_keep_++;
        return true;
    }
    void take_back() { n_to_keep_--; }
    // Keeps or returns a block that `other` has lent and counted.
    [[gnu::noinline]] void keep(void *memory, size_t n_lines, BlockPool &other) {
        if (n_to_keep_ > 0 && n_until_look_ == 0) {
            collect();
            n_until_look_ = kKeptPerLook;
        }
        if (n_to_keep_ <= 0) {
            n_until_look_ = 0; // the next keep() collects first: until then, returned blocks count as lent
            return other.give_back(memory, n_lines, true);
        }
        n_to_keep_--;
        n_until_look_--;
        give(memory, n_lines);
    }

    // Returns a block of this pool. is_lent: lend() has counted it.
    void give_back(void *memory, size_t n_lines, bool is_lent) {
        if (n_lines > kMostLines) return free(memory);
        auto *block = static_cast<Free *>(memory);
        block->n_lines = static_cast<uint32_t>(n_lines);
        block->is_lent = is_lent;
        block->next = returned_.load(std::memory_order_relaxed);
        while (!returned_.compare_exchange_weak(block->next, block, std::memory_order_release,
                                                std::memory_order_relaxed)) {}
    }

private:
    struct Free {
        Free *next;
        // Set by give_back().
        uint32_t n_lines;
        bool is_lent;
    };
    static constexpr size_t kChunkLines = 1024;
    static constexpr unsigned kKeptPerLook = 256; // blocks kept before the next look at returned_

    static void *allocate(size_t n_lines) {
        void *memory = aligned_alloc(kLine, n_lines * kLine);
        if (!memory) abort(); // as the runtime does
        return memory;
    }

    void collect() {
        if (!returned_.load(std::memory_order_relaxed)) return;
        for (Free *block = returned_.exchange(nullptr, std::memory_order_acquire); block;) {
            Free *next = block->next;
            n_to_keep_ -= block->is_lent;
            give(block, block->n_lines);
            block = next;
        }
    }

    [[gnu::noinline]] void *refill(size_t n_lines) {
        collect();
        if (Free *block = free_[n_lines]) {
            free_[n_lines] = block->next;
            return block;
        }
        if (n_left_ < n_lines) {
            if (n_left_ > 0) give(unused_, n_left_);
            unused_ = static_cast<char *>(allocate(kChunkLines));
            n_left_ = kChunkLines;
        }
        void *memory = unused_;
        unused_ += n_lines * kLine;
        n_left_ -= n_lines;
        return memory;
    }

    Free *free_[kMostLines + 1] = {}; // by number of lines
    char *unused_ = nullptr; // rest of the newest chunk
    size_t n_left_ = 0;
    int64_t n_to_keep_ = 0;
    unsigned n_until_look_ = 0;
    alignas(64) std::atomic<Free *> returned_{nullptr}; // newest first
};

} // namespace omp_ext
