// SPDX-License-Identifier: Apache-2.0
// Reads and checks the command lines of the benchmark programs; writes the help text.
#include "options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <sstream>

namespace bots {

namespace {

constexpr int kMaxThreads = 4096;
constexpr int kMaxRepeats = 1'000'000;

// Returns the nonempty words, separated by commas.
std::string join(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words)
        if (!word.empty()) text += (text.empty() ? "" : ", ") + std::string(word);
    return text;
}

std::string join(CutoffSet cutoffs) {
    std::array<std::string_view, kCutoffNames.size()> words;
    for (std::size_t i = 0; i < words.size(); i++)
        if (cutoffs.has(static_cast<Cutoff>(i))) words[i] = kCutoffNames[i];
    return join(words);
}

int index_of(std::span<const std::string_view> words, std::string_view option, std::string_view word) {
    const auto found = word.empty() ? words.end() : std::find(words.begin(), words.end(), word);
    if (found == words.end())
        throw UsageError(std::string(option) + ": '" + std::string(word) + "' is not one of " + join(words));
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

// Reads a command line one option at a time; accepts --name value and --name=value.
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
    std::string_view option() const { return option_; }

    // Returns the index in `parameters` of the one that the option sets, if any.
    template <std::size_t kN>
    std::optional<std::size_t> among(const std::array<Parameter, kN> &parameters) const {
        for (std::size_t i = 0; i < kN; i++)
            if (parameters[i].exists() && option_.starts_with("--") && option_.substr(2) == parameters[i].name)
                return i;
        return std::nullopt;
    }

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

    std::int64_t value_of(const Parameter &parameter) {
        if (parameter.has_choices()) return index_of(parameter.choices, option_, value());
        return number(parameter.min, parameter.max);
    }

    // Returns the numbers in the option's value, such as 1,2,4.
    std::vector<int> numbers(int min, int max) {
        std::vector<int> numbers;
        std::string_view rest = value();
        for (bool more = true; more;) {
            const std::size_t comma = rest.find(',');
            numbers.push_back(static_cast<int>(parse_number(option_, rest.substr(0, comma), min, max)));
            more = comma != std::string_view::npos;
            if (more) rest.remove_prefix(comma + 1);
        }
        return numbers;
    }

    // Throws UsageError if the option has a value.
    void expect_no_value() const {
        if (has_value_) throw UsageError(std::string(option_) + " takes no value");
    }

private:
    const char *const *next_;
    const char *const *end_;
    std::string_view option_;
    std::string_view value_; // the option's; valid if has_value_
    bool has_value_ = false;
};

Cutoff default_of(CutoffSet cutoffs) {
    for (const Cutoff cutoff : {Cutoff::kManual, Cutoff::kFinal, Cutoff::kIf})
        if (cutoffs.has(cutoff)) return cutoff;
    return Cutoff::kNone;
}

void check_kind(const Options &options, const Version &version, CutoffSet cutoffs) {
    if (!cutoffs.has(options.cutoff))
        throw UsageError("--cutoff " + std::string(name_of(options.cutoff)) + ": this program has only " +
                         join(cutoffs));
    if (!options.untied) return;
    if (!version.has_untied) throw UsageError("--untied: the tasks of this version are neither tied nor untied");
    // libomp (14 to 19 at least) does not record the innermost tied task when it starts an undeferred untied task, and
    // fails when the untied task waits. libgomp runs such tasks, but a program built with gcc may run on libomp too.
    if (options.cutoff == Cutoff::kIf)
        throw UsageError("--untied with --cutoff if: undeferred untied tasks abort LLVM's OpenMP runtime "
                         "(llvm-project issue 172938); use --tied or another cut-off");
}

} // namespace

CutoffSet cutoffs_of(const ProgramSpec &spec, const Version &version) {
    CutoffSet both{};
    both.bits = spec.cutoffs.bits & version.cutoffs.bits;
    return both;
}

std::string_view name_of(Cutoff cutoff) { return kCutoffNames[static_cast<std::size_t>(cutoff)]; }

std::string value_text(const Parameter &parameter, std::int64_t value) {
    return parameter.has_choices() ? std::string(parameter.choices[static_cast<std::size_t>(value)])
                                   : std::to_string(value);
}

