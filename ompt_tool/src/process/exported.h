// SPDX-License-Identifier: Apache-2.0
// For functions that programs and runtimes call. Compiled into libompass.so and libomp_ext.so.
#pragma once

#define OMPASS_EXPORT extern "C" __attribute__((visibility("default")))

// Makes a tail call (`OMPASS_JUMP f(x);`). The called function then sees the program's return address, and also the
// arguments that our declaration lacks. gcc makes tail calls only if it optimizes.
#ifdef __clang__
#define OMPASS_JUMP [[clang::musttail]] return
#else
#define OMPASS_JUMP return
#endif
