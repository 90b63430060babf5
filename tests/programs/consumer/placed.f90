! SPDX-License-Identifier: Apache-2.0
! A user's program in Fortran that places tasks with the module omp_ext and marks them with the module ompass.
program placed
  use omp_ext
  use ompass
  implicit none
  integer :: i, total
  total = 0
  !$omp parallel
  !$omp single
  do i = 1, 50
    call omp_child_task_affinity(mod(i, omp_get_num_locality_domains()))
    !$omp task shared(total)
    call ompass_kernel_begin('add')
    !$omp atomic
    total = total + 1
    call ompass_kernel_end()
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  if (total /= 50) error stop 'tasks are missing'
  print '(a, i0)', 'tasks=', total
end program placed
