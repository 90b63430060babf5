! SPDX-License-Identifier: Apache-2.0
! The counterpart of disease.h: work of a known length, and the run time of a program.
module disease
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  private
  public :: calibrate, compute_us, go_on, sleep_us
  double precision, save :: steps_per_us, began_s
  ! Receives the result, so the compiler keeps the steps.
  integer(8), save, public :: unlikely = 0

  interface
    function usleep(length_us) bind(c, name="usleep")
      import :: c_int
      integer(c_int), value :: length_us
      integer(c_int) :: usleep
    end function
  end interface

contains

  subroutine take_steps(n)
    integer(8), intent(in) :: n
    integer(8) :: i, x
    x = 88172645463325252_8
    do i = 1, n
      x = ieor(x, shiftl(x, 13))
      x = ieor(x, shiftr(x, 7))
      x = ieor(x, shiftl(x, 17))
    end do
    if (x == 42) unlikely = x
  end subroutine

  subroutine compute_us(length_us)
    double precision, intent(in) :: length_us
    call take_steps(int(length_us * steps_per_us, 8))
  end subroutine

  function seconds()
    double precision :: seconds
    integer(8) :: ticks, rate
    call system_clock(ticks, rate)
    seconds = dble(ticks) / dble(rate)
  end function

  subroutine calibrate()
    integer(8), parameter :: n_steps = 50000
    double precision :: before_s, after_s, best_s
    integer :: i
    best_s = 1d0
    do i = 1, 10
      before_s = seconds()
      call take_steps(n_steps)
      after_s = seconds()
      best_s = min(best_s, after_s - before_s)
    end do
    steps_per_us = dble(n_steps) / (best_s * 1d6)
    began_s = seconds()
  end subroutine

  ! True if less than two seconds have passed since the start. Bounds runs whose threads share processors.
  function go_on()
    logical :: go_on
    go_on = seconds() - began_s < 2d0
  end function

  subroutine sleep_us(length_us)
    integer, intent(in) :: length_us
    integer(c_int) :: ignored
    ignored = usleep(int(length_us, c_int))
  end subroutine
end module
