// SPDX-License-Identifier: Apache-2.0
// One thread's place in its log while the task graph is built: its next event, what it runs, and where it waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "events/decoder.h"
#include "task_graph_chains.h"

namespace ompass {

struct Frame {
    uint32_t chain = 0; // whose work it is
    uint32_t own = 0;   // for waits: of an undeferred task, made when it creates a deferred one
    uint32_t group = 0;
    bool is_inline = false, waiting = false;
};

struct Part {
    Region *region = nullptr;
    uint64_t id = 0;
    uint32_t n_barriers = 0;
    bool primary = false;
};

enum class Open { kNone, kWork, kGap };

// One thread's log, with the next event at hand.
struct Cursor {
    explicit Cursor(const ThreadFile &file) : decoder(file) {}

    EventDecoder decoder;
    EventRecord record{};
    std::deque<EventRecord> ahead;
    uint32_t index = 0;
    uint64_t counter = 0; // of ids
    uint64_t mark = 0;
    Open open = Open::kNone;
    std::vector<Frame> stack;
    std::vector<Part> parts;
    std::vector<uint32_t> codes;
    const uint64_t *search_end = nullptr; // of search_bracket(); null: not searched
    uint64_t bracket_begin = 0;           // ~0: no bracket
    uint32_t created = 0; // the child whose creation was told last, until its span is
    uint32_t cached_parent = ~0u, cached_construct = ~0u, cached_group = 0;

    bool advance() {
        if (ahead.empty()) return decoder.next(record);
        record = ahead.front();
        ahead.pop_front();
        if (record.words == search_end) search_end = nullptr;
        return true;
    }

    // The moment at which the creation of `record` began: that of its bracket, whose end is told some records on; a
    // taskloop's bracket holds all its creations. What was found holds for all creations up to where the search ended.
    uint64_t creation_began() {
        if (!search_end) search_bracket();
        return std::min(bracket_begin, record.time);
    }

    void search_bracket() {
        constexpr size_t kFurthest = 4096;
        bracket_begin = ~0ull;
        for (size_t i = 0;; i++) {
            if (i == ahead.size()) {
                EventRecord next{};
                if (!decoder.next(next)) break;
                ahead.push_back(next);
            }
            const EventRecord &next = ahead[i];
            search_end = next.words;
            switch (next.kind) {
            case format::kCpu:
            case format::kDependence:
            case format::kDomain:
            case format::kPlaced:
            case format::kInlineCode:
            case format::kCreate:
                if (i < kFurthest) continue;
                return;
            case format::kCreateSpan: bracket_begin = next.time - std::min<uint64_t>(next.argument, next.time); return;
            case format::kCreateSpanLong: bracket_begin = next.time - std::min(next.words[1], next.time); return;
            default: return;
            }
        }
    }
};

} // namespace ompass
