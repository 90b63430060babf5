#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec /usr/lib/ompass/bin/python3 -m ompass "$@"
