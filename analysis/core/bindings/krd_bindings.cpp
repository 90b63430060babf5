// SPDX-License-Identifier: Apache-2.0
// Reuse distances for Python, as _core.pyi declares them. Converts, computes nothing.
#include "bindings.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <bit>

#include "analyses/krd_analysis.h"

namespace nb = nanobind;

namespace ompass {

namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

KrdSettings settings_of(std::vector<int32_t> group_of_thread, std::vector<uint16_t> group_of_cpu,
                        const std::vector<std::pair<uint64_t, uint64_t>> &class_bytes, double rate,
                        uint64_t block_bytes, bool coherent, unsigned n_jobs) {
    KrdSettings settings;
    if (class_bytes.empty() || class_bytes.size() > 0xffff) throw nb::value_error("there must be 1 to 65535 groups");
    if (!(rate > 0 && rate <= 1)) throw nb::value_error("rate must be above 0 and at most 1");
    if (block_bytes != 0 && (!std::has_single_bit(block_bytes) || block_bytes < 2))
        throw nb::value_error("block_bytes must be 0 or a power of two above 1");
    for (const auto &[l2_bytes, llc_bytes] : class_bytes) settings.classes.push_back({l2_bytes, llc_bytes});
    settings.groups = {std::move(group_of_thread), std::move(group_of_cpu), static_cast<uint16_t>(class_bytes.size())};
    for (const int32_t group : settings.groups.of_thread)
        if (group >= settings.groups.n_groups) throw nb::value_error("a thread is in an unknown group");
    for (const uint16_t group : settings.groups.of_cpu)
        if (group >= settings.groups.n_groups) throw nb::value_error("a CPU is in an unknown group");
    settings.rate = rate;
    settings.block_shift = block_bytes == 0 ? 0 : static_cast<unsigned>(std::countr_zero(block_bytes));
    settings.coherent = coherent;
    settings.n_jobs = n_jobs;
    return settings;
}

nb::dict to_dict(const KrdResult &result) {
    nb::list groups;
    for (const GroupReuse &reuse : result.groups) {
        nb::list kernels;
        for (size_t construct = 0; construct < reuse.kernels.size(); construct++) {
            const AccessReader::Totals &totals = reuse.totals[construct];
            if (totals.n_accesses == 0) continue;
            const ReuseTally &tally = reuse.kernels[construct];
            nb::dict row;
            row["construct"] = construct;
            row["n_accesses"] = totals.n_accesses;
            row["bytes"] = totals.bytes;
            row["cold_bytes"] = tally.cold;
            row["coherence_bytes"] = tally.coherence;
            row["close_bytes"] = tally.close;
            row["near_bytes"] = tally.near;
            row["far_bytes"] = tally.far;
            nb::list bins;
            for (const uint64_t bytes : tally.bins) bins.append(bytes);
            row["bins"] = bins;
            kernels.append(row);
        }
        nb::dict group;
        group["kernels"] = kernels;
        group["distinct_bytes"] = reuse.distinct_bytes;
        group["memory_bytes"] = reuse.memory_bytes;
        nb::list replicates;
        if (reuse.sample)
            for (const auto &replicate : reuse.sample->bytes) {
                nb::list bins;
                for (const uint64_t bytes : replicate) bins.append(bytes);
                replicates.append(bins);
            }
        group["sample"] = replicates;
        groups.append(group);
    }
    nb::dict dict;
    dict["groups"] = groups;
    dict["block_bytes"] = result.block_bytes;
    return dict;
}

nb::dict reuse_of_run(const std::string &directory, std::vector<int32_t> group_of_thread,
                      std::vector<uint16_t> group_of_cpu, const std::vector<std::pair<uint64_t, uint64_t>> &class_bytes,
                      double rate, uint64_t block_bytes, bool coherent, unsigned n_jobs, const nb::object &progress) {
    const RunFiles run = open_or_throw(directory);
    const KrdSettings settings = settings_of(std::move(group_of_thread), std::move(group_of_cpu), class_bytes, rate,
                                             block_bytes, coherent, n_jobs);
    KrdResult result;
    {
        const nb::gil_scoped_release release;
        const auto tell = [&](double share) {
            const nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            if (!progress.is_none()) progress(share);
        };
        if (const Problem problem = analyse_reuse(run, settings, tell, result)) throw LogError(problem.text());
    }
    return to_dict(result);
}

nb::dict reuse_of_accesses(const Column<uint64_t> &address, const Column<uint64_t> &bytes, const Column<uint8_t> &write,
                           const Column<uint16_t> &group, const Column<uint32_t> &kernel,
                           const std::vector<std::pair<uint64_t, uint64_t>> &class_bytes, double rate,
                           uint64_t block_bytes, bool coherent, unsigned n_jobs) {
    const size_t n = address.shape(0);
    if (bytes.shape(0) != n || write.shape(0) != n || group.shape(0) != n || kernel.shape(0) != n)
        throw nb::value_error("the columns have different lengths");
    const KrdSettings settings = settings_of({}, {}, class_bytes, rate, block_bytes, coherent, n_jobs);
    KrdResult result;
    {
        const nb::gil_scoped_release release;
        uint32_t n_kernels = 1;
        for (size_t i = 0; i < n; i++) {
            if (kernel.data()[i] >= 1u << 20) throw nb::value_error("an access is of an impossible kernel");
            n_kernels = std::max(n_kernels, kernel.data()[i] + 1);
        }
        size_t next = 0;
        const auto source = [&](std::vector<Access> &batch) {
            constexpr size_t kBatchAccesses = 1 << 14;
            const size_t begin = next, end = std::min(n, begin + kBatchAccesses);
            batch.resize(end - begin);
            for (; next < end; next++) {
                const Access access = {address.data()[next], bytes.data()[next],      kernel.data()[next],
                                       group.data()[next],   write.data()[next] != 0, false};
                if (access.bytes == 0 || access.begin + access.bytes < access.begin)
                    throw nb::value_error("an access has no bytes, or goes beyond the end of the address space");
                if (access.group >= settings.groups.n_groups) throw nb::value_error("an access is of an unknown group");
                batch[next - begin] = access;
            }
        };
        analyse_reuse(source, n_kernels, settings, result);
    }
    return to_dict(result);
}

} // namespace

void bind_krd(nb::module_ &m) {
    m.def("reuse_of_run", &reuse_of_run, nb::arg("directory"), nb::arg("group_of_thread"), nb::arg("group_of_cpu"),
          nb::arg("class_bytes"), nb::arg("rate") = 1.0, nb::arg("block_bytes") = 0, nb::arg("coherent") = true,
          nb::arg("n_jobs") = 1, nb::arg("progress").none() = nb::none());
    m.def("reuse_of_accesses", &reuse_of_accesses, nb::arg("address"), nb::arg("bytes"), nb::arg("write"),
          nb::arg("group"), nb::arg("kernel"), nb::arg("class_bytes"), nb::arg("rate") = 1.0,
          nb::arg("block_bytes") = 0, nb::arg("coherent") = true, nb::arg("n_jobs") = 1);
}

} // namespace ompass
