! SPDX-License-Identifier: Apache-2.0
! Each thread waits in a loop with flush until the previous thread has finished its share of the grid. Cured: it
! waits for the row that it needs.
program spin_flush
  use disease
  use omp_lib
  implicit none
  integer, parameter :: n_rows = 40, n_sweeps = 10
  integer, volatile :: n_done(-1:511)
  integer :: sweep, row, me
  n_done = 0
  n_done(-1) = n_rows * n_sweeps
  call calibrate()
  !$omp parallel private(sweep, row, me) ! DISEASE
  me = omp_get_thread_num()
  do sweep = 1, n_sweeps
    do row = 1, n_rows
#ifdef CURED
      call await(me - 1, (sweep - 1) * n_rows + row)
#else
      call await(me - 1, sweep * n_rows)
#endif
      call compute_us(2d3 / omp_get_num_threads())
      n_done(me) = n_done(me) + 1
      !$omp flush
    end do
    !$omp barrier
  end do
  !$omp end parallel
contains
  subroutine await(thread, least)
    integer, intent(in) :: thread, least
    do
      !$omp flush
      if (n_done(thread) >= least) exit ! HOT
    end do
  end subroutine
end program
