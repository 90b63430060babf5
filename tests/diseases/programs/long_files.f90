! SPDX-License-Identifier: Apache-2.0
! Files are processed in a dynamic loop, and one of them has half of all lines. Cured: the loop is over blocks of lines.
program long_files
  use disease
  implicit none
  integer, parameter :: n_files = 24, block_length = 50
  integer :: lengths(n_files), file, block, n_blocks
  lengths = 100
  lengths(7) = 2300
  call calibrate()
#ifdef CURED
  n_blocks = sum(lengths) / block_length
  !$omp parallel do schedule(dynamic)
  do block = 1, n_blocks
    call compute_us(130d0 * block_length)
  end do
#else
  !$omp parallel do schedule(dynamic) ! DISEASE
  do file = 1, n_files
    call compute_us(130d0 * lengths(file))
  end do
#endif
end program
