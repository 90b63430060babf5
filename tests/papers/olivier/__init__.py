# SPDX-License-Identifier: Apache-2.0
"""Olivier et al., "Characterizing and mitigating work time inflation in task parallel programs" (2013)."""
