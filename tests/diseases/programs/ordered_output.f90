! SPDX-License-Identifier: Apache-2.0
! A loop that formats its results inside an ordered region. Cured: it formats before, and only writes there.
program ordered_output
  use disease
  implicit none
  character(len=32) :: line
  integer :: i, n_written
  n_written = 0
  call calibrate()
  !$omp parallel do ordered schedule(dynamic) private(line)
  do i = 1, 800
    call compute_us(100d0)
#ifdef CURED
    call format_result(i, line)
#endif
    !$omp ordered ! DISEASE
#ifndef CURED
    call format_result(i, line)
#endif
    n_written = n_written + len_trim(line)
    !$omp end ordered
  end do
  !$omp end parallel do
  if (n_written == 0) stop 1
contains
  subroutine format_result(value, text)
    integer, intent(in) :: value
    character(len=*), intent(out) :: text
    call compute_us(600d0)
    write (text, '(i8)') value
  end subroutine
end program
