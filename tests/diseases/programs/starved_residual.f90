! SPDX-License-Identifier: Apache-2.0
! Steps of many small tasks, after each of which one long task computes the residual. Cured: sixteen tasks do.
program starved_residual
  use disease
  implicit none
#ifdef CURED
  integer, parameter :: n_parts = 16
#else
  integer, parameter :: n_parts = 1
#endif
  integer :: step, i
  call calibrate()
  !$omp parallel
  !$omp single
  do step = 1, 60
    do i = 1, 16
      !$omp task
      call compute_us(500d0)
      !$omp end task
    end do
    !$omp taskwait
    do i = 1, n_parts
      !$omp task
      call compute_us(6d3 / n_parts)
      !$omp end task
    end do
    !$omp taskwait ! DISEASE
  end do
  !$omp end single
  !$omp end parallel
end program
