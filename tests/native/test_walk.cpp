// SPDX-License-Identifier: Apache-2.0
// A walk from a checkpoint must report the same events as a walk from the begin of the log. Tests many checkpoints in
// each thread's log of every golden trace. Also tests the index of each trace.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "events/walker.h"

namespace ompass {
namespace {

namespace fs = std::filesystem;

// Records every reported event, with all values that an observer can ask the walk for.
struct Diary : IndexedObserver {
    using IndexedObserver::IndexedObserver;
    using Entry = std::vector<uint64_t>;

    void note(auto &walk, uint64_t what, std::initializer_list<uint64_t> figures) {
        auto &task = walk.current();
        Entry entry = {what,
                       walk.now(),
                       walk.mark(),
                       static_cast<uint64_t>(walk.activity()),
                       task.id,
                       task.construct,
                       task.owner().id,
                       task.waiting,
                       task.wait_place,
                       walk.part().id,
                       walk.part().n_barriers,
                       walk.domain(),
                       walk.kernels().size(),
                       walk.wait_place(),
                       walk.waited_for(),
                       walk.decoder().n_records()};
        entry.insert(entry.end(), figures);
        entries.push_back(std::move(entry));
    }
    // True if the task's times are defined.
    static bool has_times(const auto &task) { return task.timed || (task.kind != task.kUndeferred && !task.resumed); }
    static uint64_t start(const auto &task) { return has_times(task) ? task.start : 0; }
    static uint64_t ready(const auto &task) { return has_times(task) ? task.ready : 0; }

    void state_interval(auto &walk, format::State state, uint64_t begin, uint64_t end, uint32_t weight) {
        const format::OffCpuTicks absent = walk.off_cpu(begin, end);
        note(walk, 1, {static_cast<uint64_t>(state), begin, end, weight, absent.preempted, absent.blocked});
    }
    void created(auto &walk, uint64_t task, uint32_t construct) {
        const CreationTime creation = walk.date_creation();
        note(walk, 2, {task, construct, creation.begin, creation.time, creation.latest});
    }
    void creation_cost(auto &walk, uint64_t task, uint32_t construct, uint64_t ticks, uint32_t weight) {
        note(walk, 3, {task, construct, ticks, weight});
    }
    void began_undeferred(auto &walk, auto &task) { note(walk, 4, {task.timed, start(task)}); }
    void ended_undeferred(auto &walk, auto &task) { note(walk, 5, {task.timed, start(task)}); }
    void started(auto &walk, auto &task, bool after_others, uint64_t moved) {
        note(walk, 6,
             {task.ready, static_cast<uint64_t>(task.home), task.rescued, after_others, moved,
              walk.waited_for() ? walk.last_gap().idle : 0});
    }
    void suspended(auto &walk, auto &task) { note(walk, 7, {task.id, task.waiting}); }
    void resumed(auto &walk, auto &, bool here) { note(walk, 8, {here}); }
    void completed(auto &walk, auto &task, bool detached) { note(walk, 9, {ready(task), start(task), detached}); }
    void began_wait(auto &walk, uint32_t kind) { note(walk, 10, {kind}); }
    void ended_wait(auto &walk, uint32_t kind) {
        const GapAtEnd &gap = walk.last_gap();
        note(walk, 11, {kind, walk.current().wait_begin, gap.until_arrival, gap.idle, gap.is_long});
    }
    void got_lock(auto &walk, uint32_t kind, uint64_t asked) { note(walk, 12, {kind, asked}); }
    void ended_region(auto &walk, auto &part, uint32_t team_size) { note(walk, 13, {part.begin, team_size}); }
    void ended_implicit(auto &walk, auto &task, bool worker) { note(walk, 14, {start(task), worker}); }
    void began_loop(auto &walk, const OpenLoop &loop, uint64_t n) { note(walk, 15, {loop.construct, n}); }
    void ended_loop(auto &walk, const OpenLoop &loop, uint64_t n_chunks, uint64_t n_taken) {
        note(walk, 16, {loop.construct, loop.begin, n_chunks, n_taken});
    }
    void ended_kernel(auto &walk, const OpenKernel &kernel, uint32_t construct) {
        note(walk, 17, {construct, kernel.begin, kernel.read_bytes, kernel.off_cpu.preempted, kernel.off_cpu.blocked});
    }
    void off_cpu(auto &walk, const OffCpuInterval &absence) { note(walk, 18, {absence.begin, absence.end}); }

