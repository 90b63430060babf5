# SPDX-License-Identifier: Apache-2.0
"""Acar, Charguéraud and Rainey, "Parallel work inflation, memory effects, and their empirical analysis"."""
