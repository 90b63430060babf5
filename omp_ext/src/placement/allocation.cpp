// SPDX-License-Identifier: Apache-2.0
// The memory functions of omp_ext.h and the meaning of their arguments. placement.cpp does the work.
#include <atomic>

#include "omp_ext.h"
#include "options.h"
#include "placement/domains.h"
#include "placement/placement.h"

using omp_ext::Homes;
using omp_ext::MoveResult;
using omp_ext::domains::placement;

namespace {

int wrap(int domain) { return domain % omp_ext::domains::count(); }

} // namespace

extern "C" {

void *omp_affinity_alloc(size_t bytes) { return placement().allocate(bytes, Homes::kUnknown); }

void *omp_affinity_alloc_ondomain(size_t bytes, int domain) {
    return placement().allocate(bytes, domain < 0 ? Homes::kUnknown : wrap(domain));
}

void *omp_affinity_alloc_interleaved(size_t bytes) { return placement().allocate(bytes, Homes::kInterleaved); }

int omp_affinity_mem_todomain(void *address, size_t bytes, int domain) {
    if (domain < 0) return OMP_EXT_EINVAL;
    switch (placement().move(address, bytes, wrap(domain))) {
    case MoveResult::kDone: return 0;
    case MoveResult::kInvalid: return OMP_EXT_EINVAL;
    case MoveResult::kIncomplete: break;
    }
    return OMP_EXT_ENOTSUP;
}

void omp_affinity_free(void *address, size_t bytes) {
    (void)bytes; // placement() knows the size
    static std::atomic_flag reported;
    if (address && !placement().free(address) && !reported.test_and_set())
        omp_ext::say(
            "omp_affinity_free(%p): not an address from omp_affinity_alloc*, or already freed; the call does nothing",
            address);
}

int omp_ext_domain_of_address(const void *address) { return placement().domain_holding_most({address, 1}); }

int omp_ext_domain_of_range(const void *address, size_t bytes) {
    return placement().domain_holding_most({address, bytes});
}

void omp_ext_forget_pages(void) { placement().forget(); }

} // extern "C"
