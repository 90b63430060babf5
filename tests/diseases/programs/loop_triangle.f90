! SPDX-License-Identifier: Apache-2.0
! A static loop over a triangle.
program loop_triangle
  use disease
  implicit none
  integer :: i
  call calibrate()
  !$omp parallel do schedule(static) ! DISEASE
  do i = 1, 1200
    call compute_us(dble(i))
  end do
  !$omp end parallel do
end program
