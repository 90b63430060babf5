// SPDX-License-Identifier: Apache-2.0
// Tasks that libomp_ext.so holds until they run (held_tasks.cpp).
#pragma once

namespace ompass::held_tasks {

// Asks the extension, if it is in the process, to tell of its tasks. True when it schedules the program.
bool observe();

// What the extension announced does not come about in the record.
void forget_announcement();

} // namespace ompass::held_tasks
