// SPDX-License-Identifier: Apache-2.0
// Plays the part of an OpenMP runtime: loads a tool, offers it OMPT's entry points, and reports sequences of events to
// it from real threads.
#pragma once

#include <omp-tools.h>

#include <string>

#include "steps.h"

namespace ompass::events {

class MadeRuntime {
public:
    // Loads the tool and starts it. Returns a message if that fails, else an empty text.
    std::string start(const char *library);
    // Reports the events. One thread acts at a time if `in_turn`; else each event waits for its `after` only.
    void play(const Sequence &sequence, bool in_turn) const;
    void finish();

private:
    ompt_start_tool_result_t *tool_ = nullptr;
};

} // namespace ompass::events
