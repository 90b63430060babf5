# SPDX-License-Identifier: Apache-2.0
"""`./run roots`: installs and uses Ompass in bare Debian systems, and prints a table."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from ompass.errors import OmpassError, UsageError
from roots.kinds import KINDS, Step, steps_of
from roots.systems import RELEASES, System
from toolchains import REPOSITORY

FOLDER = REPOSITORY / "build" / "roots"


def main() -> int:
    arguments = parsed()
    if os.geteuid() != 0:
        raise UsageError("./run roots", "only root can make a system", "run it as root, or with sudo")
    if shutil.which("mmdebstrap") is None:
        raise UsageError("mmdebstrap", "the command is missing", "apt-get install mmdebstrap")
    failed = False
    print("| Debian | kind | steps, in seconds |\n|---|---|---|", flush=True)
    for release in arguments.release.split(","):
        for kind in arguments.kind.split(","):
            steps = []
            for step in steps_of(
                kind, release, FOLDER, arguments.wheels, with_tests=arguments.test, compiled=arguments.ccache
            ):
                steps.append(step)
                say(release, kind, step)
            print(f"| {release} | {kind} | {', '.join(map(shown, steps))} |", flush=True)
            failed |= bool(steps[-1].failure)
            if not arguments.keep:
                System(FOLDER / release / kind, FOLDER).remove()
    return int(failed)


def shown(step: Step) -> str:
    return f"**{step.name} FAILED**" if step.failure else f"{step.name} {step.seconds:.0f}"


def say(release: str, kind: str, step: Step) -> None:
    """Writes the progress, and the reason of a failure, to stderr."""
    print(f"Debian {release}, {kind}: {shown(step)}", file=sys.stderr, flush=True)
    if step.failure:
        print(step.failure, file=sys.stderr, flush=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run roots", description=__doc__)
    parser.add_argument(
        "--release", default=",".join(RELEASES), metavar="LIST", help="Debian releases (12,13)"
    )
    parser.add_argument(
        "--kind",
        default=",".join(KINDS),
        metavar="LIST",
        help=f"ways to install ({','.join(KINDS)}); wheel and deb need the wheel of an earlier source build",
    )
    parser.add_argument("--test", action="store_true", help="also ./run test, which takes an hour or more")
    parser.add_argument(
        "--wheels",
        type=Path,
        default=FOLDER / "wheels",
        metavar="FOLDER",
        help="wheels to install, such as dist of ./run wheel; by default those that the source builds make",
    )
    parser.add_argument(
        "--ccache",
        type=Path,
        metavar="FOLDER",
        help="compile with ccache and this cache; installs ccache in the source's system",
    )
    parser.add_argument("--keep", action="store_true", help="keep the systems in build/roots")
    arguments = parser.parse_args()
    for option, known in (("release", tuple(RELEASES)), ("kind", KINDS)):
        for name in getattr(arguments, option).split(","):
            if name not in known:
                parser.error(f"--{option}: {name} is not one of {', '.join(known)}")
    return arguments


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OmpassError as error:
        sys.exit(f"error: {error.one_line()}")
