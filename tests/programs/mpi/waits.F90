! SPDX-License-Identifier: Apache-2.0
! Two ranks of MPI in Fortran, with mpif.h, or with -DF08 the module mpi_f08: rank 0 comes 40 ms late to each operation.
program waits
#ifdef F08
    use mpi_f08
#endif
    implicit none
#ifndef F08
    include 'mpif.h'
    integer :: status(MPI_STATUS_SIZE)
#else
    type(MPI_Status) :: status
#endif
    integer :: rank, provided, error, one, total, i
    call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    one = 1
    total = 0
    call be_late()
    call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error) ! @allreduce
    call be_late()
    if (rank == 0) then
        call MPI_Send(one, 1, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, error)
    else
        call MPI_Recv(total, 1, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, status, error) ! @recv
    end if
    !$omp parallel do num_threads(2)
    do i = 1, 2
        call be_late()
    end do
    call MPI_Finalize(error)
contains
    subroutine be_late()
        integer(8) :: begin, now, rate
        if (rank /= 0) return
        call system_clock(begin, rate)
        now = begin
        do while (now - begin < rate / 25)
            call system_clock(now)
        end do
    end subroutine
end program
