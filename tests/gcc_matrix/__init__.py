# SPDX-License-Identifier: Apache-2.0
"""Every function of gcc's OpenMP runtime on every LLVM runtime: the result of libgomp, or a refusal."""
