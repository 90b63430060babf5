! SPDX-License-Identifier: Apache-2.0
! A tree of tasks down to leaves of half a millisecond.
program healthy_tree
  use disease
  implicit none
  call calibrate()
  !$omp parallel
  !$omp single
  call branch(11)
  !$omp end single
  !$omp end parallel
contains
  recursive subroutine branch(depth)
    integer, intent(in) :: depth
    integer :: child
    if (depth == 0) then
      call compute_us(500d0)
      return
    end if
    do child = 1, 2
      !$omp task firstprivate(depth)
      call branch(depth - 1)
      !$omp end task
    end do
    !$omp taskwait
  end subroutine
end program
