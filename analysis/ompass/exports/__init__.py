# SPDX-License-Identifier: Apache-2.0
"""Timelines for other programs: Perfetto, OTF2, Jedule. They compute no figures."""

from ompass.exports.jedule import write_jedule
from ompass.exports.otf2_archive import write_otf2
from ompass.exports.perfetto import write_perfetto

__all__ = ["write_jedule", "write_otf2", "write_perfetto"]
