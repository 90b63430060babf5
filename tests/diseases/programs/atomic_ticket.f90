! SPDX-License-Identifier: Apache-2.0
! Threads draw the number of the next element by an atomic capture. Cured: they draw a thousand at a time.
program atomic_ticket
  use disease
  implicit none
  integer, parameter :: n = 150000000
#ifdef CURED
  integer, parameter :: block = 1000
#else
  integer, parameter :: block = 1
#endif
  integer :: next, first, i
  double precision :: total
  next = 1
  total = 0d0
  call calibrate()
  !$omp parallel private(first, i) reduction(+: total) ! DISEASE
  do
    !$omp atomic capture
    first = next ! HOT
    next = next + block
    !$omp end atomic
    if (first > n) exit
    do i = first, first + block - 1
      total = total + dble(ieor(i, 5))
    end do
  end do
  !$omp end parallel
  if (total < 0d0) stop 1
end program
