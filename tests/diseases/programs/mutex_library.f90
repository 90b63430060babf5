! SPDX-License-Identifier: Apache-2.0
! Each thread calls a library that guards its work by a mutex. Cured: the library has a mutex for each thread.
program mutex_library
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
  use disease
  use omp_lib
  implicit none
  interface
    integer(c_int) function lock_mutex(mutex) bind(c, name="pthread_mutex_lock")
      import :: c_int, c_int64_t
      integer(c_int64_t) :: mutex(*)
    end function
    integer(c_int) function unlock_mutex(mutex) bind(c, name="pthread_mutex_unlock")
      import :: c_int, c_int64_t
      integer(c_int64_t) :: mutex(*)
    end function
  end interface
#ifdef CURED
  integer, parameter :: n_mutexes = 256
#else
  integer, parameter :: n_mutexes = 1
#endif
  integer(c_int64_t), save :: mutexes(16, n_mutexes) = 0  ! zero: an unlocked mutex
  integer :: step, mine
  call calibrate()
  !$omp parallel private(mine) ! DISEASE
  mine = 1 + mod(omp_get_thread_num(), n_mutexes)
  !$omp do schedule(static)
  do step = 1, 1000
    if (lock_mutex(mutexes(1, mine)) /= 0) stop 1 ! HOT
    call compute_us(550d0)
    if (unlock_mutex(mutexes(1, mine)) /= 0) stop 1
    call compute_us(50d0)
  end do
  !$omp end do
  !$omp end parallel
end program
