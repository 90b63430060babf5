! SPDX-License-Identifier: Apache-2.0
! A subroutine that was parallel once is now called inside a region, without a loop construct. Cured: it has one.
program replicated_smooth
  use disease
  implicit none
  integer, parameter :: n = 600
  double precision :: field(n, n), next(n, n)
  integer :: step
  field = 1d0
  call calibrate()
  !$omp parallel private(step) ! DISEASE
  do step = 1, 70
    call smooth(field, next)
    !$omp barrier
    call smooth(next, field)
    !$omp barrier
  end do
  !$omp end parallel
  if (any(field < 0d0)) stop 1
contains
  subroutine smooth(from, to)
    double precision, intent(in) :: from(n, n)
    double precision, intent(inout) :: to(n, n)
    integer :: i, j
#ifdef CURED
    !$omp do
#endif
    do j = 1, n
      do i = 1, n
        to(i, j) = 0.5d0 * from(i, j) + 0.5d0 * exp(-abs(from(i, j) - 1d0)) ! HOT
      end do
    end do
#ifdef CURED
    !$omp end do nowait
#endif
  end subroutine
end program
