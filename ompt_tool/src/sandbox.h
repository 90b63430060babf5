// SPDX-License-Identifier: Apache-2.0
// Finds out whether the program has closed itself into a sandbox (seccomp) since this library was loaded. Such a sandbox may kill the
// process at any call that it does not expect, above all at an open. So whoever opens a file or an event asks here first.
#pragma once

namespace ompass::sandbox {

// Keeps the means of asking. When recording begins, by which time nobody else asks.
void begin();

// True once the process has more filters than when the library was loaded. Makes no call but lseek and read while the
// descriptor of begin() is there. Any thread, on slow paths only: it takes some microseconds.
bool is_entered();

// Spares questions while the first thread of the process stays in the tool, where it cannot enter a sandbox: while one lives there,
// is_entered() asks the kernel once. It changes nothing on other threads.
class OneAnswer {
public:
    OneAnswer();
    ~OneAnswer();
    OneAnswer(const OneAnswer &) = delete;
    OneAnswer &operator=(const OneAnswer &) = delete;
};

} // namespace ompass::sandbox
