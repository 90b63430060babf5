! SPDX-License-Identifier: Apache-2.0
! Every thread computes its own range, and the ranges are unequal. Cured: they are equal.
program spmd
  use disease
  use omp_lib
  implicit none
  call calibrate()
  !$omp parallel ! DISEASE
#ifdef CURED
  call compute_us(700d3 / omp_get_num_threads())
#else
  call compute_us(700d3 * dble(omp_get_thread_num() + 1) / &
                  (0.5d0 * omp_get_num_threads() * (omp_get_num_threads() + 1)))
#endif
  !$omp end parallel
end program
