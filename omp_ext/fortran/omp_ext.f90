! SPDX-License-Identifier: Apache-2.0
!
! omp_ext.f90: the calls of omp_ext.h for Fortran. Compile it with the program and link libomp_ext.so before the OpenMP
! runtime. omp_ext.h documents the calls and their arguments.
!
!   use omp_ext
!   call omp_child_task_affinity(part)            ! tasks that this task creates from now on run in domain `part`
!   !$omp task
!   ...
!   address = omp_affinity_alloc_ondomain(bytes, part)       ! a type(c_ptr), for c_f_pointer
!   status = omp_affinity_mem_todomain(c_loc(x), bytes, part)
!
! Types: logical for C's true or false; type(c_ptr) for addresses; integers of kind c_size_t for bytes, c_int64_t for
! statistics, c_int otherwise; one array for a pointer and its size. Domains and threads are numbered from 0. Requires
! Fortran 2008; tested with gfortran and flang.
module omp_ext
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_ptr, c_size_t, c_sizeof
  implicit none
  private

  integer(c_int), parameter, public :: OMP_NO_CHILD_TASK_AFFINITY = -1
  integer(c_int), parameter, public :: OMP_EXT_EINVAL = -1
  integer(c_int), parameter, public :: OMP_EXT_ENOMEM = -2
  integer(c_int), parameter, public :: OMP_EXT_ENOTSUP = -3
  integer(c_int), parameter, public :: OMP_EXT_VERSION = 100

  !> As in omp_ext.h.
  type, bind(c), public :: omp_ext_statistics
    integer(c_int64_t) :: n_created = 0, n_placed = 0, n_run = 0, n_local = 0, n_stolen_inside = 0, n_stolen_outside = 0, &
         n_rescued = 0, n_steal_attempts = 0, n_false_negatives = 0, n_sleeps = 0, mailbox_depth = 0, max_mailbox_depth = 0
  end type

  public :: omp_child_task_affinity, omp_ext_get_child_task_affinity, omp_get_num_locality_domains, &
       omp_get_locality_domain_num, omp_ext_set_strict, omp_ext_set_region_strict, omp_ext_get_strict, omp_affinity_alloc, &
       omp_affinity_alloc_ondomain, omp_affinity_alloc_interleaved, omp_affinity_mem_todomain, omp_affinity_free, &
       omp_ext_domain_of_address, omp_ext_domain_of_range, omp_ext_forget_pages, omp_ext_get_domain_distance, &
       omp_ext_get_domain_cpus, omp_ext_get_domain_threads, omp_ext_get_version, omp_ext_is_active, omp_ext_display, &
       omp_ext_get_domain_statistics, omp_ext_get_thread_statistics, omp_ext_get_statistics, omp_ext_get_n_moved, &
       omp_ext_reset_statistics

  interface
    subroutine omp_child_task_affinity(domain) bind(c)
      import :: c_int
      integer(c_int), value :: domain
    end subroutine

    integer(c_int) function omp_ext_get_child_task_affinity() bind(c)
      import :: c_int
    end function

    integer(c_int) function omp_get_num_locality_domains() bind(c)
      import :: c_int
    end function

    integer(c_int) function omp_get_locality_domain_num() bind(c)
      import :: c_int
    end function

    type(c_ptr) function omp_affinity_alloc(bytes) bind(c)
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: bytes
    end function

    type(c_ptr) function omp_affinity_alloc_ondomain(bytes, domain) bind(c)
      import :: c_int, c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      integer(c_int), value :: domain
    end function

    type(c_ptr) function omp_affinity_alloc_interleaved(bytes) bind(c)
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: bytes
    end function

    integer(c_int) function omp_affinity_mem_todomain(address, bytes, domain) bind(c)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
      integer(c_int), value :: domain
    end function

    subroutine omp_affinity_free(address, bytes) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
    end subroutine

    integer(c_int) function omp_ext_domain_of_address(address) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: address
    end function

    integer(c_int) function omp_ext_domain_of_range(address, bytes) bind(c)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
    end function

    subroutine omp_ext_forget_pages() bind(c)
    end subroutine

    integer(c_int) function omp_ext_get_domain_distance(from, to) bind(c)
      import :: c_int
      integer(c_int), value :: from, to
    end function

    integer(c_int) function omp_ext_get_version() bind(c)
      import :: c_int
    end function

    subroutine omp_ext_display() bind(c)
    end subroutine

    integer(c_int64_t) function omp_ext_get_n_moved(from, to) bind(c)
      import :: c_int, c_int64_t
      integer(c_int), value :: from, to
    end function

    subroutine omp_ext_reset_statistics() bind(c)
    end subroutine

    ! C functions with wrappers below.
    subroutine c_set_strict(strict) bind(c, name='omp_ext_set_strict')
      import :: c_int
      integer(c_int), value :: strict
    end subroutine
    subroutine c_set_region_strict(strict) bind(c, name='omp_ext_set_region_strict')
      import :: c_int
      integer(c_int), value :: strict
    end subroutine
    integer(c_int) function c_get_strict() bind(c, name='omp_ext_get_strict')
      import :: c_int
    end function
    integer(c_int) function c_is_active() bind(c, name='omp_ext_is_active')
      import :: c_int
    end function
    integer(c_int) function c_get_domain_cpus(domain, numbers, max) bind(c, name='omp_ext_get_domain_cpus')
      import :: c_int
      integer(c_int), value :: domain
      integer(c_int) :: numbers(*)
      integer(c_int), value :: max
    end function
    integer(c_int) function c_get_domain_threads(domain, numbers, max) bind(c, name='omp_ext_get_domain_threads')
      import :: c_int
      integer(c_int), value :: domain
      integer(c_int) :: numbers(*)
      integer(c_int), value :: max
    end function
    integer(c_int) function c_get_domain_statistics(domain, into, bytes) bind(c, name='omp_ext_get_domain_statistics')
      import :: c_int, c_size_t, omp_ext_statistics
      integer(c_int), value :: domain
      type(omp_ext_statistics) :: into
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function c_get_thread_statistics(thread, into, bytes) bind(c, name='omp_ext_get_thread_statistics')
      import :: c_int, c_size_t, omp_ext_statistics
      integer(c_int), value :: thread
      type(omp_ext_statistics) :: into
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function c_get_statistics(into, bytes) bind(c, name='omp_ext_get_statistics')
      import :: c_int, c_size_t, omp_ext_statistics
      type(omp_ext_statistics) :: into
      integer(c_size_t), value :: bytes
    end function
  end interface

