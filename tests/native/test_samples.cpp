// SPDX-License-Identifier: Apache-2.0
// Tests samples of loads, which few machines offer, on synthetic rings and descriptions of events. The rings have the
// layout of perf_event_open(2), and the descriptions have the layout of sysfs.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "format/sample_files.h"
#include "log/log_file.h"
#include "perf/load_event.h"
#include "perf/sample_weights.h"
#include "perf/samples.h"
#include "process/clock.h"

namespace ompass {
namespace {

namespace fs = std::filesystem;
using format::LoadSource;

class Made : public testing::Test {
protected:
    void SetUp() override {
        std::string path = testing::TempDir() + "ompass-samples-XXXXXX";
        directory_ = mkdtemp(path.data());
    }
    void TearDown() override { fs::remove_all(directory_); }
    void write(const std::string &name, const std::string &text) const {
        fs::create_directories(fs::path(directory_ + "/" + name).parent_path());
        std::ofstream(directory_ + "/" + name) << text << '\n';
    }

    std::string directory_;
};

// ---------------------------------------------------------------- events

using Events = Made;

TEST_F(Events, of_intel_are_mem_loads) {
    write("cpu/type", "4");
    write("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
    write("cpu/format/event", "config:0-7");
    write("cpu/format/umask", "config:8-15");
    write("cpu/format/ldlat", "config1:0-15");
    const auto event = find_load_event(directory_);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, 4u);
    EXPECT_EQ(event->config, 0x1cdu);
    EXPECT_EQ(event->config1, 3u);
    EXPECT_TRUE(event->precise_ip > 0 && event->exclude_kernel);
}

TEST_F(Events, of_processors_with_two_kinds_of_cores_are_the_large_cores_events) {
    write("cpu_core/type", "10");
    write("cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3,offcore");
    write("cpu_core/format/event", "config:0-7");
    write("cpu_core/format/umask", "config:8-11,16-19"); // bits in two places
    write("cpu_core/format/ldlat", "config1:0-15");
    write("cpu_core/format/offcore", "config2:5");
    const auto event = find_load_event(directory_);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, 10u);
    EXPECT_EQ(event->config, 0x1cdu);
    EXPECT_EQ(event->config2, 1u << 5);
}

TEST_F(Events, of_amd_are_its_sampled_ops) {
    write("ibs_op/type", "9");
    write("ibs_op/format/cnt_ctl", "config:19");
    auto event = find_load_event(directory_);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, 9u);
    EXPECT_EQ(event->config, 1u << 19);
    EXPECT_EQ(event->period_unit, 16u);
    EXPECT_FALSE(event->exclude_kernel) << "this kernel cannot exclude itself";
    write("ibs_op/format/swfilt", "config2:0");
    event = find_load_event(directory_);
    EXPECT_EQ(event->config2, 1u);
    EXPECT_TRUE(event->exclude_kernel);
}

TEST_F(Events, with_unknown_descriptions_are_refused) {
    EXPECT_FALSE(find_load_event(directory_));
    EXPECT_FALSE(find_load_event(directory_ + "/nowhere"));
    write("cpu/events/mem-loads", "event=0xcd");
    EXPECT_FALSE(find_load_event(directory_)) << "no type";
    write("cpu/type", "4");
    EXPECT_FALSE(find_load_event(directory_)) << "no format";
    for (const char *format :
         {"config", "config9:0-7", "config:0-99", "config:7-0", "config:0-3", "config:x", "config:0;7"}) {
        write("cpu/format/event", format);
        EXPECT_FALSE(find_load_event(directory_)) << format;
    }
    write("cpu/format/event", "config:0-7");
    EXPECT_TRUE(find_load_event(directory_));
    write("cpu/events/mem-loads", "event=many");
    EXPECT_FALSE(find_load_event(directory_));
}

// ---------------------------------------------------------------- sources

constexpr uint64_t source_of(uint64_t level, uint64_t number = 0, bool is_remote = false, uint64_t hops = 0,
                             uint64_t snoop = 0) {
    return PERF_MEM_OP_LOAD | level << PERF_MEM_LVL_SHIFT | snoop << PERF_MEM_SNOOP_SHIFT |
           number << PERF_MEM_LVLNUM_SHIFT | static_cast<uint64_t>(is_remote) << PERF_MEM_REMOTE_SHIFT |
           hops << PERF_MEM_HOPS_SHIFT;
}

