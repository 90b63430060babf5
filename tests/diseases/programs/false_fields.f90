! SPDX-License-Identifier: Apache-2.0
! Tasks advance independent fields. They depend on the time, which they only read. Cured: each depends on its field.
program false_fields
  use disease
  implicit none
  integer, parameter :: n = 512
  double precision :: velocity(n), pressure(n), heat(n), smoke(n), time
  integer :: step
  velocity = 1d0
  pressure = 1d0
  heat = 1d0
  smoke = 1d0
  time = 1d0
  call calibrate()
  !$omp parallel
  !$omp single
  do step = 1, 250
#ifdef CURED
    !$omp task depend(inout: velocity) shared(velocity, time)
    call advance(velocity, time)
    !$omp end task
    !$omp task depend(inout: pressure) shared(pressure, time)
    call advance(pressure, time)
    !$omp end task
    !$omp task depend(inout: heat) shared(heat, time)
    call advance(heat, time)
    !$omp end task
    !$omp task depend(inout: smoke) shared(smoke, time)
    call advance(smoke, time)
    !$omp end task
#else
    !$omp task depend(inout: time) shared(velocity, time) ! DISEASE
    call advance(velocity, time)
    !$omp end task
    !$omp task depend(inout: time) shared(pressure, time) ! DISEASE
    call advance(pressure, time)
    !$omp end task
    !$omp task depend(inout: time) shared(heat, time) ! DISEASE
    call advance(heat, time)
    !$omp end task
    !$omp task depend(inout: time) shared(smoke, time) ! DISEASE
    call advance(smoke, time)
    !$omp end task
#endif
  end do
  !$omp end single
  !$omp end parallel
contains
  subroutine advance(field, at)
    double precision, intent(inout) :: field(n)
    double precision, intent(in) :: at
    call compute_us(550d0)
    field = field * 0.999d0 + 1d-3 * at
  end subroutine
end program
