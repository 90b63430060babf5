! SPDX-License-Identifier: Apache-2.0
! A loop whose iterations allocate their work arrays, with one arena for all threads. Cured: each thread allocates once.
program allocator_arrays
  use, intrinsic :: iso_c_binding, only: c_int
  use disease
  implicit none
  interface
    function mallopt(parameter, value) bind(c)
      import :: c_int
      integer(c_int), value :: parameter, value
      integer(c_int) :: mallopt
    end function
  end interface
  type row
    double precision, allocatable :: values(:)
  end type
  integer, parameter :: n_rows = 24, n_values = 200
  integer(c_int), parameter :: arena_max = -8
  type(row) :: rows(n_rows)
  integer :: i, k
  double precision :: total
  total = 0d0
  call calibrate()
  if (mallopt(arena_max, 1_c_int) /= 1) stop 1
  !$omp parallel private(rows) reduction(+: total) ! DISEASE
#ifdef CURED
  do k = 1, n_rows
    allocate (rows(k)%values(n_values))
  end do
#endif
  !$omp do
  do i = 1, 180000
    do k = 1, n_rows
#ifndef CURED
      allocate (rows(k)%values(n_values)) ! HOT
#endif
      rows(k)%values(1:100) = dble(i + k)
      total = total + sum(rows(k)%values(1:100))
    end do
#ifndef CURED
    do k = 1, n_rows
      deallocate (rows(k)%values) ! HOT
    end do
#endif
  end do
  !$omp end do
  !$omp end parallel
  if (total < 0d0) stop 1
end program
