# SPDX-License-Identifier: Apache-2.0
"""Doctor: checks what recording needs or uses on this machine, and advises what to install."""

from ompass.doctor.checks import Check, Verdict, examine_machine

__all__ = ["Check", "Verdict", "examine_machine"]
