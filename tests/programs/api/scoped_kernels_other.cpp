// SPDX-License-Identifier: Apache-2.0
/*
 * The second source file of scoped_kernels: includes ompass.h again, so that its definitions meet at link time.
 */
#include "scoped_kernels.h"

#include "ompass.h"

void double_all(std::vector<int> &part) {
    const ompass::Kernel kernel("double");
    kernel.read(part.data(), part.size() * sizeof(int));
    kernel.write(part.data(), part.size() * sizeof(int));
    for (int &value : part) value *= 2;
}
