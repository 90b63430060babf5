! SPDX-License-Identifier: Apache-2.0
! The inner loop over a row is parallel instead of the outer one over all rows. Cured: the outer one is.
program short_rows
  use disease
  implicit none
  integer, parameter :: n_rows = 60000, n_columns = 1000
  integer :: row, column
  double precision :: total
  double precision :: image(n_columns), sums(n_rows)
  image = 1d0
  sums = 0d0
  call calibrate()
#ifdef CURED
  !$omp parallel do schedule(static) private(column, total)
#endif
  do row = 1, n_rows
    total = 0d0
#ifndef CURED
    if (.not. go_on()) exit
    !$omp parallel do schedule(static) reduction(+: total) ! DISEASE
#endif
    do column = 1, n_columns
      total = total + sqrt(image(column) + dble(row))
    end do
    sums(row) = total
  end do
  if (any(sums < 0d0)) stop 1
end program
