! SPDX-License-Identifier: Apache-2.0
! Before each creation of a task, the only producer computes for longer than a task takes.
program producer_reads
  use disease
  implicit none
  integer :: i
  call calibrate()
  !$omp parallel
  !$omp single
  do i = 1, 1000
    call compute_us(500d0)
    !$omp task ! DISEASE
    call compute_us(150d0)
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
end program
