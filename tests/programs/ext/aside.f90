! SPDX-License-Identifier: Apache-2.0
! aside HOW: the Fortran counterpart of aside.c and ordered.c: tasks of one domain that wait for tasks of another.
! Prints the number of rescued tasks.
program aside
   use, intrinsic :: iso_c_binding
   use omp_lib
   use omp_ext
   implicit none
   integer, parameter :: n = 200
   character(len=16) :: how
   integer(omp_lock_kind) :: lock
   integer(omp_nest_lock_kind) :: nest_lock
   type(omp_ext_statistics) :: all
   integer :: round, i, n_inside, n_passed, n_children, n_outside, status
   integer(c_int) :: n_domains

   call get_command_argument(1, how)
   n_domains = omp_get_num_locality_domains()
   n_outside = 0
   call omp_init_lock(lock)
   call omp_init_nest_lock(nest_lock)
   do round = 1, 2
      n_inside = 0
      n_passed = 0
      n_children = 0
      if (how == 'ordered') then
         !$omp parallel do ordered schedule(static, 1)
         do i = 1, n
            !$omp ordered
            call begin_alone()
            n_passed = n_passed + 1
            call require(n_passed == i, 'one after another')
            call wait_elsewhere()
            call end_alone()
            !$omp end ordered
         end do
         !$omp end parallel do
      else
         !$omp parallel private(i)
         !$omp single
         do i = 1, n
            call omp_child_task_affinity(mod(int(i, c_int), n_domains))
            !$omp task
            call wait_in()
            !$omp end task
         end do
         !$omp end single
         !$omp end parallel
      end if
      call require(n_children == n, 'all children ran')
   end do
   status = omp_ext_get_statistics(all)
   print '(a, i0, a, i0)', 'outside ', n_outside, ', rescued ', all%n_rescued

contains

   subroutine require(holds, what)
      logical, intent(in) :: holds
      character(len=*), intent(in) :: what
      if (holds) return
      print '(a)', what
      stop 1
   end subroutine

   subroutine count_up(counter)
      integer, intent(inout) :: counter
      !$omp atomic
      counter = counter + 1
   end subroutine

   subroutine begin_alone()
      integer :: before
      !$omp atomic capture
      before = n_inside
      n_inside = n_inside + 1
      !$omp end atomic
      call require(before == 0, 'alone')
   end subroutine

   subroutine end_alone()
      !$omp atomic
      n_inside = n_inside - 1
   end subroutine

   recursive subroutine wait_elsewhere()
      integer :: thread
      integer(c_int) :: there
      thread = omp_get_thread_num()
      there = mod(omp_get_locality_domain_num() + 1, n_domains)
      call omp_child_task_affinity(there)
      !$omp task firstprivate(there) shared(n_children, n_outside)
      if (omp_get_locality_domain_num() /= there) call count_up(n_outside)
      call count_up(n_children)
      !$omp end task
      !$omp taskwait
      call require(thread == omp_get_thread_num(), 'a tied task')
   end subroutine

   recursive subroutine wait_in()
      select case (how)
      case ('taskwait')
         call wait_elsewhere()
      case ('taskgroup')
         !$omp taskgroup
         call wait_elsewhere()
         !$omp end taskgroup
      case ('critical')
         !$omp critical (first)
         call begin_alone()
         call wait_elsewhere()
         call end_alone()
         !$omp end critical (first)
      case ('lock')
         call omp_set_lock(lock)
         call begin_alone()
         call wait_elsewhere()
         call end_alone()
         call omp_unset_lock(lock)
      case ('nest_lock')
         call omp_set_nest_lock(nest_lock)
         call begin_alone()
         call require(omp_test_nest_lock(nest_lock) == 2, 'a nested lock')
         call wait_elsewhere()
         call omp_unset_nest_lock(nest_lock)
         call end_alone()
         call omp_unset_nest_lock(nest_lock)
      case default
         call require(.false., 'a way to wait')
      end select
   end subroutine
end program
