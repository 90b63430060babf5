// SPDX-License-Identifier: Apache-2.0
// The first thread pauses recording, and resumes it. Meanwhile, the other thread computes without an event.
#include "../facts.h"

#include <omp.h>

static _Atomic int phase;

static void control(omp_control_tool_t command) { REQUIRE(omp_control_tool((int)command, 0, NULL) == 0); }

int main(void) {
    volatile unsigned long before = 0, in_pause = 0, after = 0;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        spin_ns(200000000);
        control(omp_control_tool_pause);
        phase = 1;
        spin_ns(200000000);
        phase = 2;
        control(omp_control_tool_start);
        spin_ns(200000000);
        phase = 3;
    } else {
        while (phase == 0) before++;   // before the pause
        while (phase == 1) in_pause++; // in the pause
        while (phase == 2) after++;    // after the pause
    }
    printf("FACTS before=%d in_pause=%d after=%d\n", before > 0, in_pause > 0, after > 0);
    return 0;
}
