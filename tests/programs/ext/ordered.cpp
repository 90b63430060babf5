// SPDX-License-Identifier: Apache-2.0
// ordered.c as C++.
#include "ordered.c"
