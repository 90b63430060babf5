! SPDX-License-Identifier: Apache-2.0
! Row sums of a large matrix, along its rows although columns are contiguous. Cured: along columns.
program bandwidth_rows
  use disease
  implicit none
  integer, parameter :: n = 4096
  real, allocatable :: matrix(:, :)
  double precision :: sums(n)
  integer :: row, column, pass
  call calibrate()
  allocate (matrix(n, n))
  sums = 0d0
  !$omp parallel do
  do column = 1, n
    matrix(:, column) = real(column)
  end do
  !$omp end parallel do
  do pass = 1, 4
#ifdef CURED
    !$omp parallel do reduction(+: sums)
    do column = 1, n
      sums = sums + matrix(:, column)
    end do
#else
    !$omp parallel do private(column) ! DISEASE
    do row = 1, n
      do column = 1, n
        sums(row) = sums(row) + matrix(row, column) ! HOT
      end do
    end do
#endif
    !$omp end parallel do
  end do
  if (any(sums < 0d0)) stop 1
end program
