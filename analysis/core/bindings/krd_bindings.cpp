// SPDX-License-Identifier: Apache-2.0
// Reuse distances for Python.
#include "analyses/krd_analysis.h"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <bit>

#include "bindings.h"
#include "simulation/access_log.h"

namespace ompass {

namespace {

template <typename T>
using Given = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// X(type, name, meaning, value): `value` uses the variables of to_python().
#define OMPASS_KERNEL_REUSE(X)                                                                                         \
    X(uint32_t, construct, "number of the kernel's construct", construct)                                              \
    X(uint64_t, n_accesses, "accesses, sampled or not", totals.n_accesses)                                             \
    X(uint64_t, bytes, "accessed bytes, sampled or not", totals.bytes)                                                 \
    X(uint64_t, cold_bytes, "bytes that this cache group had never touched before", by_distance.cold)                  \
    X(uint64_t, coherence_bytes, "bytes that another group has written since this group's last touch",                 \
      by_distance.coherence)                                                                                           \
    X(uint64_t, close_bytes, "bytes at a reuse distance of at most the size of L2", by_distance.close)                 \
    X(uint64_t, near_bytes, "bytes at a greater distance, of at most the size of the last-level cache",                \
      by_distance.near)                                                                                                \
    X(uint64_t, far_bytes, "bytes at a distance above the size of the last-level cache", by_distance.far)              \
    X(Numbers<64>, bins, "bytes by reuse distance: bin 0 up to 1, bin k above 2**(k - 1) and up to 2**k",              \
      Numbers<64>::of(by_distance.bins.data(), by_distance.bins.size()))

#define OMPASS_GROUP_REUSE(X)                                                                                          \
    X(Rows<PythonKernelReuse>, kernels, "kernels with accesses", kernels)                                              \
    X(uint64_t, distinct_bytes, "distinct bytes that the group touched; with sampling, only in sampled blocks",        \
      reuse.distinct_bytes)                                                                                            \
    X(uint64_t, memory_bytes, "size of the tables that the analysis of this group used", reuse.memory_bytes)           \
    X(Matrix, sample,                                                                                                  \
      "empty if exact; else 32 rows, one for each random part of the sampled blocks. A row has the bytes of its part " \
      "in bins by reuse distance d, then the cold and the coherence bytes. Each power of two has 8 bins: d below 8 "   \
      "is in bin d, a larger d in bin 8 * floor(log2 d) + the three bits after its highest bit",                       \
      sample)

#define OMPASS_REUSE(X)                                                                                                \
    X(Rows<PythonGroupReuse>, groups, "results by cache group", groups)                                                \
    X(uint64_t, block_bytes, "size of a sampled block; 0 if exact", result.block_bytes)

OMPASS_STRUCT(PythonKernelReuse, Row, OMPASS_KERNEL_REUSE);
OMPASS_STRUCT(PythonGroupReuse, Row, OMPASS_GROUP_REUSE);
OMPASS_STRUCT(PythonReuse, Row, OMPASS_REUSE);

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
        if (group < -1 || group >= settings.groups.n_groups) throw nb::value_error("a thread is in an unknown group");
    for (const uint16_t group : settings.groups.of_cpu)
        if (group >= settings.groups.n_groups) throw nb::value_error("a CPU is in an unknown group");
    settings.rate = rate;
    settings.block_shift = block_bytes == 0 ? 0 : static_cast<unsigned>(std::countr_zero(block_bytes));
    settings.coherent = coherent;
    settings.n_jobs = n_jobs;
    return settings;
}

PythonGroupReuse to_python(const GroupReuse &reuse) {
    std::vector<PythonKernelReuse> rows;
    for (uint32_t construct = 0; construct < reuse.kernels.size(); construct++) {
        const AccessReader::Totals &totals = reuse.totals[construct];
        const ReuseBytes &by_distance = reuse.kernels[construct];
        if (totals.n_accesses > 0) rows.push_back(OMPASS_ROW(PythonKernelReuse, OMPASS_KERNEL_REUSE));
    }
    const auto kernels = to_rows(std::move(rows));
    nb::tuple sample;
    if (reuse.sample)
        sample = to_tuple(reuse.sample->bytes,
                          [](const auto &bins) { return to_tuple(bins, [](uint64_t bytes) { return bytes; }); });
    return OMPASS_ROW(PythonGroupReuse, OMPASS_GROUP_REUSE);
}

PythonReuse to_python(const KrdResult &result) {
    const auto groups = to_tuple(result.groups, [](const GroupReuse &reuse) { return to_python(reuse); });
    return OMPASS_ROW(PythonReuse, OMPASS_REUSE);
}

PythonReuse reuse_of_run(const std::string &directory, std::vector<int32_t> group_of_thread,
                         std::vector<uint16_t> group_of_cpu,
                         const std::vector<std::pair<uint64_t, uint64_t>> &class_bytes, double rate,
                         uint64_t block_bytes, bool coherent, unsigned n_jobs, const nb::object &progress) {
    const RunFiles run = open_or_throw(directory);
    const KrdSettings settings = settings_of(std::move(group_of_thread), std::move(group_of_cpu), class_bytes, rate,
                                             block_bytes, coherent, n_jobs);
    KrdResult result;
    const auto report = [&](double share) {
        const nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!progress.is_none()) progress(share);
    };
    unlocked([&] { return analyse_reuse(run, settings, report, result); });
    return to_python(result);
}

