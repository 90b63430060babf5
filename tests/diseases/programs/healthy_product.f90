! SPDX-License-Identifier: Apache-2.0
! The product of two matrices, a block of columns per chunk.
program healthy_product
  implicit none
  integer, parameter :: n = 1200
  double precision, allocatable :: a(:, :), b(:, :), c(:, :)
  integer :: i, j, k
  allocate (a(n, n), b(n, n), c(n, n))
  !$omp parallel private(i, k)
  !$omp do schedule(static)
  do j = 1, n
    a(:, j) = 1d0 / dble(j)
    b(:, j) = dble(j)
    c(:, j) = 0d0
  end do
  !$omp end do
  !$omp do schedule(dynamic, 10)
  do j = 1, n
    do k = 1, n
      do i = 1, n
        c(i, j) = c(i, j) + a(i, k) * b(k, j)
      end do
    end do
  end do
  !$omp end do
  !$omp end parallel
  if (any(c < 0d0)) stop 1
end program
