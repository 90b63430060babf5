! SPDX-License-Identifier: Apache-2.0
! Each thread allocates its scratch array in every time step. Cured: once, in one region around all steps.
program page_faults_steps
  use disease
  use omp_lib
  implicit none
  double precision, allocatable :: scratch(:)
  double precision :: total
  integer :: step, n
  call calibrate()
  total = 0
#ifdef CURED
  !$omp parallel private(scratch, step, n) reduction(+:total)
  n = omp_get_num_threads()
  allocate (scratch(10000000 / n))
  do step = 1, 15
    scratch = step
    call compute_us(1d4 / n)
    total = total + scratch(step)
    !$omp barrier
  end do
  deallocate (scratch)
  !$omp end parallel
#else
  do step = 1, 15
    !$omp parallel private(scratch, n) reduction(+:total) ! DISEASE
    n = omp_get_num_threads()
    allocate (scratch(10000000 / n))
    scratch = step ! HOT
    call compute_us(1d4 / n)
    total = total + scratch(step)
    deallocate (scratch)
    !$omp end parallel
  end do
#endif
  if (total < 0) print *, total
end program
