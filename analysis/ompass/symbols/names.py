# SPDX-License-Identifier: Apache-2.0
"""Turns symbols into function names as in the source.

Owns demangling, and the removal of suffixes that compilers add when they outline OpenMP constructs (clang
`.omp_outlined`, gcc `._omp_fn`, flang `..omp_par`), or split and clone functions.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable

# Suffixes that compilers append to the name, in any order and number.
_SUFFIX = re.compile(
    r"""(
        \._omp_(fn|cpyfn)\.\d+            # gcc: outlined constructs
      | \.\.omp_(par|task|wsloop)[\w.]*   # flang and clang's IR builder
      | \.omp_outlined(_debug__)?[\d.]*   # clang
      | \.omp_task_entry[\d.]*
      | \.(part|isra|constprop|cold|lto_priv|llvm|clone|localalias|specialized)(\.\d+)*
      | \.\d+
    )$""",
    re.VERBOSE,
)
# Names that consist only of such suffixes, without the name of the original function.
_NAMELESS = re.compile(r"\.?\.omp_(outlined|task_entry|task_dup|par|task)[\w.]*|_omp_fn\.\d+|\.omp[_.][\w.]*")
# The code of a target construct: the device and number of the source file, the function, the line.
_OFFLOADING = re.compile(r"__omp_offloading_[0-9a-f]+_[0-9a-f]+_(?P<name>.+)_l\d+(_\d+)?(_debug__)?")
_FLANG = re.compile(r"_Q(?P<path>(?:[MSF][a-z0-9_]*)*)P(?P<name>[a-z0-9_]+)")
_FLANG_SCOPE = re.compile(r"[MSF]([a-z0-9_]+)")
_GFORTRAN_MODULE = re.compile(r"__(?P<module>[a-z0-9_]+)_MOD_(?P<name>[a-z0-9_]+)")


def readable_name(symbol: str) -> str:
    """Returns the source name behind a symbol; empty if the symbol names only an outlined construct."""
    name = symbol
    while name:
        if _NAMELESS.fullmatch(name):
            return ""
        shorter = _SUFFIX.sub("", name)
        if shorter == name:
            break
        name = shorter
    code = _OFFLOADING.fullmatch(name)
    return demangle(code["name"] if code else name)


def demangle(name: str) -> str:
    """Returns a C++ or Fortran symbol as source text; other names unchanged."""
    if name.startswith("_Z"):
        return _cxx_demangler()(name)
    if name in ("_QQmain", "MAIN__"):
        return "main program"
    if match := _GFORTRAN_MODULE.fullmatch(name):
        return f"{match['module']}::{match['name']}"
    if match := _FLANG.fullmatch(name):
        scopes = _FLANG_SCOPE.findall(match["path"])
        return "::".join([*scopes, match["name"]])
    return name


def short_name(function: str) -> str:
    """Returns a demangled C++ name without parameter list and return type, for narrow columns."""
    name = re.sub(r"( const| volatile| &&?| noexcept)+$", "", function)
    if not name.endswith(")"):
        return function
    depth = 0
    end = 0
    for k in range(len(name) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(name[k], 0)
        if depth == 0:
            end = k
            break
    # the parentheses of `operator()` and of `(anonymous namespace)` belong to the name
    if not end or name[:end].endswith(("operator", "::")):
        return function
    return _without_return_type(name[:end])


def compact_name(function: str, width: int) -> str:
    """Returns the short name; if it exceeds `width`, without template arguments and parameters of scopes."""
    name = short_name(function)
    if len(name) <= width:
        return name
    kept = _without_inner(_LAMBDA.sub("lambda", re.sub(r"( const| volatile| &&?| noexcept)+$", "", function)))
    if kept is None:
        return name
    return _without_return_type(re.sub(r"\blambda::operator\(\)$", "lambda", kept))


_LAMBDA = re.compile(r"'lambda\d*'|\{lambda(?=\()")
_KEPT = re.compile(
    r"\boperator\s*(?:<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\))|\(anonymous namespace\)|->"
)  # brackets that do not enclose anything


def _without_inner(name: str) -> str | None:
    """Returns the text outside of brackets, with <...> for template arguments; None if brackets mismatch."""
    kept: list[str] = []
    open_brackets: list[str] = []
    k = 0
    while k < len(name):
        if match := _KEPT.match(name, k):
            k = match.end()
            if not open_brackets:
                kept.append(match[0])
            continue
        c = name[k]
        if c in "<({":
            if c == "<" and not open_brackets:
                kept.append("<...>")
            open_brackets.append(c)
        elif c in ">)}":
            if not open_brackets:
                if c != "}":  # the end of {lambda(int)#1}
                    return None
            elif open_brackets.pop() + c not in ("<>", "()", "{}"):
                return None
        elif not open_brackets:
            kept.append(c)
        k += 1
    return None if open_brackets else re.sub(r"lambda#\d+", "lambda", "".join(kept))


def _without_return_type(name: str) -> str:
    """Returns `f<int>` for `void f<int>`. Only templates carry their return type, so other names stay."""
    depth = 0
    start = 0
    for k, c in enumerate(name):
        depth += {"<": 1, "(": 1, "{": 1, ">": -1, ")": -1, "}": -1}.get(c, 0)
        if c == " " and depth == 0 and not name[:k].endswith("operator"):
            start = k + 1
    return name[start:]


@functools.cache
def _cxx_demangler() -> Callable[[str], str]:
    """Returns the best available demangler: LLVM's, an installed C++ runtime's, or none.

    An installed C++ runtime may fail on names of newer compilers.
    """
    try:
        from pycxxfilt import itanium_demangle  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return _runtime_demangler()

    def with_llvm(name: str) -> str:
        try:
            return str(itanium_demangle(name) or name)
        except ValueError:
            return name

    return with_llvm


def _runtime_demangler() -> Callable[[str], str]:
    for library in ("libstdc++.so.6", "libc++abi.so.1"):
        try:
            convert = ctypes.CDLL(library).__cxa_demangle
            free = ctypes.CDLL(None).free
        except (OSError, AttributeError):
            continue
        convert.restype = ctypes.c_void_p
        convert.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        free.argtypes = [ctypes.c_void_p]

        def with_runtime(
            name: str, convert: ctypes._NamedFuncPointer = convert, free: ctypes._NamedFuncPointer = free
        ) -> str:
            status = ctypes.c_int(-1)
            text = convert(name.encode(), None, None, ctypes.byref(status))
            if status.value != 0 or not text:
                return name
            try:
                return ctypes.string_at(text).decode(errors="replace")
            finally:
                free(text)

        return with_runtime
    return lambda name: name
