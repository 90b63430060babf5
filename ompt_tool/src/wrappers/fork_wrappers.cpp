// SPDX-License-Identifier: Apache-2.0
// The wrapper of the function by which flang programs begin a parallel region with an if clause. In LLVM's runtime
// this function calls other functions of the runtime, so OMPT reports a return address in the runtime.
#include "wrappers/fork_wrappers.h"

#include <cstdint>
#include <utility>

#include "wrappers/real_functions.h"

namespace ompass::wrappers {

namespace {

constinit thread_local const void *forked_at __attribute__((tls_model("initial-exec"))) = nullptr;

} // namespace

const void *take_forked_at() { return std::exchange(forked_at, nullptr); }

} // namespace ompass::wrappers

using namespace ompass;

OMPASS_EXPORT void __kmpc_fork_call_if(void *location, int32_t n_arguments, void *microtask, int32_t condition,
                                       void *arguments) {
    static Router router;
    const auto [next, is_own] = next_of<decltype(__kmpc_fork_call_if)>(router, "__kmpc_fork_call_if");
    if (is_own) wrappers::forked_at = __builtin_return_address(0);
    next(location, n_arguments, microtask, condition, arguments);
    wrappers::forked_at = nullptr;
}
