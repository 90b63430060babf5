! SPDX-License-Identifier: Apache-2.0
! Teams of several threads each, with tasks in a parallel region of each.
program teams
   implicit none
   integer :: n_teams, n_tasks, i
   n_teams = 0
   n_tasks = 0
   !$omp teams num_teams(2) thread_limit(2) shared(n_teams, n_tasks)
   !$omp parallel shared(n_teams, n_tasks) private(i)
   !$omp single
   !$omp atomic
   n_teams = n_teams + 1
   do i = 1, 50
      !$omp task shared(n_tasks)
      !$omp atomic
      n_tasks = n_tasks + 1
      !$omp end task
   end do
   !$omp end single
   !$omp end parallel
   !$omp end teams
   if (n_teams < 1 .or. n_tasks /= 50*n_teams) stop 1
end program
