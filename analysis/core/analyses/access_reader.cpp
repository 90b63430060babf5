// SPDX-License-Identifier: Apache-2.0
// Merges threads with a heap ordered by the time of the next access. Reads a thread until another thread's next access
// is earlier.
#include "access_reader.h"

#include <algorithm>

namespace ompass {

AccessReader::AccessReader(const RunFiles &run, const GroupMap &groups, AccessSampling sampling)
    : run_(run), sampler_(sampling), totals_(groups.n_groups, std::vector<Totals>(run.definitions.size())) {
    for (uint32_t i = 0; i < run.threads.size(); i++) {
        if (run.threads[i].events.empty()) continue;
        Listener &listener = sources_.emplace_back(run, i).last;
        listener.of_cpu = &groups.of_cpu;
        listener.by_cpu = i >= groups.of_thread.size() || groups.of_thread[i] == GroupMap::kByCpu;
        if (!listener.by_cpu) listener.group = static_cast<uint16_t>(groups.of_thread[i]);
    }
    for (Source &source : sources_)
        if (advance(source)) put_back(source);
}

bool AccessReader::advance(Source &source) {
    source.last.found = false;
    while (source.walk.advance() && source.walk.apply())
        if (source.last.found) return true;
    if (!problem_) problem_ = source.walk.problem();
    return false;
}

Problem AccessReader::read(std::vector<Access> &batch, size_t target) {
    batch.clear();
    size_t n_read = 0; // also limited, because a sample may contain almost no accesses
    while (!heap_.empty() && batch.size() < target && n_read < 16 * target) {
        if (problem_) return problem_;
        std::ranges::pop_heap(heap_, later);
        Source &source = *heap_.back();
        heap_.pop_back();
        bool more = true;
        do {
            emit(source.last.access, batch);
            n_read++;
            more = advance(source);
        } while (more && (heap_.empty() || later(heap_.front(), &source)) && batch.size() < target &&
                 n_read < 16 * target);
        if (more) put_back(source);
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

double AccessReader::share_read() const {
    uint64_t read = 0, all = 0;
    for (const Source &source : sources_) {
        read += source.walk.decoder().offset();
        all += run_.threads[source.walk.thread()].file.bytes().size();
    }
    return all == 0 || at_end() ? 1 : static_cast<double>(read) / static_cast<double>(all);
}

} // namespace ompass
