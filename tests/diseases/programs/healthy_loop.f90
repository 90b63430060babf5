! SPDX-License-Identifier: Apache-2.0
! A loop of equal iterations.
program healthy_loop
  use disease
  implicit none
  integer :: i
  call calibrate()
  !$omp parallel do schedule(static)
  do i = 1, 9600
    call compute_us(80d0)
  end do
  !$omp end parallel do
end program