TEST(Sources, are_decoded_from_the_bits_of_linux) {
    struct {
        uint64_t bits;
        LoadSource source;
    } const known[] = {
        {source_of(PERF_MEM_LVL_NA), LoadSource::kUnknown},
        {source_of(PERF_MEM_LVL_L1 | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_L1), LoadSource::kL1},
        {source_of(PERF_MEM_LVL_LFB | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_LFB), LoadSource::kUnderWay},
        {source_of(PERF_MEM_LVL_L2 | PERF_MEM_LVL_HIT), LoadSource::kL2},
        {source_of(0, PERF_MEM_LVLNUM_L2), LoadSource::kL2},
        {source_of(PERF_MEM_LVL_L3 | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_L3), LoadSource::kL3},
        {source_of(PERF_MEM_LVL_L3 | PERF_MEM_LVL_MISS), LoadSource::kUnknown},
        {source_of(PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_HIT, PERF_MEM_LVLNUM_RAM), LoadSource::kMemory},
        {source_of(0, PERF_MEM_LVLNUM_RAM), LoadSource::kMemory},
        {source_of(PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_HIT), LoadSource::kOtherNode},
        {source_of(PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_HIT), LoadSource::kOtherNode},
        {source_of(0, PERF_MEM_LVLNUM_L3, true), LoadSource::kOtherNode},
        {source_of(0, PERF_MEM_LVLNUM_ANY_CACHE, true, PERF_MEM_HOPS_0), LoadSource::kL3},
        {source_of(0, PERF_MEM_LVLNUM_ANY_CACHE, true, PERF_MEM_HOPS_1), LoadSource::kOtherNode},
        {source_of(0, PERF_MEM_LVLNUM_RAM, true, PERF_MEM_HOPS_1), LoadSource::kOtherNode},
    };
    for (const auto &[bits, source] : known) EXPECT_EQ(format::load_source(bits), source) << std::hex << bits;
    EXPECT_TRUE(format::was_modified(source_of(PERF_MEM_LVL_L3, 0, false, 0, PERF_MEM_SNOOP_HITM)));
    EXPECT_FALSE(format::was_modified(source_of(PERF_MEM_LVL_L3, 0, false, 0, PERF_MEM_SNOOP_HIT)));
    EXPECT_TRUE(format::is_load(source_of(0)));
    EXPECT_FALSE(format::is_load(PERF_MEM_OP_STORE));
    EXPECT_FALSE(format::is_load(PERF_MEM_OP_NA));
}

// ---------------------------------------------------------------- rings

constexpr size_t kRingBytes = 16 << 10, kPageBytes = 4096;
#if defined(__x86_64__)
constexpr size_t kRegisters = 17;
#else
constexpr size_t kRegisters = 33;
#endif

