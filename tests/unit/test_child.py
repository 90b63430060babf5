# SPDX-License-Identifier: Apache-2.0
"""`ompass run` does not change a program's ending, signals, streams or open files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Runs a child as `ompass run` does, and does nothing else.
DRIVER = """
import os, sys
from ompass.launch.child import run_child, end_as
argv = sys.argv[1:]
ending = run_child(argv[0], argv, os.environ)
print(ending.describe(), file=sys.stderr, flush=True)
end_as(ending)
"""


def driven(*argv: str) -> list[str]:
    return [sys.executable, "-c", DRIVER, *argv]


def python(code: str) -> list[str]:
    return driven(sys.executable, "-c", code)


def test_command_has_one_thread_when_it_starts_the_program() -> None:
    code = "import ompass.commands.main, os; print(len(os.listdir('/proc/self/task')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n", "another thread would receive signals"


def test_end_is_noticed_even_if_another_thread_receives_the_signal() -> None:
    threaded = (
        "import threading, time; threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", threaded + DRIVER, "/bin/sh", "-c", "exit 3"], timeout=15, check=False
    )
    assert done.returncode == 3


def test_the_command_survives_a_stop_that_is_longer_than_its_poll_interval() -> None:
    with subprocess.Popen(driven("/bin/sh", "-c", "sleep 4; exit 3"), stderr=subprocess.PIPE) as process:
        time.sleep(1)  # until it waits for the program
        for _ in range(2):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.8)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.1)
        assert process.wait(15) == 3
        assert process.stderr and process.stderr.read() == b"exited with 3\n"


@pytest.mark.parametrize("code", [0, 1, 77, 255])
def test_exit_code_of_the_program_is_passed_on(code: int) -> None:
    done = subprocess.run(
        driven("/bin/sh", "-c", f"exit {code}"), capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert done.stderr == f"exited with {code}\n"


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT, signal.SIGABRT]
)
def test_death_by_signal_is_passed_on(number: signal.Signals) -> None:
    done = subprocess.run(
        driven("/bin/sh", "-c", f"kill -{int(number)} $$"), capture_output=True, text=True, check=False
    )
    assert done.returncode == -number
    assert done.stderr == f"was ended by {number.name}\n"


def test_the_program_keeps_its_streams() -> None:
    done = subprocess.run(
        driven("/bin/sh", "-c", "cat; echo err >&2"),
        input="in\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "in\n"
    assert done.stderr.startswith("err\n")


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGWINCH,
    ],
)
def test_signal_to_the_command_reaches_the_program(number: signal.Signals) -> None:
    # The handler calls only functions that are safe in handlers.
    code = (
        "import os, signal, time\n"
        f"signal.signal({int(number)}, lambda *_: (os.write(1, b'got it\\n'), os._exit(9)))\n"
        "os.write(1, b'ready\\n')\n"
        "time.sleep(20)\n"
    )
    with subprocess.Popen(python(code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(number)
        assert child.stdout.read() == "got it\n"
        assert child.wait(30) == 9


def test_interrupt_from_the_terminal_reaches_the_program_once() -> None:
    code = (
        "import signal, time\n"
        "n = 0\n"
        "def count(*_):\n"
        "    global n\n"
        "    n += 1\n"
        "signal.signal(signal.SIGINT, count)\n"
        "print('ready', flush=True)\n"
        "time.sleep(1.5)\n"
        "print(n, 'interrupts', flush=True)\n"
    )
    primary, secondary = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", CONTROLLING_TERMINAL, *python(code)],
        stdin=secondary, stdout=secondary, stderr=secondary, start_new_session=True,
    ) as child:  # fmt: skip
        os.close(secondary)
        shown = _read_until(primary, b"ready")
        os.write(primary, b"\x03")
        shown += _read_until(primary, b"interrupts")
        assert child.wait(30) == 0
    os.close(primary)
    assert b"1 interrupts" in shown


# A new session has no terminal until it acquires one.
CONTROLLING_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def _read_until(terminal: int, what: bytes) -> bytes:
    shown = b""
    deadline = time.monotonic() + 30
    while what not in shown and time.monotonic() < deadline:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            break
    return shown


def test_open_files_are_inherited(tmp_path: Path) -> None:
    path = tmp_path / "open"
    with path.open("w", encoding="utf-8") as stream:
        os.set_inheritable(stream.fileno(), True)
        code = f"import os; os.write({stream.fileno()}, b'there')"
        subprocess.run(python(code), check=True, close_fds=False, capture_output=True)
    assert path.read_text(encoding="utf-8") == "there"


def test_signals_that_python_ignores_are_not_ignored_in_the_program() -> None:
    alone = subprocess.run(
        ["/bin/cat", "/proc/self/status"], capture_output=True, text=True, check=True
    ).stdout
    under = subprocess.run(
        driven("/bin/cat", "/proc/self/status"), capture_output=True, text=True, check=True
    ).stdout

    # The C library reserves signals 32 and 33, which posix_spawn treats differently.
    real_signals = ~((1 << 31) | (1 << 32))

    def masks(status: str) -> list[int]:
        lines = [line.split() for line in status.splitlines() if line.startswith(("SigIgn", "SigBlk"))]
        return [int(words[1], 16) & real_signals for words in lines]

    assert masks(under) == masks(alone)


def test_program_that_cannot_be_started_leaves_the_signals_unchanged(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    text.chmod(0o755)
    code = (
        "import os, signal, sys\n"
        "from ompass.launch.child import run_child\n"
        "before = signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
        "try:\n"
        "    run_child(sys.argv[1], sys.argv[1:], os.environ)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, signal.pthread_sigmask(signal.SIG_BLOCK, []) == before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(text)], capture_output=True, text=True, check=True)
    assert done.stdout == "ProgramNotFoundError True\n"


def test_help_needs_only_the_packages_of_the_build() -> None:
    heavy = {"numpy", "polars", "google", "textual", "symbolic", "otf2", "perfetto", "vl_convert"}
    code = f"import ompass.commands.main, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n", "the build of manual pages has only typer and pyelftools"
