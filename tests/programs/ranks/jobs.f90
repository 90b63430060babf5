! SPDX-License-Identifier: Apache-2.0
! The jobs of jobs.c, by the Fortran interface of MPI.
program jobs
    use, intrinsic :: iso_fortran_env, only: int64
    use mpi
    use omp_lib, only: omp_get_thread_num
    implicit none
    integer, parameter :: unit_ms = 20
    integer :: rank, n_ranks, ierror, provided, n_rounds, round
    character(len=32) :: kind, text

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
    if (provided /= MPI_THREAD_MULTIPLE) error stop 'no MPI_THREAD_MULTIPLE'
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, ierror)
    call get_command_argument(1, kind)
    call get_command_argument(2, text)
    read (text, *) n_rounds
    do round = 1, n_rounds
        select case (kind)
        case ('imbalanced')
            call imbalanced(round)
        case ('communication')
            call work(1)
            call exchange(0)
        case ('serialised')
            call serialised(round)
        case ('in_task')
            call in_task(round)
        case ('multiple')
            call multiple()
        case ('even')
            call work(1)
            call MPI_Barrier(MPI_COMM_WORLD, ierror)
        case default
            error stop 'no such job'
        end select
    end do
    if (rank == 0) then
        select case (kind)
        case ('imbalanced')
            call expect(75.0, 75.0, 100.0, 100.0, 100.0, 100.0)
        case ('communication', 'multiple')
            call expect(50.0, 100.0, 50.0, 100.0, 50.0, 100.0)
        case ('in_task')
            call expect(25.0, 100.0, 75.0, 75.0, 100.0, 33.3)
        case ('serialised')
            call expect(50.0, 100.0, 50.0, 50.0, 100.0, 100.0)
        case ('even')
            call expect(100.0, 100.0, 100.0, 100.0, 100.0, 100.0)
        end select
    end if
    call MPI_Finalize(ierror)

contains

    subroutine expect(parallel, load_balance, communication, serialisation, transfer, openmp)
        real, intent(in) :: parallel, load_balance, communication, serialisation, transfer, openmp
        print '(a, *(a, f0.1, :, 1x))', 'EXPECT ', 'parallel=', parallel, 'mpi_load_balance=', load_balance, &
            'mpi_communication=', communication, 'mpi_serialisation=', serialisation, 'mpi_transfer=', transfer, &
            'openmp=', openmp
    end subroutine expect

    subroutine work(units)
        integer, intent(in) :: units
        !$omp parallel
        call spin(units)
        !$omp end parallel
    end subroutine work

    integer(int64) function now_us()
        integer(int64) :: ticks, rate
        call system_clock(ticks, rate)
        now_us = ticks/max(rate/1000000, 1_int64)
    end function now_us

    subroutine spin(units)
        integer, intent(in) :: units
        integer(int64) :: end_us
        end_us = now_us() + units*unit_ms*1000
        do while (now_us() < end_us)
        end do
    end subroutine spin

    subroutine exchange(tag)
        integer, intent(in) :: tag
        integer, parameter :: length = 2**16
        integer, allocatable :: message(:)
        integer(int64) :: end_us
        integer :: next, previous, error
        allocate (message(length))
        next = mod(rank + 1, n_ranks)
        previous = mod(rank + n_ranks - 1, n_ranks)
        end_us = now_us() + unit_ms*1000
        do
            if (rank == 0) then
                message(1) = merge(1, 0, now_us() < end_us)
                call MPI_Send(message, length, MPI_INTEGER, next, tag, MPI_COMM_WORLD, error)
                call MPI_Recv(message, length, MPI_INTEGER, previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
            else
                call MPI_Recv(message, length, MPI_INTEGER, previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
                call MPI_Send(message, length, MPI_INTEGER, next, tag, MPI_COMM_WORLD, error)
            end if
            if (message(1) == 0) exit
        end do
    end subroutine exchange

    subroutine in_task(round)
        integer, intent(in) :: round
        integer :: token(1), other, error
        token = round
        other = ieor(rank, 1)
        !$omp parallel num_threads(2)
        !$omp single
        !$omp task shared(token) private(error)
        if (mod(rank, 2) == mod(round, 2)) then
            call spin(1)
            call MPI_Send(token, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, error)
        else
            call MPI_Recv(token, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
        end if
        !$omp end task
        !$omp end single
        !$omp end parallel
    end subroutine in_task

    subroutine multiple()
        !$omp parallel num_threads(2)
        call spin(1)
        call exchange(3 + omp_get_thread_num())
        !$omp end parallel
    end subroutine multiple

    subroutine imbalanced(round)
        integer, intent(in) :: round
        integer :: total
        call work(merge(2, 1, rank == n_ranks - 1))
        call MPI_Allreduce(round, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
        if (total /= n_ranks*round) error stop 'wrong sum'
    end subroutine imbalanced

    subroutine serialised(round)
        integer, intent(in) :: round
        integer :: token(1)
        token = round
        if (rank > 0) call MPI_Recv(token, 1, MPI_INTEGER, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
        call work(1)
        if (rank < n_ranks - 1) call MPI_Send(token, 1, MPI_INTEGER, rank + 1, 1, MPI_COMM_WORLD, ierror)
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        if (token(1) /= round) error stop 'wrong token'
    end subroutine serialised

end program jobs
