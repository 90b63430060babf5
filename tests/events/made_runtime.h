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
    // Loads and starts the tool. Returns an error message, or an empty text on success.
    std::string start(const char *library);
    // Reports the events: one by one in their order if `in_turn`, otherwise each as soon as its `after` steps are over.
    void play(const Sequence &sequence, bool in_turn) const;
    void finish();

private:
    ompt_start_tool_result_t *tool_ = nullptr;
};

} // namespace ompass::events