PythonReuse reuse_of_accesses(const Given<uint64_t> &address, const Given<uint64_t> &bytes, const Given<uint8_t> &write,
                              const Given<uint16_t> &group, const Given<uint32_t> &kernel,
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
            if (kernel.data()[i] >= 1u << 20) throw nb::value_error("the number of a kernel is too large");
            n_kernels = std::max(n_kernels, kernel.data()[i] + 1);
        }
        size_t next = 0;
        const auto source = [&](std::vector<Access> &batch) {
            constexpr size_t kBatchAccesses = 1 << 15;
            batch.resize(std::min(n - next, kBatchAccesses));
            for (Access &access : batch) { // filled in place: a copy right after the write would stall
                access = {address.data()[next], bytes.data()[next],      kernel.data()[next],
                          group.data()[next],   write.data()[next] != 0, false};
                next++;
                if (access.bytes == 0 || access.begin + access.bytes < access.begin)
                    throw nb::value_error("an access has no bytes or exceeds the address space");
                if (access.group >= settings.groups.n_groups)
                    throw nb::value_error("an access belongs to an unknown group");
            }
        };
        analyse_reuse(source, n_kernels, settings, result);
    }
    return to_python(result);
}

PythonReuse reuse_of_log(simulation::AccessLog &log, std::vector<int32_t> group_of_thread,
                         const std::vector<std::pair<uint64_t, uint64_t>> &class_bytes, bool coherent,
                         unsigned n_jobs) {
    if (group_of_thread.size() < log.n_threads()) throw nb::value_error("a thread has no group");
    if (std::ranges::any_of(group_of_thread, [](int32_t group) { return group < 0; }))
        throw nb::value_error("a thread is in an unknown group");
    const KrdSettings settings = settings_of(std::move(group_of_thread), {}, class_bytes, 1, 0, coherent, n_jobs);
    KrdResult result;
    {
        const nb::gil_scoped_release release;
        result = log.reuse(settings);
    }
    return to_python(result);
}

} // namespace

void bind_krd(nb::module_ &m) {
    bind_row<PythonKernelReuse>(
        m, "KernelReuse",
        "Bytes that one kernel accessed in one cache group, by reuse distance (docs/reuse-distance.md).\n\n"
        "cold_bytes + coherence_bytes + close_bytes + near_bytes + far_bytes == bytes; with sampling, they add up to "
        "the sampled bytes. The bins add up to close_bytes + near_bytes + far_bytes.");
    bind_row<PythonGroupReuse>(m, "GroupReuse", "Accesses of one cache group by reuse distance.");
    bind_row<PythonReuse>(m, "Reuse", "Accesses by reuse distance in each cache group.");
    nb::class_<simulation::AccessLog>(m, "AccessLog", "The accesses of the last run that was simulated with this log.")
        .def(nb::init<>())
        .def("__len__", &simulation::AccessLog::size)
        .def("reuse", &reuse_of_log, nb::arg("group_of_thread"), nb::arg("class_bytes"), nb::arg("coherent") = true,
             nb::arg("n_jobs") = 1,
             "Returns the reuse distances of the accesses, exactly.\n\n"
             "`group_of_thread`: group of each thread of the simulated team. The other arguments are those of "
             "reuse_of_run(). Raises ValueError for inconsistent arguments.");
    m.def("reuse_of_run", &reuse_of_run, nb::arg("directory"), nb::arg("group_of_thread"), nb::arg("group_of_cpu"),
          nb::arg("class_bytes"), nb::arg("rate") = 1.0, nb::arg("block_bytes") = 0, nb::arg("coherent") = true,
          nb::arg("n_jobs") = 1, nb::arg("progress").none() = nb::none(),
          "Returns the reuse distances of a trace's accesses in each cache group.\n\n"
          "`group_of_thread`: group of each thread; -1 or missing: the group of the CPU on which it runs. "
          "`group_of_cpu`: group of each CPU; missing: 0. `class_bytes`: (bytes of L2, bytes of the last-level "
          "cache) of each group. `rate`: share of blocks in the sample; 1: exact. `block_bytes`: size of sampled "
          "blocks; 0: near the mean size of an access. `coherent`: True if writes by other groups invalidate bytes. "
          "`n_jobs`: threads to use. Calls `progress` with the finished share, 0 to 1. Raises LogError, or "
          "ValueError for inconsistent arguments.");
    m.def("reuse_of_accesses", &reuse_of_accesses, nb::arg("address"), nb::arg("bytes"), nb::arg("write"),
          nb::arg("group"), nb::arg("kernel"), nb::arg("class_bytes"), nb::arg("rate") = 1.0,
          nb::arg("block_bytes") = 0, nb::arg("coherent") = true, nb::arg("n_jobs") = 1,
          "Returns the reuse distances of accesses, given as arrays in order of time.\n\n"
          "A `block_bytes` of 0 means 4096. The other arguments are those of reuse_of_run(). Raises ValueError for "
          "inconsistent arguments.");
}

} // namespace ompass
