# SPDX-License-Identifier: Apache-2.0
"""Recorded runs on other machines: machine descriptions, simulated runs, and advice based on them."""
