! SPDX-License-Identifier: Apache-2.0
! A hash table that is guarded by one lock although its buckets are independent. Cured: one lock per bucket.
program lock_buckets
  use disease
  use omp_lib
  implicit none
  integer, parameter :: n_buckets = 64
#ifdef CURED
  integer, parameter :: n_locks = n_buckets
#else
  integer, parameter :: n_locks = 1
#endif
  integer(omp_lock_kind) :: locks(n_locks)
  integer :: counts(n_buckets), i
  counts = 0
  call calibrate()
  do i = 1, n_locks
    call omp_init_lock(locks(i))
  end do
  !$omp parallel do schedule(static)
  do i = 1, 4000
    call insert(i * 40503)
  end do
  !$omp end parallel do
  if (sum(counts) /= 4000) stop 1
contains
  subroutine insert(key)
    integer, intent(in) :: key
    integer :: bucket, lock
    bucket = 1 + modulo(ishft(key, -7), n_buckets)
    lock = 1 + mod(bucket, n_locks)
    call compute_us(30d0)
    call omp_set_lock(locks(lock)) ! DISEASE
    call compute_us(120d0)
    counts(bucket) = counts(bucket) + 1
    call omp_unset_lock(locks(lock))
  end subroutine
end program
