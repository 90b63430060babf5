! SPDX-License-Identifier: Apache-2.0
! Each thread counts in its own column of a histogram, and a column is 8 bytes long. Cured: columns of 512 bytes.
program false_histogram
  use disease
  use omp_lib
  implicit none
#ifdef CURED
  integer, parameter :: column_length = 128
#else
  integer, parameter :: column_length = 2
#endif
  integer, parameter :: n = 600000000
  integer, save :: counts(column_length, 256)
  integer :: i, bin, me
  call calibrate()
  counts = 0
  !$omp parallel private(me, bin) ! DISEASE
  me = omp_get_thread_num() + 1
  !$omp do
  do i = 1, n
    bin = 1 + iand(ishft(i * 40503, -13), 1)
    counts(bin, me) = counts(bin, me) + 1 ! HOT
  end do
  !$omp end do
  !$omp end parallel
  if (sum(counts) /= n) stop 1
end program
