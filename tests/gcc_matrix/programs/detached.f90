! SPDX-License-Identifier: Apache-2.0
! A task that ends when its event is fulfilled.
program detached
    use omp_lib
    implicit none
    integer(omp_event_handle_kind) :: event
    integer :: done
    done = 0
    !$omp parallel
    !$omp single
    !$omp task detach(event) shared(done)
    done = 1
    !$omp end task
    call omp_fulfill_event(event)
    !$omp taskwait
    done = done + 10
    !$omp end single
    !$omp end parallel
    print *, done
end program
