! SPDX-License-Identifier: Apache-2.0
! A tree of tasks that is cut off after its first branch, whose two tasks are unequal. Cured: cut off
! below two milliseconds.
program coarse_tree
  use disease
  implicit none
#ifdef CURED
  double precision, parameter :: cut_off_us = 2d3
#else
  double precision, parameter :: cut_off_us = 600d3
#endif
  call calibrate()
  !$omp parallel
  !$omp single
  call branch(700d3)
  !$omp end single
  !$omp end parallel
contains
  recursive subroutine branch(length_us)
    double precision, intent(in) :: length_us
    if (length_us < cut_off_us) then
      call compute_us(length_us)
      return
    end if
    !$omp task firstprivate(length_us) ! DISEASE
    call branch(0.75d0 * length_us)
    !$omp end task
    !$omp task firstprivate(length_us)
    call branch(0.25d0 * length_us)
    !$omp end task
    !$omp taskwait
  end subroutine
end program
