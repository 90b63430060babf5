! SPDX-License-Identifier: Apache-2.0
! The Mandelbrot set by rows with a static schedule; the costly rows are at one end. Cured: a dynamic schedule.
program loop_mandelbrot
  use disease
  implicit none
  integer, parameter :: n_rows = 600, n_columns = 600, most = 2000
  integer :: depth(n_columns, n_rows), row, column
  call calibrate()
#ifdef CURED
  !$omp parallel do schedule(dynamic, 4) private(column)
#else
  !$omp parallel do schedule(static) private(column) ! DISEASE
#endif
  do row = 1, n_rows
    do column = 1, n_columns
      depth(column, row) = escape(-2d0 + 2.5d0 * column / n_columns, -1.2d0 + 1.4d0 * row / n_rows)
    end do
  end do
  !$omp end parallel do
  if (sum(depth) < 0) stop 1
contains
  pure integer function escape(real_part, imaginary_part)
    double precision, intent(in) :: real_part, imaginary_part
    complex(8) :: c, z
    c = cmplx(real_part, imaginary_part, 8)
    z = (0d0, 0d0)
    do escape = 1, most
      z = z * z + c
      if (dble(z)**2 + aimag(z)**2 > 4d0) exit
    end do
  end function
end program
