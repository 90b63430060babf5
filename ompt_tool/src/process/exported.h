// SPDX-License-Identifier: Apache-2.0
// For functions that programs and runtimes call. Compiled into libompass.so and libomp_ext.so.
#pragma once

#define OMPASS_EXPORT extern "C" __attribute__((visibility("default")))

// Tail call (`OMPASS_JUMP f(x);`): the called function sees the program's return address, and its arguments beyond
// those that we name. gcc makes tail calls if it optimizes.
#ifdef __clang__
#define OMPASS_JUMP [[clang::musttail]] return
#else
#define OMPASS_JUMP return
#endif
