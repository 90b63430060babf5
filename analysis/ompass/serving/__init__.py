# SPDX-License-Identifier: Apache-2.0
"""Serves a page to one browser on this machine."""

from ompass.serving.server import PageServer

__all__ = ["PageServer"]
