// SPDX-License-Identifier: Apache-2.0
// Reuse distances for Python.
#include "analyses/krd_analysis.h"

#include <nanobind/stl/pair.h>

#include <bit>

#include "bindings.h"

namespace ompass {

namespace {

template <typename T>
using Given = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// X(type, name, meaning, value): `value` is made of the totals and the tally of one construct.
#define OMPASS_KERNEL_REUSE(X)                                                                                         \
    X(uint32_t, construct, "number of the kernel", construct)                                                          \
    X(uint64_t, n_accesses, "accesses, sampled or not", totals.n_accesses)                                             \
    X(uint64_t, bytes, "accessed bytes, sampled or not", totals.bytes)                                                 \
    X(uint64_t, cold_bytes, "never touched before in this cache group", tally.cold)                                    \
    X(uint64_t, coherence_bytes, "written by another group since they were touched", tally.coherence)                  \
    X(uint64_t, close_bytes, "at a distance within L2", tally.close)                                                   \
    X(uint64_t, near_bytes, "at a distance within the last level", tally.near)                                         \
    X(uint64_t, far_bytes, "at a greater distance", tally.far)                                                         \
    X(Numbers<64>, bins, "bytes by distance; bin k: the smallest 2**k >= max(distance, 1)",                            \
      Numbers<64>::of(tally.bins.data(), tally.bins.size()))

#define OMPASS_GROUP_REUSE(X)                                                                                          \
    X(Rows<PythonKernelReuse>, kernels, "those with accesses", kernels)                                                \
    X(uint64_t, distinct_bytes, "touched; in a sample: of the sampled blocks", reuse.distinct_bytes)                   \
    X(uint64_t, memory_bytes, "of the tables of this group", reuse.memory_bytes)                                       \
    X(Matrix, sample,                                                                                                  \
      "empty when exact; else 32 random parts of the sampled blocks, each its bytes by distance: 8 bins per power of " \
      "two (bin(d) = d below 8, else 8 * floor(log2 d) + the next three bits of d), cold, coherence",                  \
      sample)

#define OMPASS_REUSE(X)                                                                                                \
    X(Rows<PythonGroupReuse>, groups, "by cache group", groups)                                                        \
    X(uint64_t, block_bytes, "of a sample; 0 when exact", result.block_bytes)

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
        if (group >= settings.groups.n_groups) throw nb::value_error("a thread is in an unknown group");
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
        const ReuseTally &tally = reuse.kernels[construct];
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
    const auto tell = [&](double share) {
        const nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!progress.is_none()) progress(share);
    };
    unlocked([&] { return analyse_reuse(run, settings, tell, result); });
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
            if (kernel.data()[i] >= 1u << 20) throw nb::value_error("an access is of an impossible kernel");
            n_kernels = std::max(n_kernels, kernel.data()[i] + 1);
        }
        size_t next = 0;
        const auto source = [&](std::vector<Access> &batch) {
            constexpr size_t kBatchAccesses = 1 << 15;
            batch.resize(std::min(n - next, kBatchAccesses));
            for (Access &access : batch) { // put together in place: a copy of what was just written stalls
                access = {address.data()[next], bytes.data()[next],      kernel.data()[next],
                          group.data()[next],   write.data()[next] != 0, false};
                next++;
                if (access.bytes == 0 || access.begin + access.bytes < access.begin)
                    throw nb::value_error("an access has no bytes, or goes beyond the end of the address space");
                if (access.group >= settings.groups.n_groups) throw nb::value_error("an access is of an unknown group");
            }
        };
        analyse_reuse(source, n_kernels, settings, result);
    }
    return to_python(result);
}

} // namespace

void bind_krd(nb::module_ &m) {
    bind_row<PythonKernelReuse>(
        m, "KernelReuse",
        "Bytes of one kernel's accesses in one cache group, by reuse distance (docs/reuse-distance.md).\n\n"
        "cold + coherence + close + near + far are `bytes`, or the sampled part of them; the bins sum to close + near "
        "+ "
        "far.");
    bind_row<PythonGroupReuse>(m, "GroupReuse", "The accesses of one cache group.");
    bind_row<PythonReuse>(m, "Reuse", "Accesses by reuse distance, for each cache group.");
    m.def("reuse_of_run", &reuse_of_run, nb::arg("directory"), nb::arg("group_of_thread"), nb::arg("group_of_cpu"),
          nb::arg("class_bytes"), nb::arg("rate") = 1.0, nb::arg("block_bytes") = 0, nb::arg("coherent") = true,
          nb::arg("n_jobs") = 1, nb::arg("progress").none() = nb::none(),
          "Reuse distances of the accesses of a trace, for each cache group.\n\n"
          "`class_bytes`: (L2, last level) of each group; `group_of_thread`: by thread, -1 or missing: by the CPU that "
          "it "
          "ran on; `group_of_cpu`: by CPU, missing: 0. `block_bytes` 0: chosen. `progress` is called with the share "
          "done. LogError; ValueError when the numbers do not fit each other.");
    m.def("reuse_of_accesses", &reuse_of_accesses, nb::arg("address"), nb::arg("bytes"), nb::arg("write"),
          nb::arg("group"), nb::arg("kernel"), nb::arg("class_bytes"), nb::arg("rate") = 1.0,
          nb::arg("block_bytes") = 0, nb::arg("coherent") = true, nb::arg("n_jobs") = 1,
          "The same of accesses in order of time, given as arrays. `block_bytes` 0: 4096.");
}

} // namespace ompass
