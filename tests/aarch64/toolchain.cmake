# SPDX-License-Identifier: Apache-2.0
# Cross-compiles for AArch64 with clang-19 and runs programs in qemu's user-mode emulator. OMPASS_SYSROOT is a folder
# with Debian's libraries for AArch64; `./run aarch64` makes it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OMPASS_SYSROOT)
set(CMAKE_SYSROOT "${OMPASS_SYSROOT}")
foreach(language C CXX ASM)
  set(CMAKE_${language}_COMPILER_TARGET aarch64-linux-gnu)
endforeach()
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_ASM_COMPILER clang-19)
foreach(kind EXE SHARED MODULE)
  # lld would export the symbols at both ends of a section.
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-fuse-ld=lld-19 -Wl,-z,start-stop-visibility=hidden")
endforeach()
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;${OMPASS_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
