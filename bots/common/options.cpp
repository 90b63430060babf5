// SPDX-License-Identifier: Apache-2.0
//
// Command lines of the benchmark programs: reading, checking, and the help text.
#include "options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>

namespace bots {

namespace {

constexpr std::array<std::string_view, 4> kCutoffNames = {"none", "if", "final", "manual"};
constexpr int kMaxThreads = 4096;
constexpr int kMaxRepeats = 1'000'000;

template <std::size_t kN>
std::string join(const std::array<std::string_view, kN> &words) {
    std::string text;
    for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
    return text;
}

template <std::size_t kN>
int index_of(const std::array<std::string_view, kN> &words, std::string_view option, std::string_view word) {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end())
        throw UsageError(std::string(option) + ": no such value '" + std::string(word) + "'; one of " + join(words));
    return static_cast<int>(found - words.begin());
}

std::int64_t parse_number(std::string_view option, std::string_view text, std::int64_t min, std::int64_t max) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < min || value > max)
        throw UsageError(std::string(option) + ": '" + std::string(text) + "' is not a whole number from " +
                         std::to_string(min) + " to " + std::to_string(max));
    return value;
}

// The words of a command line, one option at a time; understands --name value and --name=value.
class Arguments {
public:
    Arguments(int argc, const char *const *argv) : next_(argv + 1), end_(argv + argc) {}

    bool take_option() {
        if (next_ == end_) return false;
        const std::string_view word = *next_++;
        const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
        option_ = word.substr(0, equals);
        has_value_ = equals != std::string_view::npos;
        if (has_value_) value_ = word.substr(equals + 1);
        return true;
    }

    bool is(std::string_view name) const { return option_ == name; }
    bool is_parameter(const Parameter &parameter) const {
        return !parameter.name.empty() && option_.starts_with("--") && option_.substr(2) == parameter.name;
    }
    std::string_view option() const { return option_; }

    std::string_view value() {
        if (!has_value_) {
            if (next_ == end_) throw UsageError(std::string(option_) + " needs a value");
            value_ = *next_++;
            has_value_ = true;
        }
        return value_;
    }

    std::int64_t number(std::int64_t min, std::int64_t max) {
        const std::string_view text = value();
        return parse_number(option_, text, min, max);
    }

    // For an option that is complete without a value.
    void expect_no_value() const {
        if (has_value_) throw UsageError(std::string(option_) + " takes no value");
    }

private:
    const char *const *next_;
    const char *const *end_;
    std::string_view option_;
    std::string_view value_; // of the option, when has_value_
    bool has_value_ = false;
};

bool is_about_tasks(const Arguments &arguments, const ProgramSpec &spec) {
    return arguments.is("--cutoff") || arguments.is("--tied") || arguments.is("--untied") ||
           arguments.is_parameter(spec.cut);
}

} // namespace

std::string_view name_of(Cutoff cutoff) { return kCutoffNames[static_cast<std::size_t>(cutoff)]; }

