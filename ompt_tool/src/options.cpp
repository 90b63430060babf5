// SPDX-License-Identifier: Apache-2.0
// Reads and validates the environment. Only this file calls getenv for OMPASS_* names.
#include "options.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <strings.h>

#include "messages.h"
#include "process/environment.h"

namespace ompass {

namespace {

// Returns the size in bytes that a text such as `500` (megabytes), `500M` or `1.5 GiB` names. Units are binary, in
// upper or lower case. Returns 0 for any other text, and above an exbibyte. ompass.units.parse_limit has the same rule.
// Does not use strtod(), which depends on the program's locale.
uint64_t parse_limit(const char *text) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    while (*text == ' ') text++;
    double number = 0, place = 1;
    if (!is_digit(*text)) return 0;
    for (; is_digit(*text); text++) number = number * 10 + (*text - '0');
    if (*text == '.') {
        if (!is_digit(*++text)) return 0;
        for (; is_digit(*text); text++) number += (*text - '0') * (place /= 10);
    }
    while (*text == ' ') text++;
    static const char powers[] = "kmgt";
    const char *power = *text ? strchr(powers, *text | 0x20) : nullptr;
    double unit = *text ? 1 : 1 << 20;
    if (power) {
        for (const char *each = powers; each <= power; each++) unit *= 1024;
        text++;
        if (*text == 'i' || *text == 'I') text++;
    }
    if (*text == 'b' || *text == 'B') text++;
    while (*text == ' ') text++;
    const double bytes = number * unit + 0.5;
    return *text || bytes > static_cast<double>(uint64_t{1} << 60) ? 0 : static_cast<uint64_t>(bytes);
}

uint64_t read_limit_bytes() {
    const char *text = getenv("OMPASS_LIMIT_MB");
    if (!text || !*text) return 0;
    const uint64_t bytes = parse_limit(text);
    if (!bytes)
        say("OMPASS_LIMIT_MB=%s is not understood; valid values: a number of megabytes, or a number with k, M, G or T, "
            "such as 500, 500M or 1.5G. Using no limit.",
            text);
    return bytes;
}

// Returns the time in nanoseconds that a text such as `30s`, `1.5ms` or `10m` (minutes) names; 0 for any other text.
// ompass.units.parse_duration accepts the same units.
uint64_t parse_time(const char *text) {
    double number = 0, place = 1;
    const char *begin = text;
    for (; *text >= '0' && *text <= '9'; text++) number = number * 10 + (*text - '0');
    if (text == begin) return 0;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++) number += (*text - '0') * (place /= 10);
    while (*text == ' ') text++;
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
    for (const auto &unit : units)
        if (strcmp(text, unit.name) == 0 && number * unit.ns < 1e18) return static_cast<uint64_t>(number * unit.ns);
    return 0;
}

Options::KeepLast read_keep_last() {
    Options::KeepLast keep;
    const char *text = getenv("OMPASS_KEEP_LAST");
    if (!text || !*text) return keep;
    keep.ns = parse_time(text);
    if (!keep.ns) keep.bytes = parse_limit(text);
    if (!keep.is_on())
        say("OMPASS_KEEP_LAST=%s is not understood; valid values: a time such as 30s, 500ms or 10m (minutes), or a "
            "size such as 200M (megabytes). Keeping the whole trace.",
            text);
    return keep;
}

// Returns the number of a signal from its name, such as SIGUSR1 or usr1; 0 if dumps may not use the signal.
int parse_signal(const char *text) {
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"QUIT", SIGQUIT}, {"URG", SIGURG}};
    if (strncasecmp(text, "SIG", 3) == 0) text += 3;
    for (const auto &signal : signals)
        if (strcasecmp(text, signal.name) == 0) return signal.number;
    return 0;
}

Options::Dump read_dump(const Options::KeepLast &keep) {
    Options::Dump dump;
    const char *on = getenv("OMPASS_DUMP_ON"), *if_longer = getenv("OMPASS_DUMP_IF_LONGER");
    if (on && *on && !(dump.signal = parse_signal(on)))
        say("OMPASS_DUMP_ON=%s is not understood; valid values: USR1, USR2, HUP, QUIT, URG. Making no dump on signals.",
            on);
    if (if_longer && *if_longer && !(dump.if_longer_ns = parse_time(if_longer)))
        say("OMPASS_DUMP_IF_LONGER=%s is not understood; valid values: a time such as 50ms. Making no dump after long "
            "regions.",
            if_longer);
    if (keep.is_on() || (!dump.signal && !dump.if_longer_ns)) return dump;
    say("OMPASS_DUMP_ON and OMPASS_DUMP_IF_LONGER need OMPASS_KEEP_LAST; no dump is made.");
    return {};
}

