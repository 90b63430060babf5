! SPDX-License-Identifier: Apache-2.0
! One thread makes the input, outside of the region.
program serial_setup
  use disease
  implicit none
  integer :: i
  call calibrate()
  call compute_us(300d3)
  !$omp parallel do schedule(dynamic)
  do i = 1, 600
    call compute_us(1000d0)
  end do
  !$omp end parallel do
end program
