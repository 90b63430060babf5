// SPDX-License-Identifier: Apache-2.0
#include "run_switch.h"

namespace ompass::recorder {

constinit std::atomic<uint32_t> run_switch{kOff};

} // namespace ompass::recorder
