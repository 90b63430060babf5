! SPDX-License-Identifier: Apache-2.0
! A loop that sums up in a critical section instead of a reduction.
program critical_loop
  use disease
  implicit none
  integer :: i
  double precision :: total
  total = 0d0
  call calibrate()
  !$omp parallel do schedule(static)
  do i = 1, 3000
    call compute_us(50d0)
    !$omp critical (totals) ! DISEASE
    call compute_us(150d0)
    total = total + 1d0
    !$omp end critical (totals)
  end do
  !$omp end parallel do
  if (total < 0d0) stop 1
end program
