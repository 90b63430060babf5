# SPDX-License-Identifier: Apache-2.0
"""Small programs with one known disease each, to check that the findings name it: `./run diseases`.

labels.py lists the disease of each program, conditions.py the conditions under which it runs. runs.py records
it; matrix.py judges the recordings and prints confusion matrices.
"""
