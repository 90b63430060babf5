// SPDX-License-Identifier: Apache-2.0
// Reads the description of a device in sysfs: its `type`, its events, such as `event=0xcd,umask=0x1,ldlat=3`, and the
// format of each term. A format, such as `config:0-7,32-35`, lists the bits that hold the term's value.
#include "perf/load_event.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ompass {

namespace {

// Returns the first line of a file; empty if there is none.
std::string line_of(const std::string &path) {
    char line[256] = "";
    if (FILE *file = fopen(path.c_str(), "re")) {
        if (!fgets(line, sizeof line, file)) line[0] = 0;
        fclose(file);
    }
    line[strcspn(line, "\n")] = 0;
    return line;
}

std::optional<uint64_t> number_in(const std::string &text, int base) {
    char *end = nullptr;
    errno = 0;
    const unsigned long long value = strtoull(text.c_str(), &end, base);
    if (text.empty() || errno || *end) return std::nullopt;
    return value;
}

// Puts `value` into the bits that `format` lists. Returns false if the format is invalid or has too few bits.
bool place(const std::string &format, uint64_t value, LoadEvent &event) {
    const size_t colon = format.find(':');
    if (colon == std::string::npos) return false;
    const std::string word = format.substr(0, colon);
    uint64_t *config = word == "config"    ? &event.config
                       : word == "config1" ? &event.config1
                       : word == "config2" ? &event.config2
                                           : nullptr;
    if (!config) return false;
    for (const char *text = format.c_str() + colon; *text;) {
        char *end = nullptr;
        const unsigned long first = strtoul(text + 1, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        if (end == text + 1 || first > last || last > 63) return false;
        for (unsigned long bit = first; bit <= last; bit++, value >>= 1) *config |= (value & 1) << bit;
        if (*end && *end != ',') return false;
        text = end;
    }
    return value == 0;
}

bool place_term(const std::string &device, const std::string &term, uint64_t value, LoadEvent &event) {
    return place(line_of(device + "/format/" + term), value, event);
}

bool read_type(const std::string &device, LoadEvent &event) {
    const std::optional<uint64_t> type = number_in(line_of(device + "/type"), 10);
    if (type) event.type = static_cast<uint32_t>(*type);
    return type.has_value();
}

std::optional<LoadEvent> find_mem_loads(const std::string &device) {
    LoadEvent event;
    const std::string terms = line_of(device + "/events/mem-loads");
    if (terms.empty() || !read_type(device, event)) return std::nullopt;
    for (size_t begin = 0; begin < terms.size();) {
        const size_t end = std::min(terms.find(',', begin), terms.size());
        const std::string term = terms.substr(begin, end - begin);
        const size_t equals = term.find('=');
        const std::optional<uint64_t> value =
            equals == std::string::npos ? std::optional<uint64_t>(1) : number_in(term.substr(equals + 1), 0);
        if (!value || !place_term(device, term.substr(0, equals), *value, event)) return std::nullopt;
        begin = end + 1;
    }
    event.precise_ip = 2;
    return event;
}

std::optional<LoadEvent> find_ibs(const std::string &device) {
    LoadEvent event;
    if (!read_type(device, event)) return std::nullopt;
    place_term(device, "cnt_ctl", 1, event); // counts ops; cycles would favour slow operations
    event.exclude_kernel = place_term(device, "swfilt", 1, event);
    event.period_unit = 16;
    return event;
}

} // namespace

std::optional<LoadEvent> find_load_event(const std::string &devices) {
    for (const char *name : {"/cpu", "/cpu_core"})
        if (const auto event = find_mem_loads(devices + name)) return event;
    return find_ibs(devices + "/ibs_op");
}

} // namespace ompass