contains

  recursive subroutine omp_ext_set_strict(strict)
    logical, intent(in) :: strict
    call c_set_strict(merge(1_c_int, 0_c_int, strict))
  end subroutine

  recursive subroutine omp_ext_set_region_strict(strict)
    logical, intent(in) :: strict
    call c_set_region_strict(merge(1_c_int, 0_c_int, strict))
  end subroutine

  recursive logical function omp_ext_get_strict()
    omp_ext_get_strict = c_get_strict() /= 0
  end function

  recursive logical function omp_ext_is_active()
    omp_ext_is_active = c_is_active() /= 0
  end function

  !> Fills `numbers` up to its size; returns the total number, or OMP_EXT_EINVAL.
  recursive integer(c_int) function omp_ext_get_domain_cpus(domain, numbers)
    integer(c_int), intent(in) :: domain
    integer(c_int), intent(inout), contiguous :: numbers(:)
    omp_ext_get_domain_cpus = c_get_domain_cpus(domain, numbers, size(numbers, kind=c_int))
  end function

  !> Fills `numbers` up to its size; returns the total number, or OMP_EXT_EINVAL.
  recursive integer(c_int) function omp_ext_get_domain_threads(domain, numbers)
    integer(c_int), intent(in) :: domain
    integer(c_int), intent(inout), contiguous :: numbers(:)
    omp_ext_get_domain_threads = c_get_domain_threads(domain, numbers, size(numbers, kind=c_int))
  end function

  recursive integer(c_int) function omp_ext_get_domain_statistics(domain, into)
    integer(c_int), intent(in) :: domain
    type(omp_ext_statistics), intent(out) :: into
    omp_ext_get_domain_statistics = c_get_domain_statistics(domain, into, c_sizeof(into))
  end function

  recursive integer(c_int) function omp_ext_get_thread_statistics(thread, into)
    integer(c_int), intent(in) :: thread
    type(omp_ext_statistics), intent(out) :: into
    omp_ext_get_thread_statistics = c_get_thread_statistics(thread, into, c_sizeof(into))
  end function

  recursive integer(c_int) function omp_ext_get_statistics(into)
    type(omp_ext_statistics), intent(out) :: into
    omp_ext_get_statistics = c_get_statistics(into, c_sizeof(into))
  end function

end module omp_ext