    std::vector<Entry> entries;
};

class GoldenTraces : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "ompass-golden-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        for (const auto &entry : fs::directory_iterator(OMPASS_GOLDEN_TRACES))
            if (entry.path().extension() == ".xz") {
                const std::string unpack =
                    "cd '" + name + "' && '" OMPASS_CMAKE "' -E tar xf '" + entry.path().string() + "'";
                ASSERT_EQ(std::system(unpack.c_str()), 0) << entry.path();
            }
    }
    void TearDown() override { fs::remove_all(folder_); }

    fs::path folder_;
};

void check_thread(const RunFiles &run, const TraceIndex &index, uint32_t thread) {
    using Walk = ThreadWalk<Diary>;
    struct Place {
        Walk::Checkpoint at;
        size_t n_entries;
    };
    constexpr uint64_t kPlaces = 60;
    Diary whole(index);
    Walk walk(run, thread, whole);
    std::vector<Place> places;
    EventDecoder counting(run.threads[thread], thread);
    for (EventRecord record; counting.next(record);) {}
    const uint64_t spacing = counting.n_records() / kPlaces + 1;
    while (walk.advance()) {
        ASSERT_TRUE(walk.apply());
        if (walk.decoder().n_records() % spacing == 0) places.push_back({walk.checkpoint(), whole.entries.size()});
    }
    walk.finish();
    for (const Place &place : places) {
        Diary rest(index);
        Walk later(run, thread, rest);
        ASSERT_TRUE(later.restore(place.at));
        ASSERT_FALSE(walk_thread(later));
        ASSERT_EQ(rest.entries.size(), whole.entries.size() - place.n_entries);
        for (size_t i = 0; i < rest.entries.size(); i++)
            ASSERT_EQ(rest.entries[i], whole.entries[place.n_entries + i])
                << "from record " << place.at.place.n_records;
    }
}

// Calls check(run, index) for every golden trace. Returns their number.
template <typename Check>
unsigned for_each_trace(const fs::path &folder, TraceIndex::Creations creations, Check &&check) {
    unsigned n_runs = 0;
    for (const auto &entry : fs::directory_iterator(folder)) {
        SCOPED_TRACE(entry.path().filename());
        RunFiles run;
        EXPECT_FALSE(open_run(entry.path().string(), run));
        if (lacks_trace(run)) continue;
        TraceIndex index;
        index.creations = creations;
        EXPECT_FALSE(read_trace_index(run, index));
        check(run, index);
        n_runs++;
    }
    return n_runs;
}

TEST_F(GoldenTraces, DependencesJoinTasksThatTheTraceCreates) {
    unsigned n_pairs = 0;
    for_each_trace(folder_, TraceIndex::Creations::kWithDoubt, [&](const RunFiles &run, const TraceIndex &index) {
        EXPECT_FALSE(for_each_dependence(run, [&](uint64_t before, uint64_t after) {
            EXPECT_NE(index.created_at(before), 0u);
            EXPECT_NE(index.created_at(after), 0u);
            EXPECT_LE(index.created_at(before), index.created_latest(after));
            n_pairs++;
            return true;
        }));
    });
    EXPECT_GT(n_pairs, 100u);
}

TEST_F(GoldenTraces, AnIndexOfEarliestTimesHasTheTimesOfAFullOne) {
    unsigned n_tasks = 0;
    for_each_trace(folder_, TraceIndex::Creations::kWithDoubt, [&](const RunFiles &run, TraceIndex &whole) {
        TraceIndex earliest;
        earliest.creations = TraceIndex::Creations::kEarliest;
        ASSERT_FALSE(read_trace_index(run, earliest));
        for (size_t thread = 0; thread < run.threads.size(); thread++) {
            EXPECT_EQ(earliest.created.of_thread(thread), whole.created.of_thread(thread));
            n_tasks += whole.created.of_thread(thread).size();
        }
    });
    EXPECT_GT(n_tasks, 1000u);
}

TEST_F(GoldenTraces, AWalkFromACheckpointEqualsAWalkFromTheBegin) {
    const auto check = [](const RunFiles &run, const TraceIndex &index) {
        for (uint32_t thread = 0; thread < run.threads.size(); thread++)
            if (run.threads[thread].header) check_thread(run, index, thread);
    };
    EXPECT_GT(for_each_trace(folder_, TraceIndex::Creations::kWithDoubt, check), 30u);
}

} // namespace
} // namespace ompass