Options parse_options(int argc, const char *const *argv, const ProgramSpec &spec, int default_threads) {
    const bool serial = default_threads == 0;
    std::optional<int> class_index;
    std::optional<std::int64_t> size, extra, cut;
    Options options;
    options.n_threads = serial ? 1 : default_threads;

    Arguments arguments(argc, argv);
    while (arguments.take_option()) {
        if (serial && is_about_tasks(arguments, spec))
            throw UsageError(std::string(arguments.option()) + ": the serial version creates no tasks");
        if (arguments.is("--class")) {
            class_index = index_of(kClassNames, "--class", arguments.value());
        } else if (arguments.is_parameter(spec.size)) {
            size = arguments.number(spec.size.min, spec.size.max);
        } else if (arguments.is_parameter(spec.extra)) {
            extra = arguments.number(spec.extra.min, spec.extra.max);
        } else if (arguments.is_parameter(spec.cut)) {
            cut = arguments.number(spec.cut.min, spec.cut.max);
        } else if (arguments.is("--cutoff")) {
            options.cutoff = static_cast<Cutoff>(index_of(kCutoffNames, "--cutoff", arguments.value()));
        } else if (arguments.is("--threads")) {
            options.n_threads = static_cast<int>(arguments.number(1, serial ? 1 : kMaxThreads));
        } else if (arguments.is("--repeat")) {
            options.n_repeats = static_cast<int>(arguments.number(1, kMaxRepeats));
        } else if (arguments.is("--tied") || arguments.is("--untied")) {
            arguments.expect_no_value();
            options.untied = arguments.is("--untied");
        } else if (arguments.is("--json")) {
            arguments.expect_no_value();
            options.json = true;
        } else if (arguments.is("--help") || arguments.is("-h")) {
            arguments.expect_no_value();
            options.help = true;
        } else {
            throw UsageError("unknown option '" + std::string(arguments.option()) + "'; --help lists them");
        }
    }
    // libomp (14 to 19 at least) does not note the innermost tied task when it starts an undeferred untied task, and
    // misses it at that task's first wait. libgomp could run it, but a program built by gcc may be put on libomp too.
    if (options.untied && options.cutoff == Cutoff::kIf)
        throw UsageError("--untied with --cutoff if: undeferred untied tasks abort LLVM's OpenMP runtime "
                         "(llvm-project issue 172938); use --tied or another cut-off");

    const auto by_class = static_cast<std::size_t>(class_index.value_or(kDefaultClass));
    options.input_class = size || extra ? "custom" : kClassNames[by_class];
    options.size = size.value_or(spec.size.by_class[by_class]);
    options.extra = extra.value_or(spec.extra.by_class[by_class]);
    options.cut = cut.value_or(spec.cut.by_class[by_class]);
    return options;
}

std::string help_text(std::string_view program, const ProgramSpec &spec, bool serial) {
    std::ostringstream text;
    const auto line = [&text](const std::string &option, std::string_view meaning) {
        text << "  " << option << std::string(option.size() < 24 ? 24 - option.size() : 1, ' ') << meaning << '\n';
    };
    const auto parameter_line = [&line](const Parameter &parameter) {
        if (parameter.name.empty()) return;
        std::string meaning(parameter.meaning);
        for (std::size_t i = 0; i < kClassNames.size(); i++)
            meaning +=
                (i == 0 ? " (" : ", ") + std::string(kClassNames[i]) + " " + std::to_string(parameter.by_class[i]);
        line("--" + std::string(parameter.name) + " N", meaning + ")");
    };

    text << program << " " << spec.purpose << ".\n\nUsage: " << program << " [options]\n\nInput\n";
    line("--class CLASS", join(kClassNames) + " (default " + std::string(kClassNames[kDefaultClass]) + ")");
    parameter_line(spec.size);
    parameter_line(spec.extra);
    if (!serial) {
        text << "\nTasks\n";
        line("--threads N", "threads of the team (default: what OpenMP is set to)");
        line("--cutoff KIND", "where tasks stop being deferred (default manual):");
        line("", "none    nowhere: tasks down to the leaves of the algorithm");
        line("", "if      if clause, undeferred tasks below");
        line("", "final   final and mergeable clauses, included tasks below");
        line("", "manual  no tasks below, the serial function instead");
        parameter_line(spec.cut);
        line("--tied, --untied", "kind of the tasks (default tied)");
    }
    text << "\nRun\n";
    line("--repeat N", "repetitions; the median is shown (default 1)");
    line("--json", "the result as one JSON object on standard output");
    line("--help", "this text");
    text << "\nThe result is always verified. Exit status: 0 verified, 1 wrong result or failure, 2 bad arguments.\n"
         << "\nExamples\n  " << program << " --class test\n";
    if (serial) {
        text << "  " << program << " --repeat 5 --json\n";
    } else {
        text << "  " << program << " --threads 2 --repeat 5 --json\n"
             << "  " << program << " --class test --cutoff none --untied\n"
             << "  " << program << " --cutoff manual --" << spec.cut.name << " " << spec.cut.by_class[0] << "\n";
    }
    return text.str();
}

} // namespace bots
