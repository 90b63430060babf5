# SPDX-License-Identifier: Apache-2.0
"""Builds Ompass's libraries with Spack (see docs/install.md).

The recipe leaves out the command: Spack lacks some of the Python packages that it needs.
"""

import os

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass


class Ompass(CMakePackage):
    """Records OpenMP tasks and adds locality domains: libompass, libomp_ext, headers, Fortran modules."""

    license("Apache-2.0")

    version("0.1.0")  # of a checkout: spack dev-build ompass@0.1.0

    variant("papi", default=False, description="Hardware counters through PAPI")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("boost+context+pic", type="build")  # its static library
    depends_on("hwloc@2:")  # opened at run time
    depends_on("llvm-openmp@14:", type=("build", "run"))  # omp-tools.h, and the runtime of recorded programs
    depends_on("papi", when="+papi")

    conflicts("%gcc@:10", msg="the sources are C++20")

    def cmake_args(self):
        header = find(self.spec["llvm-openmp"].prefix, "omp-tools.h")[0]
        return [
            self.define("OMPASS_BUILD_BOTS", False),
            self.define("OMPASS_BUILD_TESTS", False),
            self.define("OMPASS_OMPT_INCLUDE_DIR", os.path.dirname(header)),
        ]

    def setup_run_environment(self, env):
        library = find_libraries("libompass", self.prefix, shared=True, recursive=True)
        env.set("OMPASS_LIBRARY", library[0])
