/* SPDX-License-Identifier: Apache-2.0 */
/* The exported functions of libompass_mpi.so. Each passes its Entry (forward.cpp) to forward_call, which reports the
   call and calls MPI's function with the same arguments. forward_call does not know the arguments. It keeps all
   registers that hold arguments, and copies kCopied bytes of the caller's stack, more than the longest list of
   arguments needs. With this copy, the call has a frame of its own, through which exceptions, debuggers and samples
   can pass. symbols.inc, made by CMake from functions.def, has a line FORWARD for each exported name. */

#define kCopied 128 /* 16 arguments beyond those in registers */

    .text
    .balign 16
    .hidden ompass_mpi_is_watched
    .hidden ompass_mpi_begin
    .hidden ompass_mpi_end
    .type forward_call, %function
#if defined(__x86_64__)
#include "forward_x86_64.inc"
#elif defined(__aarch64__)
#include "forward_aarch64.inc"
#endif
    .size forward_call, . - forward_call

    .macro FORWARD symbol, function
    .globl \symbol
    .type \symbol, %function
    .balign 16
\symbol:
    STUB 3f
    .size \symbol, . - \symbol
    .pushsection .data.ompass_mpi, "aw", %progbits
    .balign 8
3:  .quad 0
    .long \function
    .long 4f - .
    .popsection
    .pushsection .rodata.ompass_mpi, "a", %progbits
4:  .asciz "\symbol"
    .popsection
    .endm

    .cfi_startproc
#include "symbols.inc"
    .cfi_endproc

    .section .note.GNU-stack, "", %progbits
