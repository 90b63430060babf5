! SPDX-License-Identifier: Apache-2.0
! A pipeline of threads in which each waits on a semaphore until the previous thread has finished a block. A block
! is the whole grid. Cured: a block is one of 50 pieces.
program condition_semaphores
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
  use disease
  use omp_lib
  implicit none
  interface
    integer(c_int) function start_semaphore(semaphore, shared, value) bind(c, name="sem_init")
      import :: c_int, c_int64_t
      integer(c_int64_t) :: semaphore(*)
      integer(c_int), value :: shared, value
    end function
    integer(c_int) function post_semaphore(semaphore) bind(c, name="sem_post")
      import :: c_int, c_int64_t
      integer(c_int64_t) :: semaphore(*)
    end function
    integer(c_int) function await_semaphore(semaphore) bind(c, name="sem_wait")
      import :: c_int, c_int64_t
      integer(c_int64_t) :: semaphore(*)
    end function
  end interface
#ifdef CURED
  integer, parameter :: n_blocks = 50
#else
  integer, parameter :: n_blocks = 1
#endif
  integer(c_int64_t), save :: semaphores(16, 0:255)
  integer :: grid, block, me, n
  call calibrate()
  do block = 0, 255
    if (start_semaphore(semaphores(1, block), 0, 0) /= 0) stop 1
  end do
  !$omp parallel private(grid, block, me, n) ! DISEASE
  me = omp_get_thread_num()
  n = omp_get_num_threads()
  do grid = 1, 6
    do block = 1, n_blocks
      if (me > 0) then
        if (await_semaphore(semaphores(1, me)) /= 0) stop 1 ! HOT
      end if
      call compute_us(100d3 / n_blocks / n)
      if (me + 1 < n) then
        if (post_semaphore(semaphores(1, me + 1)) /= 0) stop 1
      end if
    end do
    !$omp barrier
  end do
  !$omp end parallel
end program
