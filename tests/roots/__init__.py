# SPDX-License-Identifier: Apache-2.0
"""Uses Ompass in bare Debian systems, each installed in one of three ways: `./run roots`.

systems.py makes the systems. kinds.py installs Ompass, records, reports and builds programs in them.
"""
