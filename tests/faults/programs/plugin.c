// SPDX-License-Identifier: Apache-2.0
/* A library that faulty.c loads and unloads. run_plugin runs tasks, each of which calls count(1). */
__attribute__((visibility("default"))) void run_plugin(void (*count)(long));

static void (*count_bodies)(long);

void run_plugin(void (*count)(long)) {
    __atomic_store_n(&count_bodies, count, __ATOMIC_RELAXED);
#pragma omp taskgroup
    for (int i = 0; i < 5; i++) {
#pragma omp task
        count_bodies(1);
    }
}
