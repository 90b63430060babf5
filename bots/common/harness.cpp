// SPDX-License-Identifier: Apache-2.0
//
// Runs a Workload as often as asked for, verifies every repetition and prints the outcome.
#include "harness.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

namespace bots {

namespace {

constexpr int kExitWrong = 1;
constexpr int kExitUsage = 2;

struct Outcome {
    std::vector<double> seconds; // of every repetition, in order
    std::optional<std::uint64_t> n_tasks;
    std::string result;
    std::string complaint; // of the first check that failed; empty when all passed
};

Outcome measure(Workload &workload, int n_repeats) {
    Outcome outcome;
    for (int i = 0; i < n_repeats && outcome.complaint.empty(); i++) {
        workload.prepare();
        const auto start = std::chrono::steady_clock::now();
        workload.run();
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        outcome.seconds.push_back(elapsed.count());
        outcome.complaint = workload.check();
    }
    outcome.n_tasks = workload.n_tasks();
    outcome.result = workload.describe_result();
    return outcome;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Every string in the output is one of our own names: nothing to escape.
void print_json(const ProgramSpec &spec, std::string_view version, const Options &options, bool serial,
                const Outcome &outcome) {
    const auto text = [](std::string_view value) { return '"' + std::string(value) + '"'; };
    std::string json = "{\"program\": " + text(spec.name) + ", \"version\": " + text(version) +
                       ", \"class\": " + text(options.input_class) + ", \"size\": " + std::to_string(options.size);
    if (!spec.extra.name.empty()) json += ", " + text(spec.extra.name) + ": " + std::to_string(options.extra);
    json += ", \"threads\": " + std::to_string(options.n_threads);
    json += ", \"cutoff\": " + (serial ? "null" : text(name_of(options.cutoff)));
    json += ", " + text(spec.cut.name) + ": " +
            (serial || options.cutoff == Cutoff::kNone ? "null" : std::to_string(options.cut));
    json += std::string(", \"tied\": ") + (serial ? "null" : options.untied ? "false" : "true");
    char number[32];
    std::snprintf(number, sizeof number, "%.9f", median(outcome.seconds));
    json += std::string(", \"seconds\": ") + number + ", \"repeats\": [";
    for (std::size_t i = 0; i < outcome.seconds.size(); i++) {
        std::snprintf(number, sizeof number, "%s%.9f", i == 0 ? "" : ", ", outcome.seconds[i]);
        json += number;
    }
    json += "], \"tasks\": " + (outcome.n_tasks ? std::to_string(*outcome.n_tasks) : "null");
    json += std::string(", \"verified\": ") + (outcome.complaint.empty() ? "true" : "false") + "}";
    std::puts(json.c_str());
}

void print_text(const ProgramSpec &spec, std::string_view version, const Options &options, bool serial,
                const Outcome &outcome) {
    std::string input = std::string(spec.size.name) + " " + std::to_string(options.size);
    if (!spec.extra.name.empty()) input += ", " + std::string(spec.extra.name) + " " + std::to_string(options.extra);
    std::printf("%s-%s\n", std::string(spec.name).c_str(), std::string(version).c_str());
    std::printf("  input     %s: %s\n", options.input_class.c_str(), input.c_str());
    if (!serial) {
        const bool has_cut = options.cutoff != Cutoff::kNone;
        const std::string cut = has_cut ? " at " + std::string(spec.cut.name) + " " + std::to_string(options.cut) : "";
        std::printf("  threads   %d, cut-off %s%s, %s\n", options.n_threads,
                    std::string(name_of(options.cutoff)).c_str(), cut.c_str(), options.untied ? "untied" : "tied");
        if (outcome.n_tasks) std::printf("  tasks     %llu\n", static_cast<unsigned long long>(*outcome.n_tasks));
    }
    std::printf("  seconds   %.6f", median(outcome.seconds));
    if (outcome.seconds.size() > 1) {
        const auto [least, most] = std::minmax_element(outcome.seconds.begin(), outcome.seconds.end());
        std::printf(" (median of %zu, from %.6f to %.6f)", outcome.seconds.size(), *least, *most);
    }
    std::printf("\n  result    %s\n", outcome.result.c_str());
    std::printf("  verified  %s\n", outcome.complaint.empty() ? "yes" : "NO");
}

int run_version(int argc, char **argv, const ProgramSpec &spec, std::string_view version, int default_threads,
                const MakeWorkload &make_workload) {
    const std::string program = std::string(spec.name) + "-" + std::string(version);
    const bool serial = default_threads == 0;
    try {
        const Options options = parse_options(argc, argv, spec, default_threads);
        if (options.help) {
            std::fputs(help_text(program, spec, serial).c_str(), stdout);
            return 0;
        }
        const std::unique_ptr<Workload> workload = make_workload(options);
        const Outcome outcome = measure(*workload, options.n_repeats);
        (options.json ? print_json : print_text)(spec, version, options, serial, outcome);
        if (outcome.complaint.empty()) return 0;
        std::fprintf(stderr, "%s: wrong result: %s\n", program.c_str(), outcome.complaint.c_str());
    } catch (const UsageError &error) {
        std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
        return kExitUsage;
    } catch (const std::bad_alloc &) {
        std::fprintf(stderr, "%s: not enough memory for this input\n", program.c_str());
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    }
    return kExitWrong;
}

} // namespace

int serial_main(int argc, char **argv, const ProgramSpec &spec, const MakeWorkload &make_workload) {
    return run_version(argc, argv, spec, "serial", 0, make_workload);
}

int tasks_main(int argc, char **argv, const ProgramSpec &spec, std::string_view version, int default_threads,
               const MakeWorkload &make_workload) {
    return run_version(argc, argv, spec, version, default_threads, make_workload);
}

} // namespace bots
