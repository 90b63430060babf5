// SPDX-License-Identifier: Apache-2.0
// Prints the summary. All figures come from the profile reader.
#include "summary.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "format/run_profile.h"
#include "messages.h"

namespace ompass {

namespace {

constexpr size_t kStateCount = format::kStates;
constexpr size_t kConstructLines = 5;

struct Totals {
    uint64_t thread_time_ns = 0, wall_ns = 0, n_tasks = 0, max_team_size = 0;
    uint64_t state_ns[kStateCount] = {};
};

Totals totals_of(const RunProfile &profile, bool outside) {
    Totals totals;
    for (const RegionRow &row : profile.regions) {
        totals.n_tasks += row.n_tasks;
        if ((row.construct < 0) != outside) continue;
        totals.thread_time_ns += row.total_ns;
        if (row.level <= 1) totals.wall_ns += row.wall_ns;
        totals.max_team_size = std::max(totals.max_team_size, row.max_team_size);
        const uint64_t states[] = {row.work_ns, row.create_ns, row.schedule_ns, row.sync_ns,
                                   row.idle_ns, row.mpi_ns,    row.offload_ns};
        for (size_t i = 0; i < kStateCount; i++) totals.state_ns[i] += states[i];
    }
    for (const RegionRow &row : profile.helper_regions) totals.n_tasks += row.n_tasks;
    return totals;
}

std::string place_of(const RunFiles &run, int32_t id) {
    const Definition &definition = run.definitions[static_cast<size_t>(id)];
    if (!definition.name.empty()) return definition.name;
    char offset[32];
    snprintf(offset, sizeof offset, "+0x%" PRIx64, definition.address);
    if (definition.module >= run.modules.size()) return offset;
    const std::string &path = run.modules[definition.module].path;
    return path.substr(path.rfind('/') + 1) + offset;
}

std::string time_text(double ns) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    while (ns >= 1000 && unit < 3) ns /= 1000, unit++;
    char text[32];
    snprintf(text, sizeof text, "%.3g %s", ns, units[unit]);
    return text;
}

void append_constructs(const RunFiles &run, const RunProfile &profile, std::string &text) {
    struct Sum {
        int32_t id;
        uint64_t n_tasks, work_ns;
    };
    std::vector<Sum> sums;
    for (const ConstructRow &row : profile.constructs) {
        auto sum = std::find_if(sums.begin(), sums.end(), [&](const Sum &s) { return s.id == row.construct; });
        if (sum == sums.end()) sum = sums.insert(sum, {row.construct, 0, 0});
        sum->n_tasks += row.n_completed;
        sum->work_ns += row.work_ns;
    }
    std::sort(sums.begin(), sums.end(), [](const Sum &a, const Sum &b) { return a.work_ns > b.work_ns; });
    for (size_t i = 0; i < sums.size() && i < kConstructLines; i++) {
        if (sums[i].n_tasks == 0) continue;
        char line[96];
        snprintf(line, sizeof line, "  %12" PRIu64 " x %-9s work %-9s ", sums[i].n_tasks,
                 time_text(static_cast<double>(sums[i].work_ns) / static_cast<double>(sums[i].n_tasks)).c_str(),
                 time_text(static_cast<double>(sums[i].work_ns)).c_str());
        text += line + place_of(run, sums[i].id) + "\n";
    }
}

} // namespace

void print_summary(const std::string &directory) {
    RunFiles run;
    if (open_run(directory, run)) return;
    std::vector<ThreadAccount> accounts = read_accounts(run);
    const RunProfile profile = make_profile(run, accounts, false);
    Totals totals = totals_of(profile, false);
    if (totals.thread_time_ns == 0 && profile.constructs.empty()) return;
    if (totals.thread_time_ns == 0) totals = totals_of(profile, true);
    char line[512];
    snprintf(line, sizeof line,
             "ompass: %" PRIu64 " tasks; %s in parallel regions of at most %" PRIu64 " threads, %s in all\n",
             totals.n_tasks, time_text(static_cast<double>(totals.wall_ns)).c_str(), totals.max_team_size,
             time_text(static_cast<double>(profile.wall_ns)).c_str());
    std::string text = line;
    for (size_t i = 0; i < kStateCount; i++) {
        if (i > static_cast<size_t>(format::State::kIdle) && totals.state_ns[i] == 0) continue;
        const double part = totals.thread_time_ns
                                ? static_cast<double>(totals.state_ns[i]) / static_cast<double>(totals.thread_time_ns)
                                : 0;
        snprintf(line, sizeof line, "  %-9s%6.1f%%  %-9s%s\n", format::kStateNames[i], 100 * part,
                 time_text(static_cast<double>(totals.state_ns[i])).c_str(),
                 i == 1 && profile.create_estimated ? " (estimate)" : "");
        text += line;
    }
    append_constructs(run, profile, text);
    text += "  report: ompass report " + directory + "\n";
    print(text);
}

} // namespace ompass
