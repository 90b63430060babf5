# SPDX-License-Identifier: Apache-2.0
"""Records the runs of tests/fuzz/runs: inputs of the fuzzer with files and records that the golden runs lack.

Run this in the project's environment, with the native libraries and the test runtimes in build/:

    PYTHONPATH=tests:tests/support .venv/bin/python -m fuzz.record
"""

from __future__ import annotations

import shutil

from fuzz.seeds import RUNS, file_number
from golden.record import LIBRARIES, NEUTRAL, Case, make_neutral, pack, record
from toolchains import BUILD

CASES = (
    Case("kept", "survival/long_run.c", ("60",), environment={"OMPASS_KEEP_LAST": "256K"}),
    Case("kept-profile", "survival/long_run.c", ("20",), environment={"OMPASS_KEEP_LAST": "10ms"}),
    Case("samples", "samples/shares.c", environment={"OMPASS_SAMPLE": "1000"}),
)


def main() -> None:
    RUNS.mkdir(exist_ok=True)
    NEUTRAL.mkdir()
    try:
        for library in LIBRARIES:
            shutil.copy(BUILD / "lib" / library, NEUTRAL)
        for case in CASES:
            run_dir, _ = record(case)
            for path in run_dir.iterdir():
                if file_number(path.name) is None and path.name != "meta.json":
                    path.unlink()
            make_neutral(run_dir)
            print(f"{case.name}: {pack(run_dir, RUNS / f'{case.name}.tar.xz')} bytes")
    finally:
        shutil.rmtree(NEUTRAL)


if __name__ == "__main__":
    main()
