! SPDX-License-Identifier: Apache-2.0
! A subroutine that updates one block in a task and waits for it; its callers update every block of a grid. Cured: the
! callers wait, once per sweep.
program wait_in_calls
  use disease
  implicit none
  integer, parameter :: n = 14
  integer :: sweep, row, column, updates(n, n)
  updates = 0
  call calibrate()
  !$omp parallel
  !$omp single
  do sweep = 1, 5
    do column = 1, n
      do row = 1, n
        call update(updates(row, column))
      end do
    end do
    !$omp taskwait
  end do
  !$omp end single
  !$omp end parallel
  if (any(updates /= 5)) stop 1
contains
  subroutine update(block)
    integer, intent(inout) :: block
    !$omp task shared(block)
    call compute_us(600d0)
    block = block + 1
    !$omp end task
#ifndef CURED
    !$omp taskwait ! DISEASE
#endif
  end subroutine
end program
