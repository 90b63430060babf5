! SPDX-License-Identifier: Apache-2.0
! Prints a line per thread of a region: its number, and the first 64 processors on which it may run.
program masks
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  interface
    integer(c_int) function sched_getaffinity(pid, bytes, mask) bind(c)
      import :: c_int, c_size_t, c_int64_t
      integer(c_int), value :: pid
      integer(c_size_t), value :: bytes
      integer(c_int64_t) :: mask(*)
    end function
  end interface
  integer(c_int64_t) :: found(16, 0:63)
  integer :: number, n_threads, cpu
  found = 0
  n_threads = 0
  !$omp parallel private(number)
  number = omp_get_thread_num()
  if (sched_getaffinity(0_c_int, 128_c_size_t, found(:, number)) /= 0) stop 1
  !$omp master
  n_threads = omp_get_num_threads()
  !$omp end master
  !$omp end parallel
  do number = 0, n_threads - 1
    write (*, '(a,i0,a)', advance='no') 'thread ', number, ':'
    do cpu = 0, 63
      if (btest(found(1, number), cpu)) write (*, '(1x,i0)', advance='no') cpu
    end do
    write (*, *)
  end do
end program
