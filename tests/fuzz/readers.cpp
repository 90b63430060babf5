// SPDX-License-Identifier: Apache-2.0
#include "readers.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <unistd.h>
#include <vector>

#include "analyses/call_steps.h"
#include "analyses/event_columns.h"
#include "analyses/krd_analysis.h"
#include "analyses/pyramid.h"
#include "analyses/rank_steps.h"
#include "analyses/task_graph.h"
#include "analyses/timeline.h"
#include "analyses/trace_replay.h"
#include "analyses/trace_rows.h"
#include "analyses/validate.h"
#include "format/sample_files.h"
#include "simulation/engine.h"

namespace ompass::fuzz {
namespace {

constexpr uint64_t kMostRecords = 1000, kMostSimulated = 10'000;

std::vector<uint32_t> all_threads(const RunFiles &run) {
    std::vector<uint32_t> threads(run.threads.size());
    std::iota(threads.begin(), threads.end(), 0u);
    return threads;
}

void read_tables(const RunFiles &run) {
    for (size_t table = 0; table < trace_tables().size(); table++) {
        std::vector<size_t> columns(trace_tables()[table].columns.size());
        std::iota(columns.begin(), columns.end(), size_t{0});
        (void)read_rows(run, table, columns, 1000, [](RowBatch &) {});
    }
    EventColumns events;
    (void)read_event_columns(run, {.limit = kMostRecords}, events);
    for (const uint64_t value : events.value) (void)call_step_text(value);
    EventColumns of_thread;
    (void)read_event_columns(run, {.thread = 0, .start_ns = 1000, .end_ns = 1'000'000'000}, of_thread);
    std::vector<uint64_t> counts;
    (void)count_events(run, all_threads(run), 1'000'000'000, 10, counts);
    std::optional<SampledThread> samples;
    for (const uint32_t thread : all_threads(run)) (void)read_samples(run, thread, samples);
}

void read_picture(const RunFiles &run) {
    Pyramid pyramid;
    if (pyramid.open(run.directory, false)) return;
    const std::vector<uint32_t> threads = all_threads(pyramid.run());
    WindowIntervals rows;
    (void)pyramid.read_intervals(threads, 0, pyramid.end_ns(), kMostRecords, rows);
    (void)pyramid.read_moment(threads, pyramid.end_ns() / 2, kMostRecords, rows);
    TileRequest request;
    for (const uint32_t thread : threads) request.rows.push_back({thread});
    request.shift = pyramid.finest_shift();
    request.n_bins = 64;
    for (const auto dimension : {Dimension::kState, Dimension::kConstruct, Dimension::kOffCpu}) {
        request.dimension = dimension;
        std::vector<uint64_t> values;
        (void)pyramid.read_tile(request, values);
    }
    std::vector<TaskPair> pairs;
    bool all = false;
    (void)pyramid.read_dependences(kMostRecords, pairs, all);
    std::vector<LinkedTask> tasks;
    if (!rows.rows.empty())
        (void)pyramid.read_links(rows.rows[0].task, rows.rows[0].thread, pyramid.end_ns() / 2, kMostRecords, tasks);
}

// Stores the pyramid in the directory, reads it from there, and removes it, because other inputs have other runs.
void read_stored_picture(const RunFiles &run) {
    for (int round = 0; round < 2; round++) {
        Pyramid pyramid;
        (void)pyramid.open(run.directory, true);
    }
    unlink((run.directory + "/pyramid.cache").c_str());
}

void read_reuse(const RunFiles &run) {
    KrdSettings settings;
    settings.groups.of_thread.assign(run.threads.size(), 0);
    settings.classes.push_back({1 << 20, 1 << 25});
    KrdResult result;
    (void)analyse_reuse(run, settings, [](double) {}, result);
}

// Reads a sample of the accesses of two cache groups, on two threads.
void read_sampled_reuse(const RunFiles &run) {
    KrdSettings settings;
    settings.groups.n_groups = 2;
    for (size_t thread = 0; thread < run.threads.size(); thread++) settings.groups.of_thread.push_back(thread % 2);
    settings.classes.assign(2, {1 << 20, 1 << 25});
    settings.rate = 0.5;
    settings.n_jobs = 2;
    KrdResult result;
    (void)analyse_reuse(run, settings, [](double) {}, result);
}

void simulate_run(const RunFiles &run) {
    simulation::TaskProgram program;
    if (simulation::extract_program(run, program)) return;
    if (program.n_deferred > kMostSimulated) return;
    simulation::Team team{.n_threads = 3, .progress = {}, .completed = {}};
    team.progress = [n = 0](uint64_t) mutable { return ++n < 100; };
    (void)simulation::simulate(program, {}, *simulation::find_policy("libomp"), team);
}

void read_figures(const RunFiles &run) {
    std::vector<ThreadAccount> accounts = read_accounts(run);
    (void)make_profile(run, accounts, false);
    if (!replay_trace(run, accounts)) (void)make_profile(run, accounts, true);
    (void)validate_run(run.directory);
}

void read_slices_and_steps(const RunFiles &run) {
    SliceColumns slices;
    bool too_many = false;
    (void)read_slices(run, {.threads = {}, .limit = kMostRecords}, slices, too_many);
    RankSteps steps;
    (void)read_rank_steps(run, 0, steps);
}

void read_graph(const RunFiles &run) {
    TaskGraph graph;
    (void)build_task_graph(run, {.expanded = {0, 1, 2}}, graph);
}

constexpr std::array kReaders = {read_figures, read_tables,         read_slices_and_steps, read_graph,  read_picture,
                                 read_reuse,   read_stored_picture, read_sampled_reuse,    simulate_run};

} // namespace

size_t n_readers() { return kReaders.size(); }

void read_by(size_t reader, const std::string &directory) {
    RunFiles run;
    if (!open_run(directory, run)) kReaders[reader](run);
}

} // namespace ompass::fuzz
