! SPDX-License-Identifier: Apache-2.0
! Reads and sets the runtime's settings for a Fortran program.
program queries
    use omp_lib
    implicit none
    integer(omp_sched_kind) :: kind
    integer :: chunk, i, total
    integer(omp_lock_kind) :: lock
    integer(omp_nest_lock_kind) :: nested
    double precision :: begin
    character(len=100) :: text
    integer(omp_allocator_handle_kind) :: allocator
    type(omp_alloctrait) :: traits(1)

    call omp_get_schedule(kind, chunk)
    print *, kind, chunk, omp_get_max_threads(), omp_get_thread_limit(), omp_get_dynamic(), omp_get_max_active_levels()
    print *, omp_get_num_devices(), omp_get_initial_device(), omp_get_device_num(), omp_is_initial_device()
    print *, omp_get_default_device(), omp_get_max_task_priority(), omp_get_cancellation()
    print *, omp_get_supported_active_levels(), omp_get_level(), omp_get_active_level(), omp_in_parallel(), omp_in_final()
    print *, omp_get_thread_num(), omp_get_num_threads(), omp_get_team_num(), omp_get_num_teams(), omp_get_team_size(0)
    print *, omp_get_ancestor_thread_num(0), omp_get_num_procs() > 0, omp_get_proc_bind()
    print *, omp_get_max_teams(), omp_get_teams_thread_limit(), omp_get_default_allocator() == omp_default_mem_alloc
    print *, omp_get_place_num() < 1, omp_get_partition_num_places() < 2
    call omp_set_num_threads(3)
    call omp_set_schedule(omp_sched_guided, 7)
    call omp_get_schedule(kind, chunk)
    call omp_set_max_active_levels(3)
    call omp_set_dynamic(.true.)
    call omp_set_default_device(0)
    call omp_set_num_teams(4)
    call omp_set_teams_thread_limit(5)
    print *, kind, chunk, omp_get_max_active_levels(), omp_get_dynamic(), omp_get_max_teams(), omp_get_teams_thread_limit()
    call omp_set_dynamic(.false.)
    call omp_set_nested(.true.)
    print *, omp_get_nested()
    call omp_set_nested(.false.)
    print *, omp_get_nested()
    call omp_init_lock(lock)
    call omp_init_nest_lock(nested)
    total = 0
    !$omp parallel do
    do i = 1, 100
        call omp_set_lock(lock)
        call omp_set_nest_lock(nested)
        total = total + i * omp_test_nest_lock(nested)
        call omp_unset_nest_lock(nested)
        call omp_unset_nest_lock(nested)
        call omp_unset_lock(lock)
    end do
    print *, total, omp_test_lock(lock), omp_test_lock(lock)
    call omp_unset_lock(lock)
    call omp_destroy_lock(lock)
    call omp_destroy_nest_lock(nested)
    begin = omp_get_wtime()
    print *, omp_get_wtime() >= begin, omp_get_wtick() > 0
    call omp_set_affinity_format('thread %n of %N')
    print *, omp_get_affinity_format(text)
    print *, trim(text)
    print *, omp_capture_affinity(text, '%{nesting_level}')
    print *, trim(text)
    traits(1) = omp_alloctrait(omp_atk_alignment, 64)
    allocator = omp_init_allocator(omp_default_mem_space, 1, traits)
    call omp_set_default_allocator(allocator)
    print *, omp_get_default_allocator() == allocator
    call omp_set_default_allocator(omp_default_mem_alloc)
    call omp_destroy_allocator(allocator)
    print *, omp_pause_resource(omp_pause_soft, omp_get_initial_device()) == 0, omp_pause_resource_all(omp_pause_hard) == 0
    call omp_display_env(.false.)
    call flush(6)
    !$omp parallel num_threads(1)
    call omp_display_affinity('one thread: %n')
    !$omp end parallel
end program
