! SPDX-License-Identifier: Apache-2.0
! Each thread allocates its scratch array in every time step.
program page_faults_steps
  use disease
  implicit none
  double precision, allocatable :: scratch(:)
  double precision :: total
  integer :: step
  call calibrate()
  total = 0
  do step = 1, 15
    !$omp parallel private(scratch) reduction(+:total) ! DISEASE
    allocate(scratch(5000000))
    scratch = step
    call compute_us(5d3)
    total = total + scratch(step)
    deallocate(scratch)
    !$omp end parallel
  end do
  if (total < 0) print *, total
end program
