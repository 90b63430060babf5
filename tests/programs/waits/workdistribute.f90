! SPDX-License-Identifier: Apache-2.0
! An array assignment in `workdistribute` of OpenMP 6.0, 20 times, in one team of the host.
program main
  implicit none
  real, allocatable :: a(:), b(:)
  integer :: k

  allocate (a(100000), b(100000))
  b = 1.0
  do k = 1, 20
    !$omp teams workdistribute ! @workdistribute
    a = b + 2.0 ! @assignment
    !$omp end teams workdistribute
  end do
  if (sum(a) /= 300000.0) error stop 'wrong sum'
end program main
