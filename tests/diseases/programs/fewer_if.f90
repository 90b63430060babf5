! SPDX-License-Identifier: Apache-2.0
! An if clause that judges by the number of iterations, not by their length: one thread runs the loop. Cured: by both.
program fewer_if
  use disease
  implicit none
  integer, parameter :: n = 400
  integer :: i
#ifdef CURED
  double precision, parameter :: cost_us = 1500d0
#else
  double precision, parameter :: cost_us = 1d0
#endif
  call calibrate()
  !$omp parallel do schedule(dynamic) if(n * cost_us > 1d4) ! DISEASE
  do i = 1, n
    call compute_us(1500d0)
  end do
  !$omp end parallel do
end program
