! SPDX-License-Identifier: Apache-2.0
! Known shares of time in two procedures of a module, and in the task itself.
module spinning
    use, intrinsic :: iso_fortran_env, only: int64
    implicit none
    integer(int64), volatile :: sink
contains
    subroutine spin_half(x, n)
        integer(int64), intent(inout) :: x
        integer, intent(in) :: n
        integer :: i
        do i = 1, n * 5; x = ieor(x, ishft(x, -7)) * 48271_int64; end do ! share 50
    end subroutine

    subroutine spin_third(x, n)
        integer(int64), intent(inout) :: x
        integer, intent(in) :: n
        integer :: i
        do i = 1, n * 3; x = ieor(x, ishft(x, -7)) * 48271_int64; end do ! share 30
    end subroutine
end module

program shares
    use spinning
    implicit none
    integer, parameter :: n = 200000
    integer :: task, i, n_tasks
    integer(int64) :: x
    character(len=16) :: text
    n_tasks = 200
    if (command_argument_count() > 0) then
        call get_command_argument(1, text)
        read (text, *) n_tasks
    end if
    !$omp parallel
    !$omp single
    do task = 1, n_tasks
        !$omp task firstprivate(task) private(x, i)
        x = task
        call spin_half(x, n)
        call spin_third(x, n)
        do i = 1, n * 2; x = ieor(x, ishft(x, -7)) * 48271_int64; end do ! share 20
        sink = x
        !$omp end task
    end do
    !$omp end single
    !$omp end parallel
    print "(a, i0)", "FACTS tasks=", n_tasks
end program
