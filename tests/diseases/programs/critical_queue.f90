! SPDX-License-Identifier: Apache-2.0
! Threads fetch work from a common list and prepare it inside the critical section. Cured: they only fetch it there.
program critical_queue
  use disease
  implicit none
  integer, parameter :: n = 2500
  integer :: next, mine
  next = 0
  call calibrate()
  !$omp parallel private(mine)
  do
    !$omp critical (work_list) ! DISEASE
    next = next + 1
    mine = next
#ifndef CURED
    if (mine <= n) call compute_us(180d0)
#endif
    !$omp end critical (work_list)
    if (mine > n) exit
#ifdef CURED
    call compute_us(180d0)
#endif
    call compute_us(60d0)
  end do
  !$omp end parallel
end program
