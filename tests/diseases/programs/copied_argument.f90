! SPDX-License-Identifier: Apache-2.0
! A subroutine whose tasks copy its array argument, as tasks without a clause do. Cured: they share the array.
program copied_argument
  use disease
  implicit none
  integer, parameter :: n = 50000, n_tasks = 8000
  double precision :: coefficients(n), results(n)
  coefficients = 1d0
  results = 0d0
  call calibrate()
  !$omp parallel
  !$omp single
  call evaluate(coefficients)
  !$omp end single
  !$omp end parallel
  if (any(results < 0d0)) stop 1
contains
  subroutine evaluate(table)
    double precision, intent(in) :: table(n)
    integer :: i
    do i = 1, n_tasks
#ifdef CURED
      !$omp task shared(table, results)
#else
      !$omp task firstprivate(table) shared(results) ! DISEASE
#endif
      call compute_us(30d0)
      results(i) = table(i) + table(n + 1 - i)
      !$omp end task
    end do
  end subroutine
end program
