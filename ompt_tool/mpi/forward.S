/* SPDX-License-Identifier: Apache-2.0 */
/* The exported functions of libompass_mpi.so, for x86-64. Each passes its Entry (forward.cpp) to forward_call, which
   reports the call and calls MPI's function with the same arguments. It needs no knowledge of them: it keeps all
   registers that hold arguments, and copies kCopied bytes of the caller's stack, more than the longest list of
   arguments needs. So the call has a frame of its own, through which exceptions, debuggers and samples can pass.
   symbols.inc, made by CMake from functions.def, has a line FORWARD for each exported name. */

#define kCopied 128 /* 16 arguments beyond the six in registers */

    .text
    .balign 16
    .hidden ompass_mpi_is_watched
    .hidden ompass_mpi_begin
    .hidden ompass_mpi_end
    .type forward_call, @function
forward_call: /* r11: the entry */
    .cfi_startproc
    cmpq $0, (%r11)
    je 1f
    cmpb $0, ompass_mpi_is_watched(%rip)
    jne 1f
    jmp *(%r11)
1:
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $(kCopied + 64 + 128), %rsp
    movq %rdi, kCopied+0(%rsp)
    movq %rsi, kCopied+8(%rsp)
    movq %rdx, kCopied+16(%rsp)
    movq %rcx, kCopied+24(%rsp)
    movq %r8, kCopied+32(%rsp)
    movq %r9, kCopied+40(%rsp)
    movq %rax, kCopied+48(%rsp) /* its lowest byte counts vector registers of variadic calls */
    movq %r11, kCopied+56(%rsp)
    movaps %xmm0, kCopied+64(%rsp)
    movaps %xmm1, kCopied+80(%rsp)
    movaps %xmm2, kCopied+96(%rsp)
    movaps %xmm3, kCopied+112(%rsp)
    movaps %xmm4, kCopied+128(%rsp)
    movaps %xmm5, kCopied+144(%rsp)
    movaps %xmm6, kCopied+160(%rsp)
    movaps %xmm7, kCopied+176(%rsp)
    movq %r11, %rdi
    movq 8(%rbp), %rsi
    leaq 16(%rbp), %rdx
    call ompass_mpi_begin
    movl %eax, %r10d
    movq kCopied+0(%rsp), %rdi
    movq kCopied+8(%rsp), %rsi
    movq kCopied+16(%rsp), %rdx
    movq kCopied+24(%rsp), %rcx
    movq kCopied+32(%rsp), %r8
    movq kCopied+40(%rsp), %r9
    movq kCopied+48(%rsp), %rax
    movq kCopied+56(%rsp), %r11
    movaps kCopied+64(%rsp), %xmm0
    movaps kCopied+80(%rsp), %xmm1
    movaps kCopied+96(%rsp), %xmm2
    movaps kCopied+112(%rsp), %xmm3
    movaps kCopied+128(%rsp), %xmm4
    movaps kCopied+144(%rsp), %xmm5
    movaps kCopied+160(%rsp), %xmm6
    movaps kCopied+176(%rsp), %xmm7
    testb %r10b, %r10b
    je 2f
    .set offset, 0
    .rept kCopied / 16
    movups 16+offset(%rbp), %xmm8
    movaps %xmm8, offset(%rsp)
    .set offset, offset + 16
    .endr
    call *(%r11)
    movq %rax, kCopied+0(%rsp)
    movq %rdx, kCopied+8(%rsp)
    movaps %xmm0, kCopied+64(%rsp)
    movaps %xmm1, kCopied+80(%rsp)
    call ompass_mpi_end
    movq kCopied+0(%rsp), %rax
    movq kCopied+8(%rsp), %rdx
    movaps kCopied+64(%rsp), %xmm0
    movaps kCopied+80(%rsp), %xmm1
    .cfi_remember_state
    leave
    .cfi_def_cfa %rsp, 8
    ret
2: /* nothing to record: MPI's function returns to the caller */
    .cfi_restore_state
    leave
    .cfi_def_cfa %rsp, 8
    jmp *(%r11)
    .cfi_endproc
    .size forward_call, . - forward_call

    .macro FORWARD symbol, function
    .globl \symbol
    .type \symbol, @function
    .balign 16
\symbol:
    endbr64
    leaq 3f(%rip), %r11
    jmp forward_call
    .size \symbol, . - \symbol
    .pushsection .data.ompass_mpi, "aw", @progbits
    .balign 8
3:  .quad 0
    .long \function
    .long 4f - .
    .popsection
    .pushsection .rodata.ompass_mpi, "a", @progbits
4:  .asciz "\symbol"
    .popsection
    .endm

    .cfi_startproc
#include "symbols.inc"
    .cfi_endproc

    .section .note.GNU-stack, "", @progbits
