# SPDX-License-Identifier: Apache-2.0
"""The command `ompass`, also run as `python -m ompass`. Prints one line if the compiled part is missing."""

import gc
import sys


def main() -> None:
    """Runs the command. In most ranks of an MPI job, `start_rank` replaces this process with the program."""
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    if first == "run" or first.startswith("-") or "/" in first:
        from ompass.launch.rank_start import start_rank

        start_rank(sys.argv[1:])
    # Imports create many objects but no garbage; looking for garbage would take a tenth of the start-up time.
    gc.set_threshold(200_000)
    try:
        from ompass.commands.main import main as command

        command()
    except ImportError as error:
        if "_core" not in f"{error.name} {error}":
            raise
        from ompass.errors import IncompleteInstallationError

        incomplete = IncompleteInstallationError(
            "the compiled part of ompass (ompass._core) cannot be loaded",
            str(error),
            "reinstall the package with `pip install --force-reinstall .` in the source directory",
        )
        print(f"ompass: error: {incomplete.one_line()}", file=sys.stderr)
        sys.exit(incomplete.exit_code)


if __name__ == "__main__":
    main()
