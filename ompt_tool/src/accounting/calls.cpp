// SPDX-License-Identifier: Apache-2.0
#include "accounting/calls.h"

namespace ompass {

constinit Library runtime_code = {}, extension_code = {}, tool_code = {};

} // namespace ompass
