! SPDX-License-Identifier: Apache-2.0
! A parallel loop whose iterations sleep, as if they read from a slow disk. Cured: one sleep before the loop.
program blocked_loop
  use disease
  implicit none
  integer :: i
  call calibrate()
#ifdef CURED
  call sleep_us(3000)
#endif
  !$omp parallel do schedule(dynamic) ! DISEASE
  do i = 1, 300
    call compute_us(300d0)
#ifndef CURED
    call sleep_us(3000) ! HOT
#endif
  end do
  !$omp end parallel do
end program
