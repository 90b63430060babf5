// SPDX-License-Identifier: Apache-2.0
// Reads, sets and prints the runtime's settings. Prints only a check of values that depend on the machine.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static void show(const char *when) {
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("%s: threads %d, limit %d, dynamic %d, levels %d, schedule %x,%d, device %d, teams %d, team's limit %d\n",
           when, omp_get_max_threads(), omp_get_thread_limit(), omp_get_dynamic(), omp_get_max_active_levels(),
           (unsigned)kind, chunk, omp_get_default_device(), omp_get_max_teams(), omp_get_teams_thread_limit());
}

int main(void) {
    show("at first");
    printf("devices %d, initial %d, this %d, is initial %d, priority %d, cancellation %d, supported levels %d\n",
           omp_get_num_devices(), omp_get_initial_device(), omp_get_device_num(), omp_is_initial_device(),
           omp_get_max_task_priority(), omp_get_cancellation(), omp_get_supported_active_levels());
    printf("level %d, active %d, parallel %d, final %d, thread %d of %d, team %d of %d, size %d %d, ancestor %d %d\n",
           omp_get_level(), omp_get_active_level(), omp_in_parallel(), omp_in_final(), omp_get_thread_num(),
           omp_get_num_threads(), omp_get_team_num(), omp_get_num_teams(), omp_get_team_size(0), omp_get_team_size(1),
           omp_get_ancestor_thread_num(0), omp_get_ancestor_thread_num(5));
    printf("processors %d, bind %d\n", omp_get_num_procs() > 0, (int)omp_get_proc_bind());
    omp_set_schedule(omp_sched_guided, 7);
    omp_set_dynamic(1);
    omp_set_max_active_levels(3);
    omp_set_num_threads(3);
    omp_set_default_device(0);
    omp_set_num_teams(5);
    omp_set_teams_thread_limit(6);
    show("set");
    omp_set_schedule(omp_sched_monotonic | omp_sched_dynamic, 2);
    omp_set_dynamic(0);
    show("set again");
    omp_set_schedule(omp_sched_static, 0);
    omp_set_nested(1);
    printf("nested %d\n", omp_get_nested());
    omp_set_nested(0);
    printf("nested %d\n", omp_get_nested());
    omp_set_schedule(omp_sched_dynamic, 4);
    omp_set_max_active_levels(1);
#pragma omp parallel
#pragma omp single
    {
        show("inside");
        omp_set_num_threads(2);
        printf("in a region: %d of %d, level %d, size %d\n", omp_in_parallel(), omp_get_num_threads(), omp_get_level(),
               omp_get_team_size(1));
    }
    const double begin = omp_get_wtime();
    printf("clock %d, tick %d\n", omp_get_wtime() >= begin && begin > 0, omp_get_wtick() > 0 && omp_get_wtick() < 1);
    printf("pause %d %d\n", omp_pause_resource(omp_pause_soft, omp_get_initial_device()) == 0,
           omp_pause_resource_all(omp_pause_hard) == 0);
#pragma omp parallel num_threads(2)
#pragma omp single
    printf("after the pause %d\n", omp_get_num_threads());
    return 0;
}