Options parse_options(int argc, const char *const *argv, const ProgramSpec &spec, const Version &version) {
    const bool serial = version.is_serial();
    const CutoffSet cutoffs = cutoffs_of(spec, version);
    std::optional<int> class_index;
    std::array<std::optional<std::int64_t>, kMaxInputs> inputs;
    std::array<std::optional<std::int64_t>, kMaxCuts> cuts;
    Options options;
    options.n_threads = serial ? 1 : version.default_threads;
    options.cutoff = default_of(cutoffs);

    Arguments arguments(argc, argv);
    while (arguments.take_option()) {
        const auto input = arguments.among(spec.inputs);
        const auto cut = arguments.among(spec.cuts);
        const bool sets_kind = arguments.is("--tied") || arguments.is("--untied");
        if (serial && (cut || sets_kind || arguments.is("--cutoff") || arguments.is("--verify")))
            throw UsageError(std::string(arguments.option()) + ": the serial version creates no tasks");
        if (arguments.is("--class")) {
            class_index = index_of(kClassNames, "--class", arguments.value());
        } else if (input) {
            inputs[*input] = arguments.value_of(spec.inputs[*input]);
        } else if (cut) {
            cuts[*cut] = arguments.value_of(spec.cuts[*cut]);
        } else if (arguments.is("--cutoff")) {
            options.cutoff = static_cast<Cutoff>(index_of(kCutoffNames, "--cutoff", arguments.value()));
        } else if (arguments.is("--threads")) {
            options.n_threads = static_cast<int>(arguments.number(1, serial ? 1 : kMaxThreads));
        } else if (arguments.is("--verify")) {
            options.verify_threads = arguments.numbers(1, kMaxThreads);
        } else if (arguments.is("--repeat")) {
            options.n_repeats = static_cast<int>(arguments.number(1, kMaxRepeats));
        } else if (sets_kind) {
            arguments.expect_no_value();
            options.untied = arguments.is("--untied");
        } else if (arguments.is("--json")) {
            arguments.expect_no_value();
            options.json = true;
        } else if (arguments.is("--describe")) {
            arguments.expect_no_value();
            options.describe = true;
        } else if (arguments.is("--help") || arguments.is("-h")) {
            arguments.expect_no_value();
            options.help = true;
        } else {
            throw UsageError("unknown option '" + std::string(arguments.option()) + "'; --help lists all options");
        }
    }
    if (!serial) check_kind(options, version, cutoffs);

    const auto by_class = static_cast<std::size_t>(class_index.value_or(kDefaultClass));
    const auto default_value = [&](const Parameter &parameter) {
        if (!parameter.exists() || !parameter.derive) return parameter.by_class[by_class];
        return std::clamp(parameter.derive(options.inputs, options.n_threads), parameter.min, parameter.max);
    };
    options.input_class = kClassNames[by_class];
    for (std::size_t i = 0; i < kMaxInputs; i++) {
        if (inputs[i]) options.input_class = "custom";
        options.inputs[i] = inputs[i] ? *inputs[i] : default_value(spec.inputs[i]);
    }
    for (std::size_t i = 0; i < kMaxCuts; i++) options.cuts[i] = cuts[i] ? *cuts[i] : default_value(spec.cuts[i]);
    return options;
}

std::vector<Options> variants_of(const Options &options, int argc, const char *const *argv, const ProgramSpec &spec,
                                 const Version &version) {
    // Appends options to the user's command line and parses it again, because some defaults depend on --threads.
    std::vector<Options> variants;
    const CutoffSet cutoffs = cutoffs_of(spec, version);
    for (std::size_t i = 0; i < kCutoffNames.size(); i++) {
        const auto cutoff = static_cast<Cutoff>(i);
        if (!cutoffs.has(cutoff)) continue;
        for (const bool untied : {false, true}) {
            if (untied && (!version.has_untied || cutoff == Cutoff::kIf)) continue;
            for (const int n_threads : options.verify_threads) {
                const std::string cutoff_word = "--cutoff=" + std::string(name_of(cutoff));
                const std::string threads_word = "--threads=" + std::to_string(n_threads);
                std::vector<const char *> words(argv, argv + argc);
                words.insert(words.end(), {cutoff_word.c_str(), threads_word.c_str(), untied ? "--untied" : "--tied"});
                variants.push_back(parse_options(static_cast<int>(words.size()), words.data(), spec, version));
            }
        }
    }
    return variants;
}

