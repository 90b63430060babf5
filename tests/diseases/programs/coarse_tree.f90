! SPDX-License-Identifier: Apache-2.0
! A tree of tasks that is cut off after its first branch, the halves being unequal.
program coarse_tree
  use disease
  implicit none
  call calibrate()
  !$omp parallel
  !$omp single
  call branch(700d3, 1)
  !$omp end single
  !$omp end parallel
contains
  recursive subroutine branch(length_us, depth)
    double precision, intent(in) :: length_us
    integer, intent(in) :: depth
    if (depth == 0) then
      call compute_us(length_us)
      return
    end if
    !$omp task firstprivate(length_us, depth) ! DISEASE
    call branch(0.75d0 * length_us, depth - 1)
    !$omp end task
    !$omp task firstprivate(length_us, depth)
    call branch(0.25d0 * length_us, depth - 1)
    !$omp end task
    !$omp taskwait
  end subroutine
end program
