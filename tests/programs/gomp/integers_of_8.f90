! SPDX-License-Identifier: Apache-2.0
! Calls of the OpenMP library with integers of eight bytes.
program integers_of_8
    use omp_lib
    implicit none
    integer(8) :: n, chunk
    integer(omp_sched_kind) :: kind
    n = 1
    call omp_set_num_threads(n)
    n = 7
    call omp_set_schedule(omp_sched_guided, n)
    call omp_get_schedule(kind, chunk)
    n = 3
    call omp_set_max_active_levels(n)
    call omp_set_dynamic(.true._8)
    print *, omp_get_max_threads(), kind, chunk, omp_get_max_active_levels(), omp_get_dynamic()
    print *, omp_get_ancestor_thread_num(0_8), omp_get_team_size(0_8)
end program
