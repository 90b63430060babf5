# SPDX-License-Identifier: Apache-2.0
"""Small programs with one known disease each, and whether the findings name it: `./run diseases`.

labels.py says what ails a program, conditions.py on what machine it runs, runs.py records it, matrix.py
judges the recordings and shows who was taken for whom.
"""
