// SPDX-License-Identifier: Apache-2.0
// The merge: a heap of threads by the time of their next access. A thread is read on until another one is earlier.
#include "access_reader.h"

#include <algorithm>

namespace ompass {

AccessReader::AccessReader(const RunFiles &run, const GroupMap &groups, Sampling sampling)
    : run_(run), groups_(groups), sampler_(sampling),
      totals_(groups.n_groups, std::vector<Totals>(run.definitions.size())) {
    cursors_.reserve(run.threads.size());
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        if (run.threads[i].events.empty()) continue;
        Cursor &cursor = cursors_.emplace_back(run.threads[i], i);
        cursor.by_cpu = i >= groups.of_thread.size() || groups.of_thread[i] == GroupMap::kByCpu;
        if (!cursor.by_cpu) cursor.group = static_cast<uint16_t>(groups.of_thread[i]);
    }
    for (Cursor &cursor : cursors_)
        if (advance(cursor)) heap_.push_back(&cursor);
    for (size_t i = heap_.size(); i-- > 0;) sift_down(i);
}

bool AccessReader::advance(Cursor &cursor) {
    EventRecord record;
    while (cursor.decoder.next(record)) {
        switch (record.kind) {
        case format::kRead:
        case format::kWrite: {
            const uint64_t begin = record.words[1];
            const uint64_t bytes = std::min(record.words[2], ~uint64_t{0} - begin);
            if (bytes == 0 || cursor.kernels.empty()) continue;
            cursor.time = record.time;
            cursor.access = {begin, bytes, cursor.kernels.back(), cursor.group, record.kind == format::kWrite, false};
            return true;
        }
        case format::kKernelBegin:
            if (record.argument >= run_.definitions.size()) {
                problem_ = {run_.threads[cursor.thread].file.path(), cursor.decoder.offset(),
                            "is damaged: event of an unknown construct"};
                return false;
            }
            cursor.kernels.push_back(record.argument);
            break;
        case format::kKernelEnd: // of one that a pause hid the begin of: none is open
            if (!cursor.kernels.empty()) cursor.kernels.pop_back();
            break;
        case format::kCpu:
            if (cursor.by_cpu)
                cursor.group = record.argument < groups_.of_cpu.size() ? groups_.of_cpu[record.argument] : 0;
            break;
        default: break;
        }
    }
    if (cursor.decoder.problem() && !problem_) problem_ = cursor.decoder.problem();
    return false;
}

Problem AccessReader::read(std::vector<Access> &batch, size_t target) {
    batch.clear();
    // A sample may leave out nearly everything: the work of a call is bounded by what is read, too.
    size_t n_read = 0;
    while (!heap_.empty() && batch.size() < target && n_read < 16 * target) {
        if (problem_) return problem_;
        Cursor &cursor = *heap_.front();
        const Cursor *rival = heap_.size() < 2                                  ? nullptr
                              : heap_.size() < 3 || heap_[1]->before(*heap_[2]) ? heap_[1]
                                                                                : heap_[2];
        bool more = true;
        do {
            emit(cursor.access, batch);
            n_read++;
            more = advance(cursor);
        } while (more && (!rival || cursor.before(*rival)) && batch.size() < target && n_read < 16 * target);
        if (!more) {
            heap_.front() = heap_.back();
            heap_.pop_back();
        }
        sift_down(0);
    }
    return problem_;
}

void AccessReader::emit(const Access &access, std::vector<Access> &batch) {
    Totals &totals = totals_[access.group][access.kernel];
    totals.n_accesses++;
    totals.bytes += access.bytes;
    if (sampler_.all()) {
        batch.push_back(access);
        return;
    }
    sampler_.append(access, batch);
}

void AccessReader::sift_down(size_t at) {
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap_.size(); child++)
            if (heap_[child]->before(*heap_[least])) least = child;
        if (least == at) return;
        std::swap(heap_[at], heap_[least]);
        at = least;
    }
}

double AccessReader::share_read() const {
    uint64_t read = 0, all = 0;
    for (const Cursor &cursor : cursors_) {
        read += cursor.decoder.offset();
        all += run_.threads[cursor.thread].file.bytes().size();
    }
    return all == 0 || at_end() ? 1 : static_cast<double>(read) / static_cast<double>(all);
}

} // namespace ompass
