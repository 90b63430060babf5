// SPDX-License-Identifier: Apache-2.0
// Runs a Workload --repeat times, verifies every repetition and prints the outcome.
#include "harness.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

#include "ompass.h"

namespace bots {

namespace {

constexpr int kExitWrong = 1;
constexpr int kExitUsage = 2;

struct Outcome {
    std::vector<double> seconds; // time of every repetition, in order
    std::optional<std::uint64_t> n_tasks;
    std::optional<double> n_units;
    std::string result;
    std::string complaint; // the message of the first check that failed; empty when all passed
};

Outcome measure(Workload &workload, int n_repeats) {
    Outcome outcome;
    for (int i = 0; i < n_repeats && outcome.complaint.empty(); i++) {
        workload.prepare();
        const auto start = std::chrono::steady_clock::now();
        workload.run();
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        outcome.seconds.push_back(elapsed.count());
        ompass_phase("verification");
        outcome.complaint = workload.check();
        ompass_phase("");
    }
    outcome.n_tasks = workload.n_tasks();
    outcome.n_units = workload.n_units();
    outcome.result = workload.describe_result();
    return outcome;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string number_text(const char *format, double value) {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

// Returns a JSON string. All strings of the output come from the programs' sources and need no escapes.
std::string json_text(std::string_view value) { return '"' + std::string(value) + '"'; }

template <std::size_t kN>
std::string json_of(const std::array<Parameter, kN> &parameters, const std::array<std::int64_t, kN> &values) {
    std::string json = "{";
    for (std::size_t i = 0; i < kN; i++) {
        if (!parameters[i].exists()) continue;
        const std::string value = value_text(parameters[i], values[i]);
        json += (json.size() > 1 ? ", " : "") + json_text(parameters[i].name) + ": " +
                (parameters[i].has_choices() ? json_text(value) : value);
    }
    return json + "}";
}

void print_json(const ProgramSpec &spec, const Version &version, const Options &options, const Outcome &outcome) {
    const bool has_cut = !version.is_serial() && options.cutoff != Cutoff::kNone;
    std::string json = "{\"program\": " + json_text(spec.name) + ", \"version\": " + json_text(version.name);
    json += ", \"class\": " + json_text(options.input_class) + ", \"inputs\": " + json_of(spec.inputs, options.inputs);
    json += ", \"threads\": " + std::to_string(options.n_threads);
    json += ", \"cutoff\": " + (version.is_serial() ? "null" : json_text(name_of(options.cutoff)));
    json += ", \"cuts\": " + (has_cut ? json_of(spec.cuts, options.cuts) : "{}");
    json += std::string(", \"tied\": ") + (version.is_serial() || !version.has_untied ? "null"
                                           : options.untied                           ? "false"
                                                                                      : "true");
    json += ", \"seconds\": " + number_text("%.9f", median(outcome.seconds)) + ", \"repeats\": [";
    for (std::size_t i = 0; i < outcome.seconds.size(); i++)
        json += (i == 0 ? "" : ", ") + number_text("%.9f", outcome.seconds[i]);
    json += "], \"tasks\": " + (outcome.n_tasks ? std::to_string(*outcome.n_tasks) : "null");
    json += ", \"unit\": " + json_text(spec.unit);
    json += ", \"units\": " + (outcome.n_units ? number_text("%.17g", *outcome.n_units) : "null");
    json += std::string(", \"verified\": ") + (outcome.complaint.empty() ? "true" : "false") + "}";
    std::puts(json.c_str());
}

template <std::size_t kN>
std::string json_of(const std::array<Parameter, kN> &parameters) {
    std::string json = "{";
    for (const Parameter &parameter : parameters)
        if (parameter.exists())
            json += (json.size() > 1 ? ", " : "") + json_text(parameter.name) + ": " + json_text(parameter.meaning);
    return json + "}";
}

// Prints the program's inputs and options as JSON, for `./run suite`.
void print_description(const ProgramSpec &spec, const Version &version) {
    std::string cutoffs;
    for (std::size_t i = 0; i < kCutoffNames.size() && !version.is_serial(); i++)
        if (cutoffs_of(spec, version).has(static_cast<Cutoff>(i)))
            cutoffs += (cutoffs.empty() ? "" : ", ") + json_text(kCutoffNames[i]);
    const std::string json = "{\"program\": " + json_text(spec.name) + ", \"version\": " + json_text(version.name) +
                             ", \"purpose\": " + json_text(spec.purpose) + ", \"unit\": " + json_text(spec.unit) +
                             ", \"inputs\": " + json_of(spec.inputs) + ", \"cuts\": " + json_of(spec.cuts) +
                             ", \"serial\": " + (version.is_serial() ? "true" : "false") + ", \"cutoffs\": [" +
                             cutoffs +
                             "], \"untied\": " + (version.has_untied && !version.is_serial() ? "true" : "false") + "}";
    std::puts(json.c_str());
}

template <std::size_t kN>
std::string text_of(const std::array<Parameter, kN> &parameters, const std::array<std::int64_t, kN> &values) {
    std::string text;
    for (std::size_t i = 0; i < kN; i++)
        if (parameters[i].exists())
            text += (text.empty() ? "" : ", ") + std::string(parameters[i].name) + " " +
                    value_text(parameters[i], values[i]);
    return text;
}

void print_text(const ProgramSpec &spec, const Version &version, const Options &options, const Outcome &outcome) {
    std::printf("%s-%s\n", std::string(spec.name).c_str(), std::string(version.name).c_str());
    std::printf("  input     %s: %s\n", options.input_class.c_str(), text_of(spec.inputs, options.inputs).c_str());
    if (!version.is_serial()) {
        std::string cut = options.cutoff == Cutoff::kNone ? "" : text_of(spec.cuts, options.cuts);
        if (!cut.empty()) cut.insert(0, " at ");
        const char *const kind = !version.has_untied ? "" : options.untied ? ", untied" : ", tied";
        std::printf("  threads   %d, cut-off %s%s%s\n", options.n_threads, std::string(name_of(options.cutoff)).c_str(),
                    cut.c_str(), kind);
        if (outcome.n_tasks) std::printf("  tasks     %llu\n", static_cast<unsigned long long>(*outcome.n_tasks));
    }
    const double seconds = median(outcome.seconds);
    std::printf("  seconds   %.6f", seconds);
    if (outcome.seconds.size() > 1) {
        const auto [least, most] = std::minmax_element(outcome.seconds.begin(), outcome.seconds.end());
        std::printf(" (median of %zu, from %.6f to %.6f)", outcome.seconds.size(), *least, *most);
    }
    if (outcome.n_units && *outcome.n_units > 0)
        std::printf(", %.3g ns per %s", 1e9 * seconds / *outcome.n_units, std::string(spec.unit).c_str());
    std::printf("\n  result    %s\n", outcome.result.c_str());
    std::printf("  verified  %s\n", outcome.complaint.empty() ? "yes" : "NO");
}

} // namespace

int run_version(int argc, char **argv, const ProgramSpec &spec, const Version &version,
                const MakeWorkload &make_workload) {
    const std::string program = std::string(spec.name) + "-" + std::string(version.name);
    try {
        const Options options = parse_options(argc, argv, spec, version);
        if (options.help) {
            std::fputs(help_text(spec, version).c_str(), stdout);
            return 0;
        }
        if (options.describe) {
            print_description(spec, version);
            return 0;
        }
        const bool verifies = !options.verify_threads.empty();
        for (const Options &variant :
             verifies ? variants_of(options, argc, argv, spec, version) : std::vector<Options>{options}) {
            const std::unique_ptr<Workload> workload = make_workload(variant);
            const Outcome outcome = measure(*workload, variant.n_repeats);
            (variant.json ? print_json : print_text)(spec, version, variant, outcome);
            if (outcome.complaint.empty()) continue;
            std::fprintf(stderr, "%s: wrong result: %s\n", program.c_str(), outcome.complaint.c_str());
            return kExitWrong;
        }
        return 0;
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

} // namespace bots
