// SPDX-License-Identifier: Apache-2.0
#include "real_functions.h"

#include <cstdlib>

#include "loaded_code.h"
#include "messages.h"

namespace ompass {

bool is_ours(const void *address) { return library_of(address).holds(reinterpret_cast<const void *>(&is_ours)); }

void end_for_lack_of(const char *name) {
    say("no OpenMP runtime of this process has the function %s, which the program calls.", name);
    abort();
}

} // namespace ompass