std::vector<std::string> read_list(const char *name) {
    std::vector<std::string> names;
    const char *text = getenv(name);
    while (text && *text) {
        const size_t length = strcspn(text, ",");
        if (length) names.emplace_back(text, length);
        text += length + (text[length] == ',');
    }
    return names;
}

Sampling read_sampling() {
    constexpr unsigned long kMostHz = 10'000;
    Sampling sampling;
    const char *text = getenv("OMPASS_SAMPLE");
    if (!text || !*text) return sampling;
    constexpr char kLoads[] = "loads";
    constexpr size_t kLength = sizeof kLoads - 1;
    const bool loads = strncasecmp(text, kLoads, kLength) == 0 && (!text[kLength] || text[kLength] == ':');
    const char *number = loads ? text + kLength + (text[kLength] == ':') : text;
    char *end = nullptr;
    errno = 0;
    const unsigned long frequency_hz = strtoul(number, &end, 10);
    const bool is_number = !errno && end != number && !*end && *number != '-' && frequency_hz <= kMostHz;
    if (strcasecmp(text, "off") == 0)
        sampling.frequency_hz = 0;
    else if (loads && (!text[kLength] || (is_number && frequency_hz)))
        sampling.loads = true,
        sampling.frequency_hz = is_number ? static_cast<uint32_t>(frequency_hz) : Sampling::kUsualLoadsHz;
    else if (!loads && is_number)
        sampling.frequency_hz = static_cast<uint32_t>(frequency_hz);
    else
        say("OMPASS_SAMPLE=%s is not understood; valid values: samples per second from 1 to %lu, loads, loads:1 to "
            "loads:%lu, 0 or off. Using %u.",
            text, kMostHz, kMostHz, sampling.frequency_hz);
    return sampling;
}

} // namespace

bool wants_early_samples() {
    const auto is_set = [](const char *name) {
        const char *text = getenv(name);
        return text && *text;
    };
    return is_set("OMPASS_LAUNCH") && !is_set("OMPASS_SAMPLE") && !is_set("OMPASS_ENABLED");
}

int dump_signal() {
    const char *on = getenv("OMPASS_DUMP_ON"), *keep = getenv("OMPASS_KEEP_LAST");
    return on && keep && *keep ? parse_signal(on) : 0;
}

Options read_options() {
    Options options;
    options.enabled = read_switch(say, "OMPASS_ENABLED", true);
    if (!options.enabled) return options;
    report_unknown_names(
        say, "OMPASS_",
        {"MODE", "DIR", "SUMMARY", "LIMIT_MB", "COUNTERS", "WRAPPERS", "BRACKETS", "CPU", "SAMPLE", "VERBOSE",
         "ENABLED", "LIBRARY", "LAUNCH", "KEEP_LAST", "DUMP_ON", "DUMP_IF_LONGER"},
        "Ompass; the variables of the tool are OMPASS_MODE, OMPASS_DIR, OMPASS_SUMMARY, "
        "OMPASS_LIMIT_MB, OMPASS_KEEP_LAST, OMPASS_DUMP_ON, OMPASS_DUMP_IF_LONGER, OMPASS_COUNTERS, OMPASS_WRAPPERS, "
        "OMPASS_CPU, OMPASS_SAMPLE, "
        "OMPASS_VERBOSE, OMPASS_ENABLED");
    options.mode = static_cast<format::Mode>(read_choice(say, "OMPASS_MODE", {{"profile", 0}, {"trace", 1}}, 0));
    options.summary = read_switch(say, "OMPASS_SUMMARY", true);
    options.wrappers = read_switch(say, "OMPASS_WRAPPERS", read_switch(say, "OMPASS_BRACKETS", true)); // former name
    options.cpu = read_switch(say, "OMPASS_CPU", true);
    options.sampling = read_sampling();
    options.verbose = read_switch(say, "OMPASS_VERBOSE", false);
    options.limit_bytes = read_limit_bytes();
    options.keep_last = read_keep_last();
    if (options.keep_last.is_on() && options.mode != format::Mode::kTrace) {
        if (getenv("OMPASS_MODE")) say("OMPASS_KEEP_LAST keeps a part of a trace, so this run records a trace.");
        options.mode = format::Mode::kTrace;
    }
    options.dump = read_dump(options.keep_last);
    if (options.keep_last.ns) options.keep_last.bytes = options.limit_bytes;
    options.counters = read_list("OMPASS_COUNTERS");
    if (options.counters.size() > format::kMaxCounters) {
        say("OMPASS_COUNTERS names %zu counters; at most %u are recorded. Using the first %u.", options.counters.size(),
            format::kMaxCounters, format::kMaxCounters);
        options.counters.resize(format::kMaxCounters);
    }
    const char *directory = getenv("OMPASS_DIR");
    options.directory = directory && *directory ? directory : "";
    return options;
}

} // namespace ompass
