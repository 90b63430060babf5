// SPDX-License-Identifier: Apache-2.0
/*
 * Declares the function of scoped_kernels_other.cpp for scoped_kernels.cpp.
 */
#ifndef OMPASS_TESTS_SCOPED_KERNELS_H
#define OMPASS_TESTS_SCOPED_KERNELS_H

#include <vector>

/* Doubles every value, in a kernel named "double". */
void double_all(std::vector<int> &part);

#endif
