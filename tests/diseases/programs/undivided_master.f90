! SPDX-License-Identifier: Apache-2.0
! All work is in a master construct. Cured: in a loop.
program undivided_master
  use disease
  implicit none
  integer :: i
  call calibrate()
  !$omp parallel ! DISEASE
#ifdef CURED
  !$omp do
#else
  !$omp master
#endif
  do i = 1, 500
    call compute_us(1000d0)
  end do
#ifdef CURED
  !$omp end do
#else
  !$omp end master
  !$omp barrier
#endif
  !$omp end parallel
end program
