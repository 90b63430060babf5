// SPDX-License-Identifier: Apache-2.0
// Tests that an assertion detects a broken invariant in debug builds, and that a release build survives it.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include "format/invariants.h"

// Runs `statement`, which breaks the invariant whose text contains `invariant`, in a separate process.
#if OMPASS_ASSERTIONS
#define OMPASS_EXPECT_NOTICED(statement, invariant) EXPECT_DEATH(statement, "invariant broken: .*" invariant)
#else
#define OMPASS_EXPECT_NOTICED(statement, invariant)                                                                    \
    EXPECT_EXIT(                                                                                                       \
        {                                                                                                              \
            statement;                                                                                                 \
            _exit(7);                                                                                                  \
        },                                                                                                             \
        testing::ExitedWithCode(7), "")
#endif
