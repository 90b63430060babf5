! SPDX-License-Identifier: Apache-2.0
! The calls of the OpenMP library that take integers and logicals of eight bytes.
! environment: OMP_PLACES={0},{0}
program queries_of_8
    use omp_lib
    implicit none
    integer(8) :: chunk, ids(8)
    integer(omp_sched_kind) :: kind
    integer(omp_allocator_handle_kind) :: allocator
    type(omp_alloctrait) :: traits(1)

    call omp_set_num_threads(5_8)
    call omp_set_dynamic(.true._8)
    print *, omp_get_dynamic()
    call omp_set_dynamic(.false._8)
    call omp_set_max_active_levels(2_8)
    call omp_set_default_device(0_8)
    call omp_set_num_teams(6_8)
    call omp_set_teams_thread_limit(7_8)
    print *, omp_get_max_threads(), omp_get_dynamic(), omp_get_max_active_levels(), omp_get_default_device()
    print *, omp_get_max_teams(), omp_get_teams_thread_limit()
    call omp_set_schedule(omp_sched_static, 9_8)
    call omp_get_schedule(kind, chunk)
    print *, kind, chunk
    call omp_set_nested(.true._8)
    print *, omp_get_nested(), omp_get_ancestor_thread_num(0_8), omp_get_team_size(0_8)
    print *, omp_get_num_places(), omp_get_place_num_procs(1_8)
    ids = -1
    call omp_get_place_proc_ids(1_8, ids)
    print *, ids(1:2)
    ids = -1
    call omp_get_partition_place_nums(ids)
    print *, ids(1:3)
    traits(1) = omp_alloctrait(omp_atk_alignment, 64)
    allocator = omp_init_allocator(omp_default_mem_space, 1_8, traits)
    print *, allocator /= omp_null_allocator
    call omp_destroy_allocator(allocator)
    call omp_display_env(.false._8)
end program
