# SPDX-License-Identifier: Apache-2.0
"""The tool built with AddressSanitizer and UndefinedBehaviorSanitizer, loaded into every kind of program.

These tests look only for memory errors and undefined behaviour. Other tests check the recordings.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from toolchains import PROGRAMS, REPOSITORY, Record

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
# dlopen_library loads a library without a sanitizer runtime. In detached_thread, main returns while a thread
# is in libomp; libomp 19 may crash then, with any tool.
LEFT_OUT = {"dlopen_library", "detached_thread"}
KINDS = sorted(
    path.relative_to(PROGRAMS).as_posix()
    for suffix in ("c", "cpp")
    for path in (PROGRAMS / "kinds").glob(f"*.{suffix}")
    if path.stem not in LEFT_OUT
)


@pytest.fixture(scope="module")
def sanitized_tool() -> Path:
    library = REPOSITORY / "build" / "asan-ubsan" / "lib" / "libompass.so"
    if not library.is_file():
        pytest.fail(f"{library} is not built: ./run test builds it")
    assert b"__asan_init" in library.read_bytes(), "the library is not instrumented"
    return library


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("kind", KINDS)
def test_sanitizers_find_no_error_in_the_tool(
    kind: str, mode: str, sanitized_tool: Path, record: Record
) -> None:
    recorded = record(
        kind,
        opt_level="-O1",
        flags=SANITIZERS,
        mode=mode,
        environment={
            "OMP_TOOL_LIBRARIES": str(sanitized_tool),
            "OMP_CANCELLATION": "true",
            # Logs stay mapped until the process ends, which LeakSanitizer would report.
            "ASAN_OPTIONS": "detect_leaks=0",
        },
    )
    assert recorded.run_dir.is_dir(), "nothing was recorded"
    # An error in a forked child does not change the program's status.
    assert "Sanitizer" not in recorded.process.stderr
    assert "runtime error" not in recorded.process.stderr
