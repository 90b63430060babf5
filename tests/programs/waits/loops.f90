! SPDX-License-Identifier: Apache-2.0
! A loop that two threads share unevenly, an even one, and a critical section. A comment `@name` marks each line.
program loops
    use omp_lib
    implicit none
    integer :: i, total
    logical :: has_come
    total = 0
    has_come = .false.
    call omp_set_num_threads(2)
    !$omp parallel do schedule(dynamic, 8) ! @uneven
    do i = 1, 16
        if (i == 16) call come()
        if (i == 1) call be_late()
    end do
    !$omp parallel
    !$omp do schedule(dynamic) ! @even
    do i = 1, 20
        !$omp critical (adding) ! @critical
        total = total + 1
        !$omp end critical (adding)
    end do
    !$omp end do
    !$omp end parallel
    if (total /= 20) error stop 1
contains
    subroutine come()
        !$omp atomic write
        has_come = .true.
    end subroutine
    ! Keeps the thread at the barrier waiting.
    subroutine be_late()
        double precision :: end
        logical :: known
        known = .false.
        do while (.not. known)
            !$omp atomic read
            known = has_come
        end do
        end = omp_get_wtime() + 0.04d0
        do while (omp_get_wtime() < end)
        end do
    end subroutine
end program
