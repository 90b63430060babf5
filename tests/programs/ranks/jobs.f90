! SPDX-License-Identifier: Apache-2.0
! The jobs imbalanced, serialised and even of jobs.c, by the Fortran interface of MPI.
program jobs
    use, intrinsic :: iso_fortran_env, only: int64
    use mpi
    implicit none
    integer, parameter :: unit_ms = 20
    integer :: rank, n_ranks, ierror, provided, n_rounds, round
    character(len=32) :: kind, text

    call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, ierror)
    call get_command_argument(1, kind)
    call get_command_argument(2, text)
    read (text, *) n_rounds
    do round = 1, n_rounds
        select case (kind)
        case ('imbalanced')
            call imbalanced(round)
        case ('serialised')
            call serialised(round)
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
            print '(a)', 'EXPECT parallel=75 mpi_load_balance=75 mpi_communication=100 openmp=100'
        case ('serialised')
            print '(a)', 'EXPECT parallel=50 mpi_load_balance=100 mpi_communication=50 openmp=100'
        case ('even')
            print '(a)', 'EXPECT parallel=100 mpi_load_balance=100 mpi_communication=100 openmp=100'
        end select
    end if
    call MPI_Finalize(ierror)

contains

    subroutine work(units)
        integer, intent(in) :: units
        integer(int64) :: now, end_ticks, rate
        !$omp parallel private(now, end_ticks, rate)
        call system_clock(now, rate)
        end_ticks = now + units*unit_ms*rate/1000
        do while (now < end_ticks)
            call system_clock(now)
        end do
        !$omp end parallel
    end subroutine work

    subroutine imbalanced(round)
        integer, intent(in) :: round
        integer :: total
        call work(merge(2, 1, rank == n_ranks - 1))
        call MPI_Allreduce(round, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
        if (total /= n_ranks*round) error stop 'wrong sum'
    end subroutine imbalanced

    subroutine serialised(round)
        integer, intent(in) :: round
        integer :: token
        token = round
        if (rank > 0) call MPI_Recv(token, 1, MPI_INTEGER, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
        call work(1)
        if (rank < n_ranks - 1) call MPI_Send(token, 1, MPI_INTEGER, rank + 1, 1, MPI_COMM_WORLD, ierror)
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        if (token /= round) error stop 'wrong token'
    end subroutine serialised

end program jobs
