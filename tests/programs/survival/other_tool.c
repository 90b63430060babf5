// SPDX-License-Identifier: Apache-2.0
/*
 * Another OMPT tool, which accepts or, compiled with DECLINES, declines to be the tool of the process. It appends to
 * the file OTHER_TOOL_NOTE when the runtime calls ompt_start_tool.
 */
#include <omp-tools.h>
#include <stdio.h>
#include <stdlib.h>

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    (void)lookup, (void)device, (void)data;
    return 1;
}

static void finalize(ompt_data_t *data) { (void)data; }

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    const char *path = getenv("OTHER_TOOL_NOTE");
    FILE *note = path ? fopen(path, "a") : NULL;
    if (note) {
        fprintf(note, "asked by OpenMP %u, %s\n", version, runtime);
        fclose(note);
    }
#ifdef DECLINES
    return NULL;
#else
    return &result;
#endif
}
