! SPDX-License-Identifier: Apache-2.0
! Tasks that look for a minimum, each under a dependence on the best value so far. Cured: they compute without the
! dependence and compare in a critical section.
program chain_minimum
  use disease
  implicit none
  integer :: i
  double precision :: best
  best = 1d9
  call calibrate()
  !$omp parallel
  !$omp single
  do i = 1, 1000
#ifdef CURED
    !$omp task shared(best) firstprivate(i)
#else
    !$omp task depend(inout: best) shared(best) firstprivate(i) ! DISEASE
#endif
    call try(best, i)
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  if (best < 0d0) stop 1
contains
  subroutine try(best, seed)
    double precision, intent(inout) :: best
    integer, intent(in) :: seed
    double precision :: candidate
    call compute_us(500d0)
    candidate = dble(mod(seed * 7919, 1009))
    !$omp critical
    best = min(best, candidate)
    !$omp end critical
  end subroutine
end program
