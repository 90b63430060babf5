! SPDX-License-Identifier: Apache-2.0
! One thread checks the result of a parallel computation for as long as two threads computed. Cured: all check.
program serial_check
  use disease
  implicit none
  integer, parameter :: n = 600
  integer :: i, n_wrong
  double precision :: values(n)
  n_wrong = 0
  call calibrate()
  !$omp parallel do schedule(dynamic)
  do i = 1, n
    call compute_us(1000d0)
    values(i) = dble(i)
  end do
  !$omp end parallel do
#ifdef CURED
  !$omp parallel do schedule(dynamic) reduction(+: n_wrong)
#endif
  do i = 1, n
    call compute_us(500d0)
    if (values(i) /= dble(i)) n_wrong = n_wrong + 1
  end do
  if (n_wrong > 0) stop 1
end program
