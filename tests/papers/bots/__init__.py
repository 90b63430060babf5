# SPDX-License-Identifier: Apache-2.0
"""The reproduction of Duran et al., the Barcelona OpenMP Tasks Suite."""
