// SPDX-License-Identifier: Apache-2.0
// The loops of spin.h as a shared library.
#include "spin.h"
