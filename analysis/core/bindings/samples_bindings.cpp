// SPDX-License-Identifier: Apache-2.0
// Samples for Python.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "bindings.h"
#include "format/sample_files.h"

namespace ompass {

namespace {

constexpr const char *kEvents[] = {"none", "task clock", "cycles", "loads", "ops", "unknown"};
constexpr const char *kSources[format::kLoadSources] = {"unknown", "L1",     "under way", "L2",
                                                        "L3",      "memory", "other node"};
constexpr const char *kRegisters[] = {"", "x86_64", "aarch64", ""};

using Words = nb::typed<nb::tuple, uint64_t, nb::ellipsis>;
using Stack = nb::typed<nb::dict, uint64_t, uint64_t>;

const char *state_name(uint8_t state) { return state < format::kStates ? format::kStateNames[state] : "outside"; }

int64_t number_of(uint32_t construct) { return construct ? static_cast<int64_t>(construct) : -1; }

#define OMPASS_PYTHON_SAMPLE(X)                                                                                        \
    X(int64_t, time_ns, "time since the start of the run", time_ns)                                                    \
    X(nb::str, state, "work, create, schedule, sync, idle, mpi, offload, or outside (of the accounted time)",          \
      nb::str(state_name(from.head.state)))                                                                            \
    X(int64_t, region, "construct of the region; -1: outside of regions", number_of(from.head.region))                 \
    X(int64_t, construct, "construct of the task; -1: an implicit task, or outside", number_of(from.head.construct))   \
    X(int64_t, kernel, "construct of the innermost kernel; -1: none", number_of(from.head.kernel))                     \
    X(bool, is_shared, "true if the sample is in work that untimed tasks share; `construct` is the current task's",    \
      (from.head.flags & format::kSharedWork) != 0)                                                                    \
    X(uint64_t, weight, "number of samples that it represents", from.head.weight)                                      \
    X(uint64_t, address, "address of the loaded datum; 0: unknown, or not a load", from.load.address)                  \
    X(uint64_t, cycles, "latency of the load in cycles; 0: unknown, or not a load", from.load.cycles)                  \
    X(nb::str, source,                                                                                                 \
      "origin of the datum: L1, under way (its line was being fetched), L2, L3, memory, other node, unknown",          \
      nb::str(kSources[static_cast<size_t>(format::load_source(from.load.source))]))                                   \
    X(bool, was_modified, "true if the cache of another core had modified the line",                                   \
      format::was_modified(from.load.source))                                                                          \
    X(uint32_t, stack_id,                                                                                              \
      "number of the call stack: samples of one thread with the same number have the same `chain`, `registers` and "   \
      "`stack`",                                                                                                       \
      known.id)                                                                                                        \
    X(Words, chain, "call chain by frame pointers, as words, the innermost first", known.chain)                        \
    X(Words, registers, "words, in the order of the machine's registers", known.registers)                             \
    X(nb::bytes, values,                                                                                               \
      "values of the general registers, 8 bytes each, in the order of samples.h; empty in older "                      \
      "runs",                                                                                                          \
      nb::bytes(from.values.data(), from.values.size() * sizeof(uint64_t)))                                            \
    X(Stack, stack, "words of the stack by distance from the stack pointer in bytes", known.stack)

#define OMPASS_PYTHON_SAMPLED_THREAD(X)                                                                                \
    X(uint32_t, thread, "number of the thread", from.header.index)                                                     \
    X(nb::str, event, "event that triggers samples: task clock, cycles, loads or ops",                                 \
      nb::str(kEvents[std::min<size_t>(static_cast<size_t>(from.header.event), std::size(kEvents) - 1)]))              \
    X(uint32_t, frequency_hz, "approximate samples per second of processor time", from.header.frequency_hz)            \
    X(nb::str, machine, "x86_64 or aarch64, for the names of registers; empty: no registers",                          \
      nb::str(kRegisters[std::min<size_t>(static_cast<size_t>(from.header.registers), 3)]))                            \
    X(uint32_t, stack_bytes, "bytes of the stack that a sample covers, from the stack pointer on",                     \
      from.header.stack_bytes)                                                                                         \
    X(uint64_t, n_lost, "samples lost because the kernel's ring was full", from.header.n_lost)                         \
    X(uint64_t, n_dropped, "samples that the tool could not write", from.header.n_dropped)                             \
    X(uint64_t, period, "loads or ops per sample; 0: another event", from.header.period)                               \
    X(uint64_t, window_ns, "time with frequent switches that samples in short windows represent",                      \
      from.header.window_ns)                                                                                           \
    X(Rows<PythonSample>, samples, "samples in order of time", samples)

#define OMPASS_PYTHON_SAMPLES(X)                                                                                       \
    X(uint32_t, frequency_hz, "requested samples per second; 0: none", run.process->sample_hz)                         \
    X(uint32_t, n_refused, "threads that the kernel refused to sample", run.process->n_unsampled)                      \
    X(uint32_t, error, "errno of the last such refusal", run.process->sample_error)                                    \
    X(uint32_t, n_threads, "threads with samples", totals.n_threads)                                                   \
    X(uint64_t, n_lost, "samples lost because the kernel's ring was full", totals.n_lost)                              \
    X(uint64_t, n_dropped, "samples that the tool could not write", totals.n_dropped)                                  \
    X(bool, wants_loads, "true if samples of loads were requested", run.process->wants_loads != 0)                     \
    X(uint32_t, loads_error, "errno if the kernel refused to sample loads and the tool sampled time instead; 0: none", \
      run.process->loads_error)

OMPASS_STRUCT(PythonSample, Row, OMPASS_PYTHON_SAMPLE);
OMPASS_STRUCT(PythonSampledThread, Row, OMPASS_PYTHON_SAMPLED_THREAD);
OMPASS_STRUCT(PythonSamples, Row, OMPASS_PYTHON_SAMPLES);

Words words(const std::vector<uint64_t> &values) {
    return to_tuple(values, [](uint64_t value) { return value; });
}

// The call stacks of one thread's samples. Most samples have the stack of an earlier one and share its Python objects.
class CallStacks {
public:
    struct Known {
        uint32_t id;
        Words chain, registers;
        Stack stack;
    };

