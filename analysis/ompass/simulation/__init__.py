# SPDX-License-Identifier: Apache-2.0
"""What a recorded run would be elsewhere: machines, simulated runs, advice that follows from them."""
