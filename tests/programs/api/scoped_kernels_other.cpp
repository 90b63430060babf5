// SPDX-License-Identifier: Apache-2.0
/*
 * The second source file of scoped_kernels: includes ompass.h too, so the linker sees its definitions twice.
 */
#include "scoped_kernels.h"

#include "ompass.h"

void double_all(std::vector<int> &part) {
    const ompass::Kernel kernel("double");
    kernel.read(part.data(), part.size() * sizeof(int));
    kernel.write(part.data(), part.size() * sizeof(int));
    for (int &value : part) value *= 2;
}