// The kernel's control page, followed by records.
class MadeRing {
public:
    // `begin`: number of bytes that were written and read earlier.
    explicit MadeRing(uint64_t begin = 0) {
        void *memory =
            mmap(nullptr, kPageBytes + kRingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        page_ = static_cast<perf_event_mmap_page *>(memory);
        page_->data_offset = kPageBytes;
        page_->data_size = kRingBytes;
        page_->data_head = page_->data_tail = begin;
        ring_.open_on(page_, kRingBytes);
    }
    PerfRing &ring() { return ring_; }

    void add(std::vector<uint64_t> words, uint16_t misc = PERF_RECORD_MISC_USER, uint32_t type = PERF_RECORD_SAMPLE) {
        words.insert(words.begin(),
                     static_cast<uint64_t>((words.size() + 1) * 8) << 48 | static_cast<uint64_t>(misc) << 32 | type);
        for (const uint64_t word : words) {
            memcpy(reinterpret_cast<char *>(page_) + kPageBytes + page_->data_head % kRingBytes, &word, sizeof word);
            page_->data_head += sizeof word;
        }
    }

private:
    perf_event_mmap_page *page_;
    PerfRing ring_;
};

// Returns the words of a sample in the kernel's order: time, addr, callchain, registers, stack, weight, data_src.
std::vector<uint64_t> load_words(uint64_t time, uint64_t address, uint64_t cycles, uint64_t source,
                                 uint64_t stack_bytes = 1024, bool has_registers = true) {
    std::vector<uint64_t> words = {time, address, 2, static_cast<uint64_t>(PERF_CONTEXT_USER), 0x1234};
    words.push_back(has_registers ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
    if (has_registers) words.insert(words.end(), kRegisters, 0x7000);
    words.push_back(stack_bytes);
    if (stack_bytes) {
        words.insert(words.end(), stack_bytes / 8, 0x7010);
        words.push_back(stack_bytes);
    }
    words.push_back(cycles);
    words.push_back(source);
    return words;
}

TEST(SampleWeights, represent_the_time_of_all_periods) {
    SampleWeights weights;
    uint32_t sum = 0;
    for (int i = 0; i < 1000; i++) sum += weights.next(i % 2 ? 9 : 11, 10);
    EXPECT_EQ(sum, 1000u);
}

TEST(SampleWeights, represent_time_outside_of_windows_in_proportion_to_their_periods) {
    SampleWeights weights;
    weights.add_outside(100, 11);
    EXPECT_EQ(weights.next(4, 1), 48u); // 4, and 11 times 4
    EXPECT_EQ(weights.next(4, 1), 48u);
    EXPECT_EQ(weights.next(4, 1), 16u); // the rest of the 100
    EXPECT_EQ(weights.next(4, 1), 4u);
}

TEST(SampleWeights, carry_time_outside_of_windows_to_later_samples) {
    SampleWeights weights;
    weights.add_outside(100, 11);
    EXPECT_EQ(weights.next(4, 1), 48u);
    weights.add_outside(10, 11);
    EXPECT_EQ(weights.next(4, 1), 48u);
    EXPECT_EQ(weights.next(4, 1), 26u); // 100 and 10, less 88
    weights.add_outside(50, 11);
    weights.forget_outside();
    EXPECT_EQ(weights.next(4, 1), 4u);
}

class Rings : public Made {
protected:
    void SetUp() override {
        Made::SetUp();
        clock::initialize();
        clock::set_rate(clock::read_both());
    }
    // Takes all records from the ring, and returns the contents of the log.
    SampledThread taken(MadeRing &made, format::SampleEvent event = format::SampleEvent::kOps) {
        const std::string directory = directory_;
        {
            Samples samples;
            samples.open_on(made.ring(), event, directory, 0);
            samples.take_until(clock::now(), {static_cast<uint8_t>(format::State::kWork), false, 1, 2, 3});
            EXPECT_EQ(samples.page()->data_head, samples.page()->data_tail);
            samples.close();
        }
        RunFiles run;
        run.directory = directory;
        run.threads.resize(1);
        std::optional<SampledThread> thread;
        const Problem problem = read_samples(run, 0, thread);
        EXPECT_FALSE(problem) << problem.what;
        return thread.value_or(SampledThread());
    }
};

constexpr uint64_t kFromMemory = source_of(PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_HIT);

TEST_F(Rings, of_loads_keep_address_cycles_and_source_with_the_place) {
    MadeRing made;
    made.add(load_words(clock::monotonic_ns() - 2000, 0x7f00'1000, 321, kFromMemory));
    made.add(load_words(clock::monotonic_ns() - 1000, 0x7f00'2000, 4, source_of(PERF_MEM_LVL_L1 | PERF_MEM_LVL_HIT)));
    const SampledThread thread = taken(made);
    EXPECT_EQ(thread.header.event, format::SampleEvent::kOps);
    ASSERT_EQ(thread.samples.size(), 2u);
    const Sample &first = thread.samples[0];
    EXPECT_EQ(first.load.address, 0x7f00'1000u);
    EXPECT_EQ(first.load.cycles, 321u);
    EXPECT_EQ(first.load.source, kFromMemory);
    EXPECT_EQ(first.head.region, 1u);
    EXPECT_EQ(first.head.construct, 2u);
    EXPECT_EQ(first.head.kernel, 3u);
    EXPECT_EQ(first.head.weight, 1u);
    EXPECT_EQ(first.chain.size(), 1u) << "context markers are not addresses";
    EXPECT_EQ(first.stack.size(), 128u) << "words that point into the stack are kept";
    EXPECT_EQ(first.values, std::vector<uint64_t>(kRegisters - 1, 0x7000));
    EXPECT_LT(first.head.time, thread.samples[1].head.time);
    EXPECT_EQ(thread.samples[1].load.cycles, 4u);
}

TEST_F(Rings, without_registers_or_stack_have_loads_at_the_right_offset) {
    MadeRing made;
    made.add(load_words(clock::monotonic_ns(), 1, 11, kFromMemory, 0));
    made.add(load_words(clock::monotonic_ns(), 2, 22, kFromMemory, 0, false));
    const SampledThread thread = taken(made);
    ASSERT_EQ(thread.samples.size(), 2u);
    for (uint64_t k = 0; k < 2; k++) {
        EXPECT_EQ(thread.samples[k].load.cycles, 11 * (k + 1));
        EXPECT_EQ(thread.samples[k].load.source, kFromMemory);
        EXPECT_TRUE(thread.samples[k].stack.empty());
    }
    EXPECT_EQ(thread.samples[1].values, std::vector<uint64_t>(kRegisters - 1, format::kNoValue));
}

TEST_F(Rings, skip_samples_without_loads_and_loads_of_the_kernel) {
    MadeRing made;
    const uint64_t now = clock::monotonic_ns();
    made.add(load_words(now, 1, 0, PERF_MEM_OP_STORE));
    made.add(load_words(now, 2, 0, PERF_MEM_OP_NA));
    made.add(load_words(now, 3, 9, kFromMemory), PERF_RECORD_MISC_KERNEL);
    made.add({0, 5}, 0, PERF_RECORD_LOST);
    made.add(load_words(now, 4, 9, kFromMemory));
    const SampledThread thread = taken(made);
    ASSERT_EQ(thread.samples.size(), 1u);
    EXPECT_EQ(thread.samples[0].load.address, 4u);
    EXPECT_EQ(thread.header.n_lost, 5u);
}

TEST_F(Rings, are_read_around_their_end) {
    MadeRing made(kRingBytes * 3 - 400); // the ring ends in the middle of the first record
    for (uint64_t k = 0; k < 8; k++) made.add(load_words(clock::monotonic_ns(), k, k, kFromMemory));
    const SampledThread thread = taken(made);
    ASSERT_EQ(thread.samples.size(), 8u);
    for (uint64_t k = 0; k < 8; k++) EXPECT_EQ(thread.samples[k].load.cycles, k);
}

TEST_F(Rings, with_truncated_records_do_no_harm) {
    const std::vector<uint64_t> whole = load_words(clock::monotonic_ns(), 1, 2, kFromMemory);
    MadeRing made;
    for (size_t n : {2u, 3u, 5u, 9u, 40u}) {
        std::vector<uint64_t> cut(whole.begin(), whole.begin() + static_cast<long>(n));
        made.add(cut);
    }
    made.add(whole);
    const SampledThread thread = taken(made);
    ASSERT_GE(thread.samples.size(), 1u);
    EXPECT_EQ(thread.samples.back().load.cycles, 2u);
}

TEST_F(Rings, that_the_kernel_refuses_to_open_again_are_reported_once) {
    const Sampling sampling;
    Samples samples;
    if (samples.open(sampling, directory_, 1, static_cast<uint32_t>(gettid()))) GTEST_SKIP() << "no samples here";
    samples.suspend();
    rlimit files, none;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = {0, files.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    const int first = samples.resume(), second = samples.resume();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    EXPECT_EQ(first, EMFILE);
    EXPECT_EQ(second, 0);
    samples.close();
}

TEST_F(Rings, of_time_have_no_loads) {
    MadeRing made;
    std::vector<uint64_t> words = load_words(clock::monotonic_ns(), 0, 0, 0);
    words.erase(words.begin() + 1); // no address
    words.resize(words.size() - 2); // no cycles and no source
    made.add(words);
    uint64_t &first_register = words[words.size() - 130 - kRegisters];
    for (const uint64_t value : {uint64_t{1} << 48, ~uint64_t{0}, ~uint64_t{0} - 7, (uint64_t{1} << 47) - 1}) {
        first_register = value;
        made.add(words);
    }
    const SampledThread thread = taken(made, format::SampleEvent::kTaskClock);
    ASSERT_EQ(thread.samples.size(), 5u);
    EXPECT_EQ(thread.samples[1].values.front(), format::kNoValue) << "not an address";
    EXPECT_EQ(thread.samples[2].values.front(), format::kNoValue);
    EXPECT_EQ(thread.samples[3].values.front(), ~uint64_t{0} - 7) << "a negative index";
    EXPECT_EQ(thread.samples[4].values.front(), (uint64_t{1} << 47) - 1);
    EXPECT_EQ(thread.samples[0].values.front(), 0x7000u);
    EXPECT_EQ(thread.samples[0].load.source, 0u);
    EXPECT_EQ(thread.samples[0].stack.size(), 128u);
}

} // namespace
} // namespace ompass
