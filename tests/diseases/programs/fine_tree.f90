! SPDX-License-Identifier: Apache-2.0
! A binary tree of tasks down to leaves of a quarter of a microsecond. Cured: a leaf does the work of 512.
program fine_tree
  use disease
  implicit none
#ifdef CURED
  integer, parameter :: leaf_depth = 9
#else
  integer, parameter :: leaf_depth = 0
#endif
  call calibrate()
  !$omp parallel
  !$omp single
  call branch(19)
  !$omp end single
  !$omp end parallel
contains
  recursive subroutine branch(depth)
    integer, intent(in) :: depth
    integer :: child
    if (depth == leaf_depth) then
      call compute_us(0.25d0 * 2**leaf_depth)
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
