! SPDX-License-Identifier: Apache-2.0
! A binary tree of tasks down to leaves of a quarter of a microsecond.
program fine_tree
  use disease
  implicit none
  call calibrate()
  !$omp parallel
  !$omp single
  do while (go_on())
    call branch(12)
  end do
  !$omp end single
  !$omp end parallel
contains
  recursive subroutine branch(depth)
    integer, intent(in) :: depth
    integer :: child
    if (depth == 0) then
      call compute_us(0.25d0)
      return
    end if
    do child = 1, 2
      !$omp task firstprivate(depth) ! DISEASE
      call branch(depth - 1)
      !$omp end task
    end do
    !$omp taskwait
  end subroutine
end program
