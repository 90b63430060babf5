! SPDX-License-Identifier: Apache-2.0
! A loop of tasks behind an if clause that is never true.
program undeferred_if
  use disease
  implicit none
  integer :: i, large
  large = 1000000
  call calibrate()
  !$omp parallel
  !$omp single
  do i = 1, 500
    !$omp task if(i > large) ! DISEASE
    call compute_us(1000d0)
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
end program
