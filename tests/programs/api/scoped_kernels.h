// SPDX-License-Identifier: Apache-2.0
/*
 * What scoped_kernels.cpp calls in scoped_kernels_other.cpp.
 */
#ifndef OMPASS_TESTS_SCOPED_KERNELS_H
#define OMPASS_TESTS_SCOPED_KERNELS_H

#include <vector>

/* Doubles every value, in a kernel of the name "double". */
void double_all(std::vector<int> &part);

#endif
