# SPDX-License-Identifier: Apache-2.0
"""Plays many random sequences of OMPT events to the tool, and prints the results as JSON.

    python tests/benchmarks/event_sequences.py [--sequences 20000] [--first 1] [--build DIR] [-o FILE]

A third of the sequences uses any order of events that OMPT allows. Another third also uses numbers that OMPT
does not define yet, and the last third contradicts itself. `failed` must be 0. A sequence fails if the tool
crashes, hangs or writes an unreadable trace. It also fails if counts or times are wrong and the run does not
report the contradiction (`explained_batches`). Needs a build with tests (`cmake --build --preset release`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sequences", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=1, help="seed of the first sequence")
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    begin = monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                arguments.build / "bin" / "ompass-events",
                "--library", arguments.build / "lib" / "libompass.so",
                "--first", str(arguments.first),
                "--sequences", str(arguments.sequences),
                "--batch", "50",
                "--directory", folder,
            ],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )  # fmt: skip
    result = json.loads(done.stdout) | {"seconds": round(monotonic() - begin, 1)}
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n", encoding="utf-8")
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
