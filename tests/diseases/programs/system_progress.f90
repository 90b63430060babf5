! SPDX-License-Identifier: Apache-2.0
! Each step of an iteration measures the processor time. Cured: only the first step does.
program system_progress
  use disease
  implicit none
  integer :: i
  double precision :: total
  call calibrate()
  total = 0
  !$omp parallel do schedule(dynamic) reduction(+:total) ! DISEASE
  do i = 1, 1500
    total = total + time_of_steps()
  end do
  if (total < 0) print *, total

contains

  double precision function time_of_steps()
    integer :: step
    double precision :: now
    time_of_steps = 0
    do step = 1, 2000
#ifdef CURED
      if (step > 1) cycle
#endif
      call cpu_time(now) ! HOT
      time_of_steps = time_of_steps + now
    end do
    call compute_us(100d0)
  end function
end program
