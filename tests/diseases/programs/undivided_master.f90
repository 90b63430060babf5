! SPDX-License-Identifier: Apache-2.0
! All work is in a master construct.
program undivided_master
  use disease
  implicit none
  call calibrate()
  !$omp parallel ! DISEASE
  !$omp master
  call compute_us(500d3)
  !$omp end master
  !$omp barrier
  !$omp end parallel
end program
