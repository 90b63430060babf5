! SPDX-License-Identifier: Apache-2.0
! Tasks call a subroutine that sleeps.
program sleeping
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function usleep(us) bind(c, name="usleep")
      import :: c_int
      integer(c_int), value :: us
    end function
  end interface
  integer :: i
  !$omp parallel
  !$omp single
  do i = 1, 6
    !$omp task
    call wait_for_answer()
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
contains
  subroutine wait_for_answer()
    if (usleep(20000_c_int) /= 0) stop 1 ! SLEEPS
  end subroutine
end program
