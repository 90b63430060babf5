// SPDX-License-Identifier: Apache-2.0
// Texts that explain why the tool could not write a piece of a recording, for the tool and for readers of the run.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "format.h"

namespace ompass {

// Returns a description of ProcessHeader::first_refusal. Older recordings have 0.
inline std::string refusal_text(uint32_t reason) {
    switch (reason) {
    case 0: return "this recording does not say why";
    case format::kRefusedBySandbox: return "the program has entered a sandbox (seccomp)";
    case format::kRefusedByBounds: return "more threads or constructs than the format allows";
    case ENOSPC: return "the disk is full";
    case EFBIG: return "the limit on the size of files is reached (ulimit -f)";
    case EMFILE: return "the limit on open files is reached (ulimit -n)";
    default: return strerror(static_cast<int>(reason));
    }
}

// Returns advice that completes "To record all: ".
inline const char *refusal_cure(uint32_t reason) {
    switch (reason) {
    case 0: return "record again";
    case format::kRefusedBySandbox: return "record a run without the sandbox, or start all threads before it";
    case format::kRefusedByBounds: return "record fewer threads or constructs in one run";
    case ENOSPC:
    case EDQUOT: return "free space where the run directory is, or set OMPASS_DIR to another disk";
    case EFBIG: return "raise the limit";
    case EMFILE:
    case ENFILE: return "raise the limit, or let the program close files";
    case ENOMEM: return "free memory";
    default: return "set OMPASS_DIR to a place that the program can write to for as long as it runs";
    }
}

} // namespace ompass
