! SPDX-License-Identifier: Apache-2.0
! A stencil on a matrix, with both loops collapsed into a dynamic one over elements. Cured: over columns.
program chunks_matrix
  use disease
  implicit none
  integer, parameter :: n = 700
  double precision, allocatable :: old(:, :), new(:, :)
  integer :: step, i, j
  call calibrate()
  allocate (old(n, n), new(n, n))
  old = 1d0
  new = 1d0
  do step = 1, 5
#ifdef CURED
    !$omp parallel do schedule(dynamic, 8) private(i)
#else
    !$omp parallel do schedule(dynamic) collapse(2) ! DISEASE
#endif
    do j = 2, n - 1
      do i = 2, n - 1
        new(i, j) = smoothed(old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1))
      end do
    end do
    !$omp end parallel do
  end do
  if (any(new < 0d0)) stop 1
contains
  pure double precision function smoothed(neighbours)
    double precision, intent(in) :: neighbours
    smoothed = 0.25d0 * neighbours + 0.01d0 * sin(neighbours) * exp(-neighbours)
  end function
end program
