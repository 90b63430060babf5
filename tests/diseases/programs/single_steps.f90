! SPDX-License-Identifier: Apache-2.0
! In every step, about a microsecond long, one thread counts in a single construct. All wait. Cured: nobody waits.
program single_steps
  use disease
  use omp_lib
  implicit none
  integer, volatile :: n_done, n_steps
  integer :: step
  n_done = 0
  n_steps = 200000
  call calibrate()
  !$omp parallel private(step)
  do step = 1, 200000
    if (step > n_steps) exit
    call compute_us(2d0 / omp_get_num_threads())
#ifdef CURED
    if (omp_get_thread_num() == 0) n_done = n_done + 1
#else
    !$omp single ! DISEASE
    n_done = n_done + 1
    if (n_steps > step + 1 .and. .not. go_on()) n_steps = step + 1
    !$omp end single
#endif
  end do
  !$omp end parallel
  if (n_done < 1) stop 1
end program
