! SPDX-License-Identifier: Apache-2.0
! unreported.c in Fortran: one of two threads waits in taskyields or, with the argument `doacross`, in a loop with
! dependences between iterations.
program unreported
  use, intrinsic :: iso_fortran_env, only: int64
  use omp_lib
  implicit none
  real(8), parameter :: late_s = 0.03d0
  real(8) :: waited_s, arrived_s
  integer :: done, seen, i
  character(len=16) :: what

  done = 0
  waited_s = 0
  call get_command_argument(1, what)
  if (what == 'taskyield') then
    !$omp parallel num_threads(2) private(seen)
    if (omp_get_thread_num() == 0) then
      call spin(late_s)
      !$omp atomic write
      done = 1
    else
      arrived_s = omp_get_wtime()
      do
        !$omp atomic read
        seen = done
        if (seen == 1) exit
        !$omp taskyield ! @taskyield
      end do
      waited_s = omp_get_wtime() - arrived_s
    end if
    !$omp end parallel
#ifndef __flang__ /* flang 19 does not know depend on ordered */
  else
    !$omp parallel do ordered(1) schedule(static, 1) num_threads(2)
    do i = 1, 2
      if (i == 1) call spin(late_s)
      if (i == 2) arrived_s = omp_get_wtime()
      !$omp ordered depend(sink: i - 1) ! @doacross
      if (i == 2) waited_s = omp_get_wtime() - arrived_s
      !$omp ordered depend(source)
    end do
    !$omp end parallel do
#endif
  end if
  print '(a, i0, a)', 'WAITED ns=', int(waited_s * 1d9, int64), ' cpu_ns=0'

contains

  subroutine spin(length_s)
    real(8), intent(in) :: length_s
    real(8) :: end_s
    end_s = omp_get_wtime() + length_s
    do while (omp_get_wtime() < end_s)
    end do
  end subroutine
end program
