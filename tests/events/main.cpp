// SPDX-License-Identifier: Apache-2.0
// Plays random sequences of OMPT events to the tool, and prints the failures as JSON.
//
//   ompass-events --library libompass.so [--first 1] [--sequences 200] [--batch 20] [--directory DIR] [--keep]
//                 [--kind usual|conforming|unknown|disturbed|all] [--at-once] [--mode trace|profile|both]
//
// The program plays each batch of sequences in a process of its own, which is one recorded run. If a batch fails, the
// program plays each of its sequences alone.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "analyses/trace_replay.h"
#include "analyses/validate.h"
#include "made_runtime.h"

namespace ompass::events {

namespace {

constexpr unsigned kLongestSeconds = 240;

// kConforming: any order that OMPT allows. kUnknown: the same with unknown numbers. kDisturbed: kUnknown with
// contradictions. kUsual: libomp's order. kAll: batches of the first three kinds in turn.
enum class Kind : uint8_t { kConforming, kUnknown, kDisturbed, kUsual, kAll };

struct Arguments {
    const char *library = nullptr;
    std::string directory = "/tmp";
    uint64_t first = 1, n_sequences = 200, batch = 20;
    Kind kind = Kind::kAll;
    bool keep = false, at_once = false, traces = true, profiles = true;
};

// Returns the kind of the sequences in a batch.
Kind kind_of(const Arguments &arguments, uint64_t batch) {
    return arguments.kind == Kind::kAll ? static_cast<Kind>(batch % 3) : arguments.kind;
}

Order order_of(Kind kind) {
    if (kind == Kind::kUsual) return Order::kUsual;
    return kind == Kind::kConforming ? Order::kAny : Order::kAnyUnknown;
}

std::string json_text(const std::string &text) {
    std::string made = "\"";
    for (const char c : text)
        if (c == '"' || c == '\\')
            (made += '\\') += c;
        else
            made += c < ' ' ? ' ' : c;
    return made + "\"";
}

void compare(std::vector<std::string> &found, const std::string &what, uint64_t has, uint64_t expected) {
    if (has != expected) found.push_back(what + ": " + std::to_string(has) + ", not " + std::to_string(expected));
}

// Compares the counts of a recorded run with the known counts of its sequences.
void check_counts(const std::string &directory, const Known &known, std::vector<std::string> &found) {
    RunFiles run;
    if (open_run(directory, run)) return;
    std::vector<ThreadAccount> accounts = read_accounts(run);
    Known has;
    for (const ThreadAccount &account : accounts)
        for (const format::ConstructSlot &row : account.constructs) {
            has.n_deferred += row.n_deferred;
            has.n_undeferred += row.n_undeferred;
            has.n_completed += row.n_completed;
            has.n_cancelled += row.n_cancelled;
        }
    for (const ThreadAccount &account : accounts)
        for (const format::RegionSlot &slot : account.regions) has.n_regions += slot.n_primary;
    compare(found, "deferred tasks", has.n_deferred, known.n_deferred);
    compare(found, "undeferred tasks", has.n_undeferred, known.n_undeferred);
    compare(found, "completed tasks", has.n_completed, known.n_completed);
    compare(found, "cancelled tasks", has.n_cancelled, known.n_cancelled);
    compare(found, "regions", has.n_regions, known.n_regions);
}

// True if the run states that its runtime contradicted itself, which explains inexact sums. Nothing explains a trace
// that cannot be read.
bool is_explained(const std::string &directory, const std::vector<std::string> &found) {
    RunFiles run;
    if (open_run(directory, run) || !run.process->n_contradictions) return false;
    return std::ranges::none_of(found,
                                [](const std::string &text) { return text.find("damaged") != std::string::npos; });
}

// Plays one batch in this process. Returns the JSON members that describe it.
std::string play(const Arguments &arguments, uint64_t first, uint64_t n, Kind kind, const std::string &directory) {
    MadeRuntime runtime;
    if (const std::string problem = runtime.start(arguments.library); !problem.empty())
        return "\"problems\": [" + json_text(problem) + "]";
    Known known;
    for (uint64_t seed = first; seed < first + n; seed++) {
        Sequence sequence = conforming_sequence(seed, order_of(kind));
        known += sequence.known;
        if (kind == Kind::kDisturbed) disturb(sequence, seed);
        runtime.play(sequence, kind == Kind::kDisturbed || !arguments.at_once);
    }
    runtime.finish();
    std::vector<std::string> found = validate_run(directory);
    if (kind != Kind::kDisturbed) check_counts(directory, known, found);
    const bool explained = kind == Kind::kDisturbed && !found.empty() && is_explained(directory, found);
    if (explained) found.clear();
    std::string problems;
    for (const std::string &sentence : found) problems += (problems.empty() ? "" : ", ") + json_text(sentence);
    return std::string("\"explained\": ") + (explained ? "true" : "false") + ", \"problems\": [" + problems + "]";
}

struct Outcome {
    std::string text; // JSON object
    bool failed = false, explained = false;
};

// Plays one batch in a process of its own.
Outcome play_apart(const Arguments &arguments, uint64_t first, uint64_t n, Kind kind) {
    const std::string folder = arguments.directory + "/events-" + std::to_string(getpid()) + "-" +
                               std::to_string(first) + "-" + std::to_string(n);
    const std::string directory = folder + "/run.ompass";
    std::filesystem::create_directories(folder);
    int ends[2];
    if (pipe(ends) != 0) abort();
    fflush(stdout);
    const bool trace = arguments.traces && (!arguments.profiles || first / arguments.batch % 4 != 3);
    const pid_t child = fork();
    if (child == 0) {
        alarm(kLongestSeconds);
        setenv("OMPASS_DIR", directory.c_str(), 1);
        setenv("OMPASS_MODE", trace ? "trace" : "profile", 1);
        setenv("OMPASS_SUMMARY", "off", 1);
        const std::string text = play(arguments, first, n, kind, directory);
        const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
        _exit(written ? 0 : 1);
    }
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
        const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        text = std::string("\"problems\": [") +
               json_text(signal == SIGALRM ? "hangs"
                                           : "ends by signal " + std::to_string(signal) + ", exit code " +
                                                 std::to_string(WEXITSTATUS(status))) +
               "]";
    }
    Outcome outcome;
    outcome.failed = status != 0 || text.find("\"problems\": []") == std::string::npos;
    outcome.explained = text.find("\"explained\": true") != std::string::npos;
    if (!arguments.keep) std::filesystem::remove_all(folder);
    static const char *const names[] = {"conforming", "unknown", "disturbed", "usual"};
    outcome.text = "{\"first\": " + std::to_string(first) + ", \"sequences\": " + std::to_string(n) + ", \"kind\": \"" +
                   names[static_cast<size_t>(kind)] + "\", \"mode\": \"" + (trace ? "trace" : "profile") + "\", " +
                   text + "}";
    return outcome;
}

int run(const Arguments &arguments) {
    uint64_t n_failed = 0, n_explained = 0;
    std::string failures;
    const auto note = [&](const std::string &failure) { failures += (failures.empty() ? "\n  " : ",\n  ") + failure; };
    for (uint64_t begin = 0; begin < arguments.n_sequences; begin += arguments.batch) {
        const uint64_t first = arguments.first + begin, n = std::min(arguments.batch, arguments.n_sequences - begin);
        const Kind kind = kind_of(arguments, begin / arguments.batch);
        const Outcome batch = play_apart(arguments, first, n, kind);
        n_explained += batch.explained;
        if (!batch.failed) continue;
        bool any = false;
        for (uint64_t seed = first; n > 1 && seed < first + n; seed++)
            if (const Outcome alone = play_apart(arguments, seed, 1, kind); alone.failed)
                note(alone.text), any = true, n_failed++;
        if (!any) note(batch.text), n_failed++; // a batch of one sequence, or one that fails only as a whole
    }
    printf("{\"sequences\": %llu, \"failed\": %llu, \"explained_batches\": %llu, \"failures\": [%s]}\n",
           static_cast<unsigned long long>(arguments.n_sequences), static_cast<unsigned long long>(n_failed),
           static_cast<unsigned long long>(n_explained), failures.c_str());
    return n_failed != 0;
}

bool parse(int argc, char **argv, Arguments &arguments) {
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        if (name == "--keep") {
            arguments.keep = true;
            continue;
        }
        if (name == "--at-once") {
            arguments.at_once = true;
            continue;
        }
        if (i + 1 == argc) return false;
        const char *value = argv[++i];
        if (name == "--library")
            arguments.library = value;
        else if (name == "--directory")
            arguments.directory = value;
        else if (name == "--first")
            arguments.first = strtoull(value, nullptr, 10);
        else if (name == "--sequences")
            arguments.n_sequences = strtoull(value, nullptr, 10);
        else if (name == "--batch")
            arguments.batch = strtoull(value, nullptr, 10);
        else if (name == "--mode")
            arguments.traces = strcmp(value, "profile") != 0, arguments.profiles = strcmp(value, "trace") != 0;
        else if (name == "--kind")
            arguments.kind = !strcmp(value, "conforming")  ? Kind::kConforming
                             : !strcmp(value, "unknown")   ? Kind::kUnknown
                             : !strcmp(value, "disturbed") ? Kind::kDisturbed
                             : !strcmp(value, "usual")     ? Kind::kUsual
                                                           : Kind::kAll;
        else
            return false;
    }
    return arguments.library && arguments.batch > 0;
}

} // namespace

} // namespace ompass::events

int main(int argc, char **argv) {
    ompass::events::Arguments arguments;
    if (!parse(argc, argv, arguments)) {
        fprintf(stderr, "usage: see the head of tests/events/main.cpp\n");
        return 2;
    }
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    return run(arguments);
}
