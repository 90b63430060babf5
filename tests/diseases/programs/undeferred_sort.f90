! SPDX-License-Identifier: Apache-2.0
! Quicksort whose if clause was set for larger input: no task is deferred. Cured: parts above 10000 are tasks.
program undeferred_sort
  use disease
  implicit none
#ifdef CURED
  integer, parameter :: smallest_task = 10000
#else
  integer, parameter :: smallest_task = 100000000
#endif
  integer, parameter :: n = 4000000
  real, allocatable :: values(:)
  call calibrate()
  allocate (values(n))
  !$omp parallel
  !$omp single
  call fill(values)
  call sort(values, 1, n)
  !$omp end single
  !$omp end parallel
  if (any(values(2:) < values(:n - 1))) stop 1
contains
  ! Cheap pseudo-random numbers.
  subroutine fill(x)
    real, intent(out) :: x(:)
    integer :: i
    do i = 1, size(x)
      x(i) = real(iand(i * 40503, 65535)) + 1e-7 * i
    end do
  end subroutine

  recursive subroutine sort(x, low, high)
    real, intent(inout) :: x(:)
    integer, value :: low, high
    integer :: middle
    if (high - low < 5000) then
      call sort_plain(x, low, high)
      return
    end if
    middle = split(x, low, high)
    !$omp task shared(x) firstprivate(low, middle) if(middle - low > smallest_task) ! DISEASE
    call sort(x, low, middle)
    !$omp end task
    call sort(x, middle + 1, high)
    !$omp taskwait
  end subroutine

  recursive subroutine sort_plain(x, low, high)
    real, intent(inout) :: x(:)
    integer, intent(in) :: low, high
    integer :: middle
    if (low >= high) return
    middle = split(x, low, high)
    call sort_plain(x, low, middle)
    call sort_plain(x, middle + 1, high)
  end subroutine

  integer function split(x, low, high)
    real, intent(inout) :: x(:)
    integer, intent(in) :: low, high
    real :: pivot, kept
    integer :: j
    pivot = x((low + high) / 2)
    split = low - 1
    j = high + 1
    do
      do
        j = j - 1
        if (x(j) <= pivot) exit
      end do
      do
        split = split + 1
        if (x(split) >= pivot) exit
      end do
      if (split >= j) exit
      kept = x(split)
      x(split) = x(j)
      x(j) = kept
    end do
    split = j
  end function
end program
