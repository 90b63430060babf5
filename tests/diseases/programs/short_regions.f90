! SPDX-License-Identifier: Apache-2.0
! A parallel loop inside the time step loop, with little to do.
program short_regions
  use disease
  implicit none
  integer :: i
  call calibrate()
  do while (go_on())
    !$omp parallel do ! DISEASE
    do i = 1, 40
      call compute_us(0.2d0)
    end do
    !$omp end parallel do
  end do
end program
