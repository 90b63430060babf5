! SPDX-License-Identifier: Apache-2.0
! A parallel loop whose iterations sleep, as if they read from a slow disk.
program blocked_loop
  use disease
  implicit none
  integer :: i
  call calibrate()
  !$omp parallel do schedule(dynamic) ! DISEASE
  do i = 1, 300
    call compute_us(300d0)
    call sleep_us(3000)
  end do
  !$omp end parallel do
end program
