# SPDX-License-Identifier: Apache-2.0
"""A package contains the tool even without optional headers, and the extension if hwloc's header exists."""

import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("ignored", "has_extension"),
    [("/usr/include;/usr/local/include", False), ("", True)],
    ids=["without", "with"],
)
def test_the_package_has_the_extension_only_if_the_hwloc_header_exists(
    ignored: str, has_extension: bool, tmp_path: Path
) -> None:
    # Configures as scikit-build-core does; CMAKE_IGNORE_PATH hides the headers of hwloc and PAPI.
    configured = subprocess.run(
        ["cmake", "-S", _ROOT, "-B", tmp_path, "-G", "Ninja", "-DSKBUILD=2", "-DOMPASS_BUILD_PYTHON=OFF",
         f"-DCMAKE_IGNORE_PATH={ignored}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert configured.returncode == 0, configured.stderr
    assert ("hwloc.h was not found" in configured.stderr) is not has_extension
    targets = subprocess.run(
        ["cmake", "--build", tmp_path, "--target", "help"], capture_output=True, text=True, check=True
    ).stdout
    assert "libompass.so" in targets
    assert ("libomp_ext.so" in targets) is has_extension
