# SPDX-License-Identifier: Apache-2.0
"""Running programs, watched through the profile that they keep in their logs."""
