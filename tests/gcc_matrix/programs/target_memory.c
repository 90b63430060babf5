// SPDX-License-Identifier: Apache-2.0
// Memory of devices, where the only device is the host.
#include <omp.h>
#include <stdio.h>

int main(void) {
    const int host = omp_get_initial_device();
    int value[4] = {1, 2, 3, 4}, other[4] = {0};
    int *memory = omp_target_alloc(sizeof value, host);
    const int copied = omp_target_memcpy(memory, value, sizeof value, 0, 0, host, host);
    const size_t volume[1] = {2}, offset[1] = {1}, from[1] = {2}, size[1] = {4};
    const int moved =
        omp_target_memcpy_rect(other, memory, sizeof(int), 1, volume, offset, from, size, size, host, host);
    printf("%d %d %d %d, present %d\n", copied, moved, other[1], other[2], omp_target_is_present(value, host));
    printf("%d\n", omp_target_associate_ptr(value, memory, sizeof value, 0, host) != 0);
    printf("%d\n", omp_target_disassociate_ptr(value, host) != 0);
    omp_target_free(memory, host);
    return 0;
}
