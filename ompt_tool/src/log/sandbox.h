// SPDX-License-Identifier: Apache-2.0
// Detects that the program has entered a sandbox (seccomp) since this library was loaded. A sandbox may kill the
// process at any unexpected call, above all open(). Callers check here before they open a file or a perf event.
#pragma once

namespace ompass::sandbox {

// Opens the file that is_entered() reads. Called when recording begins, before other threads call is_entered().
void begin();

// True once the process has more filters than when the library was loaded. Calls only lseek and read while the
// descriptor of begin() is open. Any thread. Takes some microseconds, so only slow paths call it.
bool is_entered();

// While an object of this class lives on the process's first thread, is_entered() asks the kernel only once, because
// that thread cannot enter a sandbox while it runs the tool. Has no effect on other threads.
class OneAnswer {
public:
    OneAnswer();
    ~OneAnswer();
    OneAnswer(const OneAnswer &) = delete;
    OneAnswer &operator=(const OneAnswer &) = delete;
};

} // namespace ompass::sandbox
