! SPDX-License-Identifier: Apache-2.0
! A reduction over a large range, twice: by a loop, and by a tree of tasks.
program healthy_merge
  implicit none
  integer, parameter :: n = 30000000
  double precision :: by_loop, by_tree
  integer :: i
  by_loop = 0d0
  !$omp parallel do reduction(+: by_loop) schedule(static)
  do i = 1, n
    by_loop = by_loop + term(i)
  end do
  !$omp end parallel do
  !$omp parallel
  !$omp single
  call add(1, n, by_tree)
  !$omp end single
  !$omp end parallel
  if (abs(by_loop - by_tree) > 1d-6 * abs(by_loop)) stop 1
contains
  pure double precision function term(i)
    integer, intent(in) :: i
    term = 1d0 / sqrt(dble(i) + 0.5d0)
  end function

  recursive subroutine add(first, last, total)
    integer, intent(in) :: first, last
    double precision, intent(out) :: total
    double precision :: half
    integer :: i, middle
    total = 0d0
    if (last - first < 200000) then
      do i = first, last
        total = total + term(i)
      end do
      return
    end if
    middle = (first + last) / 2
    !$omp task shared(half) firstprivate(first, middle)
    call add(first, middle, half)
    !$omp end task
    call add(middle + 1, last, total)
    !$omp taskwait
    total = total + half
  end subroutine
end program
