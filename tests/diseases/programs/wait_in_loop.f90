! SPDX-License-Identifier: Apache-2.0
! A taskwait inside the loop that should be after it.
program wait_in_loop
  use disease
  implicit none
  integer :: i
  call calibrate()
  !$omp parallel
  !$omp single
  do i = 1, 1000
    !$omp task
    call compute_us(500d0)
    !$omp end task
    !$omp taskwait ! DISEASE
  end do
  !$omp end single
  !$omp end parallel
end program
