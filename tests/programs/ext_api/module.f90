! SPDX-License-Identifier: Apache-2.0
! Every call of the Fortran module, with right and wrong arguments. Needs at least two domains, as many threads, and
! strict mode without rescues (OMP_EXT_TIED=relaxed).
program module_calls
  use, intrinsic :: iso_c_binding
  use omp_lib
  use omp_ext
  implicit none

  integer(c_size_t), parameter :: n_bytes = 65536
  type(c_ptr) :: address
  real(c_double), pointer :: x(:)
  real(c_double), target :: heap(100000)
  type(omp_ext_statistics) :: statistics, empty
  integer(c_int) :: numbers(1024), n_domains, d, status
  integer :: i, wanted, n_wrong, n_tasks

  n_domains = omp_get_num_locality_domains()
  call require(n_domains >= 2, 'two domains')
  call require(omp_ext_get_version() == OMP_EXT_VERSION, 'version')

  do d = 0, n_domains - 1
    call require(omp_ext_get_domain_cpus(d, numbers) >= 1, 'CPUs')
    call require(omp_ext_get_domain_distance(d, d) == 10, 'distance to itself')
    call require(omp_ext_get_domain_distance(d, mod(d + 1, n_domains)) > 10, 'distance to others')
    address = omp_affinity_alloc_ondomain(n_bytes, d)
    call require(c_associated(address), 'memory')
    call c_f_pointer(address, x, [n_bytes / 8])
    x = 1
    call require(omp_ext_domain_of_address(c_loc(x(1))) == d, 'domain of an address')
    call require(omp_ext_domain_of_range(address, n_bytes) == d, 'domain of a range')
    status = omp_affinity_mem_todomain(address, n_bytes, mod(d + 1, n_domains))
    call require(status == 0 .or. status == OMP_EXT_ENOTSUP, 'moved, or moves are not supported')
    call require(sum(x) == n_bytes / 8, 'what is moved keeps its value')
    call omp_affinity_free(address, n_bytes)
  end do
  call require(omp_ext_get_domain_cpus(n_domains, numbers) == OMP_EXT_EINVAL, 'no such domain')
  call require(omp_ext_get_domain_threads(-1_c_int, numbers) == OMP_EXT_EINVAL, 'no such domain')
  call require(omp_ext_get_domain_distance(0_c_int, n_domains) == OMP_EXT_EINVAL, 'no such domain')
  call require(.not. c_associated(omp_affinity_alloc(0_c_size_t)), 'no bytes, no memory')
  address = omp_affinity_alloc_interleaved(n_bytes)
  call require(c_associated(address), 'interleaved memory')
  call omp_affinity_free(address, n_bytes)
  heap = 0
  status = omp_affinity_mem_todomain(c_loc(heap), c_sizeof(heap), 1_c_int)
  call require(status == 0 .or. status == OMP_EXT_ENOTSUP, 'any memory will do')
  call require(omp_affinity_mem_todomain(c_loc(heap), c_sizeof(heap), -1_c_int) == OMP_EXT_EINVAL, 'no such domain')
  call omp_ext_forget_pages()

  call omp_ext_set_strict(.true.)
  call require(omp_ext_get_strict(), 'strict')
  call require(omp_ext_is_active(), 'active')

  n_wrong = 0
  n_tasks = 0
  !$omp parallel
  !$omp single
  call omp_ext_set_region_strict(.true.)
  ! One task at a time, because flang 19 does not copy a loop's variable into tasks.
  do i = 0, 99
    wanted = mod(i, n_domains)
    call omp_child_task_affinity(int(i, c_int))
    call require(omp_ext_get_child_task_affinity() == wanted, 'the setting is kept')
    !$omp task shared(wanted, n_tasks, n_wrong)
    !$omp atomic
    n_tasks = n_tasks + 1
    if (omp_get_locality_domain_num() /= wanted) then
      !$omp atomic
      n_wrong = n_wrong + 1
    end if
    !$omp end task
    !$omp taskwait
  end do
  call omp_child_task_affinity(OMP_NO_CHILD_TASK_AFFINITY)
  call require(omp_ext_get_child_task_affinity() == OMP_NO_CHILD_TASK_AFFINITY, 'the setting is taken back')
  call require(omp_ext_get_domain_threads(0_c_int, numbers) >= 1, 'threads')
  !$omp end single
  !$omp end parallel
  call require(n_tasks == 100 .and. n_wrong == 0, 'tasks run where they were placed')

  call require(omp_ext_get_statistics(statistics) == 0, 'statistics')
  call require(statistics%n_run == 100 .and. statistics%n_local == 100, 'counts')
  call require(omp_ext_get_domain_statistics(0_c_int, statistics) == 0, 'statistics of a domain')
  call require(statistics%n_placed > 0, 'counts of a domain')
  call require(omp_ext_get_thread_statistics(100000_c_int, empty) == OMP_EXT_EINVAL, 'no such thread')
  call require(omp_ext_get_n_moved(0_c_int, 1_c_int) == 0, 'nothing moved')
  call omp_ext_reset_statistics()
  call require(omp_ext_get_statistics(statistics) == 0 .and. statistics%n_run == 0, 'reset')
  call omp_ext_display()
  print '(a)', 'all held'

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print '(2a)', 'does not hold: ', what
    stop 1
  end subroutine

end program module_calls
