! SPDX-License-Identifier: Apache-2.0
! Every thread computes its own range, and the ranges are unequal.
program spmd
  use disease
  use omp_lib
  implicit none
  call calibrate()
  !$omp parallel ! DISEASE
  call compute_us(700d3 * dble(omp_get_thread_num() + 1) / &
                  (0.5d0 * omp_get_num_threads() * (omp_get_num_threads() + 1)))
  !$omp end parallel
end program
