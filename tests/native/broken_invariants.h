// SPDX-License-Identifier: Apache-2.0
// How tests show that a broken invariant is noticed where assertions are active, and harms nobody in a release.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include "format/invariants.h"

// Runs `statement`, which breaks an invariant whose text holds `invariant`, in a process of its own.
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