std::string help_text(const ProgramSpec &spec, const Version &version) {
    const std::string program = std::string(spec.name) + "-" + std::string(version.name);
    const CutoffSet cutoffs = cutoffs_of(spec, version);
    std::ostringstream text;
    const auto line = [&text](const std::string &option, std::string_view meaning) {
        text << "  " << option << std::string(option.size() < 24 ? 24 - option.size() : 1, ' ') << meaning << '\n';
    };
    const auto parameter_line = [&line](const Parameter &parameter) {
        if (!parameter.exists()) return;
        std::string meaning(parameter.meaning);
        if (parameter.has_choices()) meaning += ": " + join(parameter.choices);
        for (std::size_t i = 0; i < kClassNames.size() && !parameter.derive; i++)
            meaning += (i == 0 ? " (" : ", ") + std::string(kClassNames[i]) + " " +
                       value_text(parameter, parameter.by_class[i]);
        line("--" + std::string(parameter.name) + (parameter.has_choices() ? " WORD" : " N"),
             meaning + (parameter.derive ? "" : ")"));
    };
    const auto cutoff_line = [&](Cutoff cutoff, std::string_view meaning) {
        const std::string name(name_of(cutoff));
        if (cutoffs.has(cutoff)) line("", name + std::string(8 - name.size(), ' ') + std::string(meaning));
    };

    text << program << " " << spec.purpose << ".\n\nUsage: " << program << " [options]\n\nInput\n";
    line("--class CLASS", join(kClassNames) + " (default " + std::string(kClassNames[kDefaultClass]) + ")");
    for (const Parameter &parameter : spec.inputs) parameter_line(parameter);
    if (!version.is_serial()) {
        text << "\nTasks\n";
        line("--threads N", "threads of the team (default: the runtime's choice)");
        line("--cutoff KIND",
             "kind of tasks below the cut-off (default " + std::string(name_of(default_of(cutoffs))) + "):");
        cutoff_line(Cutoff::kNone, "the same tasks as above the cut-off, down to the leaves of the algorithm");
        cutoff_line(Cutoff::kIf, "undeferred tasks, by an if clause");
        cutoff_line(Cutoff::kFinal, "included tasks, by final and mergeable clauses");
        cutoff_line(Cutoff::kManual, "no tasks, the serial function instead");
        for (const Parameter &parameter : spec.cuts) parameter_line(parameter);
        if (version.has_untied) line("--tied, --untied", "kind of the tasks (default tied)");
    }
    text << "\nRun\n";
    if (!version.is_serial())
        line("--verify N,...", "run every cut-off and kind of tasks on each of these numbers of threads");
    line("--repeat N", "number of timed runs; the result has their median (default 1)");
    line("--json", "print the result as one JSON object; with --verify, one per line");
    line("--describe", "print the program's inputs and options as one JSON object");
    line("--help", "this text");
    text << "\nThe result is always verified. Exit status: 0 verified, 1 wrong result or failure, 2 bad arguments.\n"
         << "\nExamples\n  " << program << " --class test\n";
    if (version.is_serial()) {
        text << "  " << program << " --repeat 5 --json\n";
    } else {
        text << "  " << program << " --threads 2 --repeat 5 --json\n"
             << "  " << program << " --class test --verify 1,2,4,8\n"
             << "  " << program << " --class test --cutoff none" << (version.has_untied ? " --untied" : "") << "\n";
        if (spec.cuts[0].exists())
            text << "  " << program << " --cutoff " << name_of(default_of(cutoffs)) << " --" << spec.cuts[0].name << " "
                 << value_text(spec.cuts[0], std::max(spec.cuts[0].by_class[0], spec.cuts[0].min)) << "\n";
    }
    return text.str();
}

} // namespace bots
