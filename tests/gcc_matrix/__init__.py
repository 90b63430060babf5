# SPDX-License-Identifier: Apache-2.0
"""Checks every function of gcc's OpenMP runtime on every LLVM runtime.

A program must have the same result as on libgomp, or Ompass must refuse it and name the function.
"""
