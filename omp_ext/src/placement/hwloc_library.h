// SPDX-License-Identifier: Apache-2.0
// Opens hwloc at run time: libomp_ext.so is preloaded into programs and shells that must work without hwloc. Lists the
// functions that topology.cpp and placement.cpp call.
#pragma once

#include <hwloc.h>

namespace omp_ext {

struct HwlocLibrary {
#define OMP_EXT_HWLOC_FUNCTIONS(use)                                                                                   \
    use(get_api_version) use(topology_init) use(topology_load) use(topology_destroy) use(topology_set_synthetic)       \
        use(topology_is_thissystem) use(topology_get_support) use(topology_get_depth) use(get_type_depth)              \
            use(get_depth_type) use(get_nbobjs_by_depth) use(get_obj_by_depth) use(bitmap_alloc) use(bitmap_free)      \
                use(bitmap_set) use(bitmap_isset) use(bitmap_isincluded) use(bitmap_next) use(distances_get)           \
                    use(distances_release) use(set_area_membind)
#define OMP_EXT_DECLARE(name) decltype(&hwloc_##name) name = nullptr;
    OMP_EXT_HWLOC_FUNCTIONS(OMP_EXT_DECLARE)
#undef OMP_EXT_DECLARE
};

// Returns null if hwloc 2 is not installed. Opens it at the first call and never closes it. Any thread.
const HwlocLibrary *hwloc_library();

} // namespace omp_ext
