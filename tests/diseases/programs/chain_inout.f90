! SPDX-License-Identifier: Apache-2.0
! Every task updates the same array, and declares that as a dependence.
program chain_inout
  use disease
  implicit none
  integer :: i
  double precision :: state
  state = 0d0
  call calibrate()
  !$omp parallel
  !$omp single
  do i = 1, 1000
    !$omp task depend(inout: state) ! DISEASE
    call compute_us(500d0)
    state = state + 1d0
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  if (state < 0d0) stop 1
end program
