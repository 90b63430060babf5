! SPDX-License-Identifier: Apache-2.0
! A program that sets the number of threads for another machine: eight per processor, with a barrier after each row.
! Cured: one per processor.
program oversubscribed_sweep
  use disease
  use omp_lib
  implicit none
#ifdef CURED
  integer, parameter :: per_processor = 1
#else
  integer, parameter :: per_processor = 8
#endif
  integer :: row, column
  call calibrate()
  call omp_set_num_threads(per_processor * omp_get_num_procs())
  !$omp parallel private(row) ! DISEASE
  do row = 1, 250
    !$omp do schedule(static)
    do column = 1, 160
      call compute_us(20d0)
    end do
    !$omp end do
  end do
  !$omp end parallel
end program
