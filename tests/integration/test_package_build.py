# SPDX-License-Identifier: Apache-2.0
"""pip builds the tool and the compiled core, without the headers that only other parts need."""

import subprocess
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def test_the_package_is_built_without_the_extension_and_its_hwloc_header(tmp_path: Path) -> None:
    # As scikit-build-core configures; the ignored folder hides the headers of hwloc and PAPI.
    configured = subprocess.run(
        ["cmake", "-S", _ROOT, "-B", tmp_path, "-G", "Ninja", "-DSKBUILD=2", "-DOMPASS_BUILD_PYTHON=OFF",
         "-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert configured.returncode == 0, configured.stderr
    targets = subprocess.run(
        ["cmake", "--build", tmp_path, "--target", "help"], capture_output=True, text=True, check=True
    ).stdout
    assert "libompass.so" in targets
    assert "libomp_ext.so" not in targets
