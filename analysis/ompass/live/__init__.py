# SPDX-License-Identifier: Apache-2.0
"""Watches running programs through the profiles in their logs."""
