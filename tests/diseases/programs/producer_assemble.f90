! SPDX-License-Identifier: Apache-2.0
! The producer fills each block before it creates the task that adds the block up. Cured: the task fills it.
program producer_assemble
  use disease
  implicit none
  integer, parameter :: n = 4000, n_blocks = 60, n_steps = 60
  double precision, save :: blocks(n, n_blocks), sums(n_blocks)
  integer :: step, block
  call calibrate()
  !$omp parallel
  !$omp single
  do step = 1, n_steps
    do block = 1, n_blocks
      call process(block)
    end do
    !$omp taskwait
  end do
  !$omp end single
  !$omp end parallel
  if (sum(sums) < 0d0) stop 1
contains
  subroutine process(block)
    integer, value :: block
#ifndef CURED
    call assemble(block)
#endif
    !$omp task firstprivate(block) ! DISEASE
#ifdef CURED
    call assemble(block)
#endif
    call add_up(block)
    !$omp end task
  end subroutine

  subroutine assemble(block)
    integer, intent(in) :: block
    integer :: i
    do i = 1, n
      blocks(i, block) = 2d0 + sin(dble(i + block)) * cos(dble(i))
    end do
  end subroutine

  subroutine add_up(block)
    integer, intent(in) :: block
    integer :: i
    sums(block) = 0d0
    do i = 1, n
      sums(block) = sums(block) + sqrt(blocks(i, block))
    end do
  end subroutine
end program
