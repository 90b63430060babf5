# SPDX-License-Identifier: Apache-2.0
# Fails if a library exports symbols other than its API and the runtime's functions that it wraps, or is linked with a
# library other than libc. Run as:
#   cmake -D LIBRARY= -D REQUIRED="symbol;..." -D ALLOWED=REGEX -D NM= -D READELF= -P check_library_surface.cmake
# ALLOWED matches the other symbols that may be exported.
cmake_minimum_required(VERSION 3.25)

function(lines_of output)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${text}")
  set(${output} "${lines}" PARENT_SCOPE)
endfunction()

set(failed FALSE)
lines_of(symbols "${NM}" --dynamic --defined-only --format=posix "${LIBRARY}")
foreach(line IN LISTS symbols)
  string(REGEX MATCH "^[^ ]+" symbol "${line}")
  string(REGEX REPLACE "@@?[A-Z0-9_.]+$" "" symbol "${symbol}")
  if(symbol AND NOT symbol IN_LIST REQUIRED AND NOT symbol MATCHES "^(${ALLOWED})$")
    message(SEND_ERROR "exported, but not part of the API: ${symbol}")
    set(failed TRUE)
  endif()
endforeach()
foreach(required IN LISTS REQUIRED)
  if(NOT symbols MATCHES "(^|;)${required} T")
    message(SEND_ERROR "not exported: ${required}")
    set(failed TRUE)
  endif()
endforeach()

lines_of(entries "${READELF}" --dynamic --wide "${LIBRARY}")
foreach(line IN LISTS entries)
  if(line MATCHES "\\(NEEDED\\).*\\[(.*)\\]")
    set(needed "${CMAKE_MATCH_1}")
    if(NOT needed MATCHES "^(libc\\.so\\.6|ld-linux.*)$")
      message(SEND_ERROR "linked with a library other than libc: ${needed}")
      set(failed TRUE)
    endif()
  endif()
endforeach()
if(failed)
  message(FATAL_ERROR "${LIBRARY} is not as self-contained as it must be")
endif()
