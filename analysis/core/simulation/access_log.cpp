// SPDX-License-Identifier: Apache-2.0
#include "access_log.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace ompass::simulation {

void AccessLog::begin(const TaskProgram &program, uint32_t n_threads) {
    program_ = &program;
    n_kernels_ = 1;
    for (const uint32_t construct : program.constructs) n_kernels_ = std::max(n_kernels_, construct + 1);
    threads_.assign(n_threads, {});
    n_accesses_ = 0;
}

void AccessLog::add(uint32_t number, Operation operation, uint64_t now) {
    LoggedThread &thread = threads_[number];
    if (operation.kind() == OpKind::kAccess) {
        const DataAccess &data = program_->accesses[operation.value()];
        const uint32_t kernel = thread.kernels.empty() ? 0 : thread.kernels.back();
        const uint64_t bytes = std::min(data.bytes, ~uint64_t{0} - data.address);
        if (bytes == 0) return;
        n_accesses_++;
        thread.accesses.push_back(
            {thread.moment, {data.address, bytes, kernel, static_cast<uint16_t>(number), data.write, false}});
        return;
    }
    thread.moment = now;
    if (operation.kind() == OpKind::kKernelBegin)
        thread.kernels.push_back(program_->constructs[operation.construct()]);
    else if (!thread.kernels.empty())
        thread.kernels.pop_back();
}

KrdResult AccessLog::reuse(const KrdSettings &settings) const {
    using Next = std::pair<uint64_t, uint32_t>; // time and thread of a thread's next access
    std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
    std::vector<size_t> n_read(threads_.size());
    const auto enqueue = [&](uint32_t thread) {
        const auto &accesses = threads_[thread].accesses;
        if (n_read[thread] < accesses.size()) queue.emplace(accesses[n_read[thread]].time, thread);
    };
    for (uint32_t thread = 0; thread < threads_.size(); thread++) enqueue(thread);
    const auto source = [&](std::vector<Access> &batch) {
        constexpr size_t kBatchAccesses = 1 << 15;
        for (batch.clear(); batch.size() < kBatchAccesses && !queue.empty();) {
            const uint32_t thread = queue.top().second;
            queue.pop();
            batch.push_back(threads_[thread].accesses[n_read[thread]++].access);
            batch.back().group = static_cast<uint16_t>(settings.groups.of_thread[thread]);
            enqueue(thread);
        }
    };
    KrdResult result;
    analyse_reuse(source, n_kernels_, settings, result);
    return result;
}

} // namespace ompass::simulation
