# SPDX-License-Identifier: Apache-2.0
"""Doctor: what of this machine recording needs or profits from, and what to install where it is missing."""

from ompass.doctor.checks import Check, Verdict, examine_machine

__all__ = ["Check", "Verdict", "examine_machine"]
