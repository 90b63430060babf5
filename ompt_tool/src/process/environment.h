// SPDX-License-Identifier: Apache-2.0
// Reads environment variables that have a fixed set of values, and reports invalid names and values.
// Compiled into libompass.so and libomp_ext.so, so it includes no header of only one of them.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <strings.h>
#include <unistd.h>

namespace ompass {

// A function that prints a line for the user.
using Say = void(const char *format, ...);

struct Choice {
    const char *text;
    int value;
};

// Returns the variable's value. Returns `fallback` if the variable is not set or empty, or if the program has more
// rights than its caller (set-uid). If the value is none of the choices, prints a message and returns `fallback`.
inline int read_choice(Say *say, const char *name, std::initializer_list<Choice> choices, int fallback) {
    const char *text = secure_getenv(name);
    if (!text || !*text) return fallback;
    for (const Choice &choice : choices)
        if (strcasecmp(text, choice.text) == 0) return choice.value;
    char valid[256] = "";
    const char *kept = nullptr;
    for (const Choice &choice : choices) {
        const size_t length = strlen(valid);
        snprintf(valid + length, sizeof valid - length, "%s%s", length ? ", " : "", choice.text);
        if (choice.value == fallback && !kept) kept = choice.text;
    }
    say("%s=%s is not understood; valid values: %s. Using %s.", name, text, valid, kept ? kept : "the default");
    return fallback;
}

inline int read_switch(Say *say, const char *name, int fallback) {
    return read_choice(say, name,
                       {{"on", 1}, {"off", 0}, {"1", 1}, {"0", 0}, {"true", 1}, {"false", 0}, {"yes", 1}, {"no", 0}},
                       fallback);
}

// Reports each unknown variable that begins with `prefix`, since it may be misspelt. `names`: the known variables
// without the prefix. `owner`: ends the message.
inline void report_unknown_names(Say *say, const char *prefix, std::initializer_list<const char *> names,
                                 const char *owner) {
    const size_t prefix_length = strlen(prefix);
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, prefix, prefix_length) != 0) continue;
        const char *name = *entry + prefix_length;
        const size_t length = strcspn(name, "=");
        bool is_known = false;
        for (const char *known : names) is_known |= strlen(known) == length && strncmp(known, name, length) == 0;
        if (!is_known) say("%s%.*s is not a variable of %s.", prefix, static_cast<int>(length), name, owner);
    }
}

} // namespace ompass
