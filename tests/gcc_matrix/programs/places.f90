! SPDX-License-Identifier: Apache-2.0
! Places, as a Fortran program reads them.
! environment: OMP_PLACES={0},{0},{0} OMP_PROC_BIND=close
program places
    use omp_lib
    implicit none
    integer :: ids(8), numbers(8)
    ids = -1
    numbers = -1
    call omp_get_place_proc_ids(1, ids)
    print *, omp_get_num_places(), omp_get_place_num_procs(1), ids(1:2), omp_get_proc_bind()
    !$omp parallel num_threads(1)
    call omp_get_partition_place_nums(numbers)
    print *, omp_get_partition_num_places(), numbers(1:4), omp_get_place_num()
    !$omp end parallel
end program
