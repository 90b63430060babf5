! SPDX-License-Identifier: Apache-2.0
!
! The marks of the Fortran module ompass: nested kernels with their data, in tasks, and two phases. The marks are the
! same with and without OpenMP; the KERNEL lines state what must be recorded. The program waits for each task at once,
! because with flang 19 a task sees later values of its firstprivate variables.
program kernels
  use, intrinsic :: iso_c_binding, only: c_loc
  use, intrinsic :: iso_fortran_env, only: int64
  use ompass
  implicit none
  integer, parameter :: n_blocks = 24, block_length = 128
  double precision, target :: blocks(block_length, n_blocks)
  double precision, target :: sums(n_blocks)
  integer :: block, n_tasks, n_regions

  n_tasks = 0
  n_regions = 0
  call ompass_phase('filling')
  !$omp parallel
  !$omp single
  !$ n_regions = n_regions + 1
  do block = 1, n_blocks
    !$omp task firstprivate(block)
    call fill(block)
    !$omp atomic
    n_tasks = n_tasks + 1
    !$omp end task
    !$omp taskwait
  end do
  !$omp end single
  !$omp end parallel
  call ompass_phase('reducing    ')
  !$omp parallel
  !$omp single
  !$ n_regions = n_regions + 1
  do block = 1, n_blocks
    !$omp task firstprivate(block)
    call reduce(block)
    !$omp atomic
    n_tasks = n_tasks + 1
    !$omp end task
    !$omp taskwait
  end do
  !$omp end single
  !$omp end parallel
  call ompass_phase('')
  if (n_tasks /= 2 * n_blocks) error stop 'tasks are missing'
  if (nint(sum(sums)) /= block_length * (n_blocks * (n_blocks + 1) / 2)) error stop 'a sum is wrong'
  if (n_regions == 0) n_tasks = 0
  print '(a, i0)', 'total ', nint(sum(sums))
  print '(a)', 'PHASES filling reducing'
  print '(a, i0, a, i0)', 'KERNEL fill count=', n_blocks, ' read_bytes=0 write_bytes=', 8 * block_length * n_blocks
  print '(a, i0, a, i0, a)', 'KERNEL reduce count=', n_blocks, ' read_bytes=', 8 * block_length * n_blocks, ' write_bytes=0'
  print '(a, i0, a, i0)', 'KERNEL store count=', n_blocks, ' read_bytes=0 write_bytes=', 8 * n_blocks
  print '(a, i0, a, i0)', 'FACTS tasks=', n_tasks, ' regions=', n_regions

contains

  subroutine fill(block)
    integer, intent(in) :: block
    call ompass_kernel_begin('fill')
    call ompass_write(blocks(1, block), 8 * block_length)
    blocks(:, block) = block
    call ompass_kernel_end()
  end subroutine

  subroutine reduce(block)
    integer, intent(in) :: block
    integer, parameter :: half = block_length / 2
    character(len=20) :: name
    name = 'reduce'
    call ompass_kernel_begin(name)
    call ompass_read(blocks(1:half, block), 8_int64 * half)
    call ompass_read_at(c_loc(blocks(half + 1, block)), 8 * (block_length - half))
    call ompass_kernel_begin('store')
    call ompass_write(sums(block), 8)
    sums(block) = sum(blocks(:, block))
    call ompass_kernel_end()
    call ompass_kernel_end()
  end subroutine
end program kernels
