// SPDX-License-Identifier: Apache-2.0
#include "wrappers/libgomp_taskloops.h"

#include <cstring>

namespace ompass::taskloops {

namespace {

struct Share {
    Copy copy;
    long bytes;
    uint64_t bounds[2];
};

constinit thread_local Share next_share __attribute__((tls_model("initial-exec"))) = {};

} // namespace

void set_share(Copy copy, long bytes, uint64_t start, uint64_t end) { next_share = {copy, bytes, {start, end}}; }

void copy_share(void *to, void *from) {
    const Share share = next_share; // copied, because the program's function may create tasks
    if (share.copy)
        share.copy(to, from);
    else
        memcpy(to, from, static_cast<size_t>(share.bytes));
    memcpy(to, share.bounds, sizeof share.bounds);
}

} // namespace ompass::taskloops