    // Returns the stack of a sample, which must outlive this object.
    const Known &of(const Sample &sample) {
        const auto [place, is_new] = known_.try_emplace(&sample);
        if (is_new) {
            Known &known = place->second;
            known = {static_cast<uint32_t>(known_.size()), words(sample.chain), words(sample.registers), {}};
            for (const auto &[distance, word] : sample.stack) known.stack[nb::int_(distance)] = nb::int_(word);
        }
        return place->second;
    }

private:
    struct Before {
        bool operator()(const Sample *a, const Sample *b) const {
            return std::tie(a->chain, a->registers, a->stack) < std::tie(b->chain, b->registers, b->stack);
        }
    };
    std::map<const Sample *, Known, Before> known_;
};

PythonSample to_python(const Sample &from, const RunClock &clock, const CallStacks::Known &known) {
    const auto time_ns = static_cast<int64_t>(clock.since_start(from.head.time));
    return OMPASS_ROW(PythonSample, OMPASS_PYTHON_SAMPLE);
}

PythonSampledThread to_python(const SampledThread &from, const RunClock &clock) {
    CallStacks stacks;
    const auto samples =
        to_tuple(from.samples, [&](const Sample &sample) { return to_python(sample, clock, stacks.of(sample)); });
    return OMPASS_ROW(PythonSampledThread, OMPASS_PYTHON_SAMPLED_THREAD);
}

struct Totals {
    uint32_t n_threads = 0;
    uint64_t n_lost = 0, n_dropped = 0;
};

PythonSamples read(const std::string &directory, const nb::object &deliver) {
    const RunFiles run = open_or_throw(directory);
    const RunClock clock(*run.process);
    Totals totals;
    for (uint32_t index = 0; index < run.threads.size(); index++) {
        std::optional<SampledThread> thread;
        unlocked([&] { return read_samples(run, index, thread); });
        if (!thread) continue;
        totals.n_threads++;
        totals.n_lost += thread->header.n_lost;
        totals.n_dropped += thread->header.n_dropped;
        if (!deliver.is_none()) deliver(to_python(*thread, clock));
    }
    return OMPASS_ROW(PythonSamples, OMPASS_PYTHON_SAMPLES);
}

} // namespace

void bind_samples(nb::module_ &m) {
    m.attr("STACK_WORD") = format::kStackWord >> 48;
    m.attr("NO_VALUE") = format::kNoValue;
    bind_row<PythonSample>(
        m, "Sample",
        "The position of a thread at one moment.\n\n"
        "A word stands for an address: (1 + module) << 48 | ELF virtual address in code, STACK_WORD << 48 | bytes "
        "above the stack pointer in the stack, and 0 elsewhere.");
    bind_row<PythonSampledThread>(m, "SampledThread", "The samples of one thread.");
    bind_row<PythonSamples>(m, "Samples", "A summary of the samples of a run.");
    m.def("read_samples", &read, nb::arg("directory"), nb::arg("deliver") = nb::none(),
          nb::sig("def read_samples(directory: str, "
                  "deliver: collections.abc.Callable[[SampledThread], None] | None = None) -> Samples"),
          "Reads all samples of a run. Passes the samples of each thread to `deliver`, one thread after the other, so "
          "that memory need not hold all of them. A run without samples has no sampled threads. An exception in "
          "`deliver` ends the reading. Raises LogError if a file is damaged.");
}

} // namespace ompass
