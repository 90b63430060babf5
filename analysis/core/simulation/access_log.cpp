// SPDX-License-Identifier: Apache-2.0
#include "access_log.h"

#include <algorithm>
#include <tuple>

namespace ompass::simulation {

void AccessLog::begin(const TaskProgram &program, uint32_t n_threads) {
    program_ = &program;
    n_kernels_ = 1;
    for (const uint32_t construct : program.constructs) n_kernels_ = std::max(n_kernels_, construct + 1);
    threads_.assign(n_threads, {});
    accesses_.clear();
    accesses_.reserve(program.accesses.size());
    is_sorted_ = false;
}

void AccessLog::add(uint32_t number, Operation operation, uint64_t now) {
    LoggedThread &thread = threads_[number];
    if (operation.kind() == OpKind::kAccess) {
        const DataAccess &data = program_->accesses[operation.value()];
        const uint32_t kernel = thread.kernels.empty() ? 0 : thread.kernels.back();
        const uint64_t bytes = std::min(data.bytes, ~uint64_t{0} - data.address);
        if (bytes == 0) return;
        accesses_.push_back(
            {thread.moment, {data.address, bytes, kernel, static_cast<uint16_t>(number), data.write, false}});
        return;
    }
    thread.moment = now;
    if (operation.kind() == OpKind::kKernelBegin)
        thread.kernels.push_back(program_->constructs[operation.construct()]);
    else if (!thread.kernels.empty())
        thread.kernels.pop_back();
}

KrdResult AccessLog::reuse(const KrdSettings &settings) {
    if (!is_sorted_)
        std::ranges::stable_sort(accesses_, {},
                                 [](const Timed &one) { return std::tuple(one.time, one.access.group); });
    is_sorted_ = true;
    size_t next = 0;
    const auto source = [&](std::vector<Access> &batch) {
        constexpr size_t kBatchAccesses = 1 << 15;
        batch.resize(std::min(accesses_.size() - next, kBatchAccesses));
        for (Access &access : batch) {
            access = accesses_[next++].access;
            access.group = static_cast<uint16_t>(settings.groups.of_thread[access.group]);
        }
    };
    KrdResult result;
    analyse_reuse(source, n_kernels_, settings, result);
    return result;
}

} // namespace ompass::simulation
