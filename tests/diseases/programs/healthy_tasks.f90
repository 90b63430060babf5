! SPDX-License-Identifier: Apache-2.0
! Tasks of a fair size, created by every thread from its part of a loop.
program healthy_tasks
  use disease
  implicit none
  integer :: i
  call calibrate()
  !$omp parallel
  !$omp do schedule(static)
  do i = 1, 2400
    !$omp task
    call compute_us(300d0)
    !$omp end task
  end do
  !$omp end do
  !$omp end parallel
end program
